/** The verdict and the step times of both runs -> the head of a comparison, with the 95 % interval drawn around "no change". */
import { formatCount, formatMs, formatNumber } from "../../model/text/format";
import { keepTogether } from "../../model/time/span_text";
import { h } from "../../ui/dom";
import type { DiffContent, StepTimes } from "./payload";
import { ratioMarks } from "./ratio_axis";
import { runBadge, times } from "./words";

export function head(content: DiffContent): HTMLElement {
  const { step_times: steps, verdict } = content;
  const words = keepTogether(verdict).map((part, i) => (i % 2 ? h("span", { class: "nb" }, part) : part));
  return h(
    "header",
    { class: "tfp-diff-head" },
    h(
      "div",
      { class: "tfp-diff-runs" },
      run(0, content),
      h("span", { class: "q", "aria-hidden": "true" }, "→"),
      run(1, content),
    ),
    figure(steps),
    h("div", { class: "tfp-diff-verdict" }, ...words),
    interval(steps),
  );
}

function run(which: 0 | 1, { titles }: DiffContent): HTMLElement {
  return h("span", { class: "run", title: titles[which] }, runBadge(which), h("span", {}, titles[which]));
}

function figure(steps: StepTimes | null): HTMLElement {
  if (steps === null || steps.a_ms === null || steps.b_ms === null) {
    return h(
      "div",
      { class: "tfp-fig" },
      h("span", { class: "n big" }, "–"),
      h("span", { class: "u" }, " ms a step"),
      h("div", { class: "d" }, "a run has no steps"),
    );
  }
  const unit = formatMs(Math.max(steps.a_ms, steps.b_ms)).split(" ").pop() ?? "ms";
  const scale = unit === "s" ? 1e3 : unit === "µs" ? 1e-3 : 1;
  const [a, b] = [steps.a_ms / scale, steps.b_ms / scale];
  return h(
    "div",
    { class: "tfp-fig" },
    h("span", { class: "n was" }, formatNumber(a)),
    h("span", { class: "u" }, " → "),
    h("span", { class: "n big" }, formatNumber(b)),
    h("span", { class: "u" }, ` ${unit} a step`),
    h("div", { class: "d" }, `median of ${formatCount(steps.n_a)} and ${formatCount(steps.n_b)} steps`),
  );
}

const AXIS_PX = 240;

/** "×1.75, beyond noise" over a bar from the lower to the upper bound, and a line at 1. */
function interval(steps: StepTimes | null): HTMLElement {
  const marks = steps && ratioMarks(steps.ratio, steps.interval);
  if (!steps || !marks) {
    const why = steps === null ? "no step times to compare" : "too few steps to know the noise";
    return h("div", { class: "tfp-interval" }, h("div", { class: "q" }, why));
  }
  const [low, high] = steps.interval.map((bound) => formatNumber(bound ?? Number.NaN));
  const judged = steps.is_beyond_noise ? "beyond noise" : "within noise";
  const bar = h("i", { class: steps.is_beyond_noise ? "reach on" : "reach" });
  place(bar, marks.low, Math.max(marks.high - marks.low, 2 / AXIS_PX));
  const dot = h("i", { class: "dot" });
  place(dot, marks.ratio);
  const one = h("i", { class: "one" });
  place(one, marks.one);
  const ticks = marks.ticks.map(({ at, ratio }) => {
    const tick = h("span", { class: ratio === 1 ? "tick base" : "tick" }, ratio === 1 ? "×1" : `×${ratio}`);
    place(tick, at);
    return tick;
  });
  const words = `Step time of b over that of a: ${times(steps.ratio)}, 95 % interval ${low} to ${high}, ${judged}`;
  return h(
    "div",
    { class: "tfp-interval", title: words },
    h(
      "div",
      { class: "say" },
      h("b", {}, times(steps.ratio)),
      h("span", { class: "q" }, ` 95 %: ${low} to ${high} · `),
      judged,
    ),
    h("div", { class: "axis", role: "img", "aria-label": words }, one, bar, dot),
    h("div", { class: "ticks", "aria-hidden": "true" }, ...ticks),
  );
}

function place(element: HTMLElement, at: number, width?: number): void {
  element.style.left = `${at * 100}%`;
  if (width !== undefined) element.style.width = `${width * 100}%`;
}
