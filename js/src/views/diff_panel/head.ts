/** The verdict and the step times of both runs -> the head of a comparison, with the 95 % interval drawn around "no change". */
import { formatCount, formatMs, formatNumber } from "../../model/text/format";
import { keepTogether } from "../../model/time/span_text";
import { h, unspoken } from "../../ui/dom";
import type { DiffContent, StepTimes } from "./payload";
import { ratioMarks } from "./ratio_axis";
import { runBadge, times } from "./words";

export function head(content: DiffContent): HTMLElement {
  const { step_times: steps, verdict } = content;
  const words = keepTogether(verdict).map((part, i) => (i % 2 ? h("span.nb", part) : part));
  return h(
    "header.tfp-diff-head",
    h("div.tfp-diff-runs", run(0, content), unspoken("span.q", "→"), run(1, content)),
    figure(steps),
    h("div.tfp-diff-verdict", ...words),
    interval(steps),
  );
}

function run(which: 0 | 1, { titles }: DiffContent): HTMLElement {
  return h("span.run", { title: titles[which] }, runBadge(which), h("span", titles[which]));
}

function figure(steps: StepTimes | null): HTMLElement {
  if (steps === null || steps.a_ms === null || steps.b_ms === null) {
    return h("div.tfp-fig", h("span.n.big", "–"), h("span.u", " ms a step"), h("div.d", "a run has no steps"));
  }
  const unit = formatMs(Math.max(steps.a_ms, steps.b_ms)).split(" ").pop() ?? "ms";
  const scale = unit === "s" ? 1e3 : unit === "µs" ? 1e-3 : 1;
  const [a, b] = [steps.a_ms / scale, steps.b_ms / scale];
  return h(
    "div.tfp-fig",
    h("span.n.was", formatNumber(a)),
    h("span.u", " → "),
    h("span.n.big", formatNumber(b)),
    h("span.u", ` ${unit} a step`),
    h("div.d", `median of ${formatCount(steps.n_a)} and ${formatCount(steps.n_b)} steps`),
  );
}

const AXIS_PX = 240;

/** "×1.75, beyond noise" over a bar from the lower to the upper bound, and a line at 1. */
function interval(steps: StepTimes | null): HTMLElement {
  const marks = steps && ratioMarks(steps.ratio, steps.interval);
  if (!steps || !marks) {
    const why = steps === null ? "no step times to compare" : "too few steps to know the noise";
    return h("div.tfp-interval", h("div.q", why));
  }
  const [low, high] = steps.interval.map((bound) => formatNumber(bound ?? Number.NaN));
  const judged = steps.is_beyond_noise ? "beyond noise" : "within noise";
  const reach = { ...placed(marks.low), width: `${Math.max(marks.high - marks.low, 2 / AXIS_PX) * 100}%` };
  const bar = h("i", { class: steps.is_beyond_noise ? "reach on" : "reach", style: reach });
  const dot = h("i.dot", { style: placed(marks.ratio) });
  const one = h("i.one", { style: placed(marks.one) });
  const ticks = marks.ticks.map(({ at, ratio }) =>
    h("span", { class: ratio === 1 ? "tick base" : "tick", style: placed(at) }, `×${ratio}`),
  );
  const words = `Step time of b over that of a: ${times(steps.ratio)}, 95 % interval ${low} to ${high}, ${judged}`;
  return h(
    "div.tfp-interval",
    { title: words },
    h("div.say", h("b", times(steps.ratio)), h("span.q", ` 95 %: ${low}–${high} · `), judged),
    h("div.axis", { role: "img", "aria-label": words }, one, bar, dot),
    unspoken("div.ticks", ...ticks),
  );
}

function placed(at: number) {
  return { left: `${at * 100}%` };
}
