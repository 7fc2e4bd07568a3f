/** The overview of a trace -> how long a step takes, what limits it, where its time goes and which ops cost most. */

import "./overview_panel.css";
import { cutNames } from "./core/cut";
import { formatCount, formatMs, formatNumber, formatPercent, formatTime, plural } from "./core/format";
import { CATEGORY_LABELS } from "./core/meta";
import { type OpRow, opCategory, opFamily } from "./core/ops";
import { compilingStep, decimalsOf, formatMsSpan, formatPart, formatShare, meanFigure, topOps } from "./core/overview";
import { capturedPs } from "./core/sessions";
import { keepTogether, stepLabel } from "./core/span_text";
import { EMPTY_TABLE } from "./core/wire";
import { button, copyButton, h } from "./draw/dom";
import { inFrame, textFits, watchSize } from "./draw/page";
import { mount, type TraceView } from "./view";

const N_TOP_OPS = 6;
const NO_STEPS_CODE = "for batch in tfprof.trace_steps(dataset):\n    train_step(batch)";

function header(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const time = overview.step_time;
  const verdict = h("div", { class: "tfp-verdict", title: overview.verdict_detail });
  verdict.style.borderLeftColor = `var(--c-${overview.limiter || "other"}, var(--c-other))`;
  const words = overview.verdict || "No steps in this capture, so nothing can be said about a step.";
  verdict.append(...keepTogether(words).map((part, i) => (i % 2 ? h("span", { class: "nb" }, part) : part)));
  const detail = overview.verdict_detail || "";
  if (detail) verdict.append(h("small", {}, detail));
  return h(
    "header",
    { class: "tfp-ov-header" },
    time && time.n > 0 ? stepFigure(time) : noStepFigure(),
    verdict,
    sideFigures(view),
  );
}

function stepFigure(time: { avg: number; std: number; min: number; max: number; n: number; n_averaged: number }) {
  const figure = meanFigure(time.avg, time.std);
  const counted =
    time.n_averaged < time.n ? `${formatCount(time.n_averaged)} of ${plural(time.n, "step")}` : plural(time.n, "step");
  const range = time.n_averaged > 1 ? ` · ${formatMsSpan(time.min, time.max)}` : "";
  return h(
    "div",
    { class: "tfp-fig" },
    h("span", { class: "n big" }, figure.value),
    time.n_averaged > 1 ? h("span", { class: "n" }, ` ± ${figure.deviation}`) : "",
    h("span", { class: "u" }, ` ${figure.unit} a step`),
    h("div", { class: "d" }, `${counted}${range}`),
  );
}

function noStepFigure(): HTMLElement {
  const figure = h("span", { class: "n big" }, "–");
  return h(
    "div",
    { class: "tfp-fig" },
    figure,
    h("span", { class: "u" }, " ms a step"),
    h("div", { class: "d" }, "no step found"),
  );
}

function sideFigures(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const figures = h("div", { class: "tfp-figs" });
  const add = (value: string, unit: string, note: string, title?: string) =>
    figures.append(
      h(
        "div",
        { class: "tfp-fig", title },
        h("span", { class: "n" }, value),
        h("span", { class: "u" }, ` ${unit}`),
        h("div", { class: "d" }, note || " "),
      ),
    );
  const [environment, full] = environmentText(overview.environment ?? {});
  const avg = overview.step_time?.avg ?? 0;
  if (avg > 0) add(formatNumber(1000 / avg), "steps/s", `${formatTime(capturedPs(view.data.meta))} captured`);
  const busy = busyShare(overview);
  if (busy !== null) add(formatShare(busy.ratio), `% ${busy.what} busy`, environment, full);
  else if (environment)
    figures.append(h("div", { class: "tfp-fig", title: full }, h("div", { class: "d" }, environment)));
  return figures;
}

function busyShare(overview: Readonly<Record<string, unknown>>): { ratio: number; what: string } | null {
  const busy = overview.busy_ratio;
  if (typeof busy !== "number" || busy <= 0) return null;
  return { ratio: busy, what: overview.has_device ? "device" : "compute" };
}

/** One short line, and everything on hover. */
function environmentText(environment: Readonly<Record<string, unknown>>): readonly [string, string] {
  const number = (key: string) => (typeof environment[key] === "number" ? (environment[key] as number) : 0);
  const parts: string[] = [];
  if (Array.isArray(environment.hosts)) parts.push(plural(Math.max(1, environment.hosts.length), "host"));
  if (number("n_active_devices") > 0)
    parts.push(`${formatCount(number("n_active_devices"))} × ${deviceName(environment)}`);
  else if (number("n_threads") > 0) parts.push(plural(number("n_threads"), "thread"));
  const full = Object.entries(environment)
    .filter(([, value]) => value !== null && value !== "" && value !== undefined)
    .map(([key, value]) => `${key.replaceAll("_", " ")}: ${Array.isArray(value) ? value.join(", ") : String(value)}`)
    .join("\n");
  return [parts.join(" · "), full];
}

/** "Nvidia GPU (Volta)" -> "GPU": the rest is on hover. */
function deviceName(environment: Readonly<Record<string, unknown>>): string {
  return /\b(GPU|TPU)\b/.exec(String(environment.device_type ?? ""))?.[1] ?? "device";
}

function breakdown(view: TraceView): HTMLElement {
  const { data, signal } = view;
  const { overview } = data.meta;
  const steps = data.table("steps") ?? EMPTY_TABLE;
  const box = h("section", { class: "tfp-breakdown", "aria-label": "A step, on average" });
  if (steps.n === 0 || !overview.breakdown?.length) {
    const why = "No step marker and nothing that repeats was found. Mark the steps of your loop:";
    const code = h("pre", {}, NO_STEPS_CODE);
    const copy = copyButton("Copy", () => NO_STEPS_CODE, signal);
    box.append(h("div", { class: "tfp-ov-none", role: "status" }, h("p", {}, why), code, copy));
    return box;
  }
  const decimals = decimalsOf(overview.step_time?.avg ?? 0);
  const most = Math.max(...overview.breakdown.map((part) => part.ms));
  const compiling = compilingStep(steps);
  const list = h("dl");
  for (const { category, ms, ratio } of overview.breakdown) {
    const swatch = h("i", { class: "sw" });
    swatch.style.background = `var(--c-${category})`;
    const values =
      category === "compile" && ms === 0 && compiling >= 0
        ? [h("dd", { class: "wide" }, `in step ${stepLabel(data.meta.step_names, compiling)}`)]
        : [h("dd", {}, formatPart(ms, decimals)), h("dd", {}, formatShare(ratio))];
    const emphasis = ms === 0 ? " z" : ms === most ? " top" : "";
    const title = `${CATEGORY_LABELS[category] ?? category}: ${formatMs(ms)} a step, ${formatPercent(ratio)}`;
    list.append(
      h(
        "div",
        { class: `tfp-cat${emphasis}`, title },
        swatch,
        h("dt", {}, CATEGORY_LABELS[category] ?? category),
        ...values,
      ),
    );
  }
  box.append(h("div", { class: "tfp-h" }, h("b", {}, "A step, on average"), h("span", {}, "ms · %")), list);
  return box;
}

class TopOps {
  readonly element = h("section", { class: "tfp-top", "aria-label": "Top ops by self time" });
  readonly #list = h("ol");

  constructor(readonly view: TraceView) {
    const head = h("b", {}, "Top ops");
    this.element.append(h("div", { class: "tfp-h" }, head, h("span", { class: "unit" }, "")), this.#list);
    const draw = inFrame(
      view.guard(() => this.#draw()),
      view.signal,
    );
    view.link.on(
      "selection",
      view.guard(() => this.#followSelection()),
      view.signal,
    );
    view.data.onChange(() => view.data.isComplete && draw(), view.signal);
    watchSize(this.element, draw, view.signal);
    this.#draw();
  }

  #draw(): void {
    const { data } = this.view;
    const top = topOps(data.meta, (name) => data.table(name), N_TOP_OPS);
    const unit = top.nSteps > 0 ? "self time, ms a step · %" : "self time, ms · %";
    (this.element.querySelector(".unit") as HTMLElement).textContent = unit;
    if (top.rows.length === 0) {
      this.#list.replaceChildren(h("li", { class: "q" }, "No op was recorded."));
      return;
    }
    const room = (this.element.clientWidth || 400) * 0.78 - 110;
    const names = top.rows.map((row) => row.name);
    const cuts = cutNames(names, textFits(this.view.root, room));
    const most = top.rows[0].selfPs;
    const items = top.rows.map((row) => this.#item(row, cuts.get(row.name) ?? row.name, most, top.nSteps));
    this.#list.replaceChildren(...items);
    this.#followSelection();
  }

  #item(row: OpRow, text: string, most: number, nSteps: number): HTMLElement {
    const { link, data, signal } = this.view;
    const families = (data.table("names") ?? EMPTY_TABLE).columns.family as ArrayLike<number> | undefined;
    const names = { opName: data.meta.op_name, opType: data.meta.op_type };
    const family = opFamily(names, families ?? [], row.op);
    const bar = h("i");
    bar.style.width = `max(1px, ${(row.selfPs / most) * 100}%)`;
    bar.style.background = `var(--c-${opCategory(row, family)})`;
    const isChosen = () => link.selection.length === 1 && link.selection[0] === row.name;
    const ms = row.selfPs / 1e9 / Math.max(1, nSteps);
    const title = `${row.name}\n${row.type} on the ${row.device ? "device" : "host"}, ${plural(row.occurrences, "time")}`;
    const element = button("", () => link.setSelection(isChosen() ? [] : [row.name]), signal, { title });
    element.setAttribute("data-op-name", row.name);
    element.append(
      h("span", { class: "name" }, text),
      bar,
      h("span", { class: "v" }, formatNumber(ms)),
      h("span", { class: "v q" }, formatShare(row.selfRatio)),
    );
    return h("li", {}, element);
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    for (const element of this.#list.querySelectorAll("button")) {
      element.setAttribute("aria-pressed", String(chosen.has(element.getAttribute("data-op-name") ?? "")));
    }
  }
}

export default mount("overview_panel", (view) => {
  view.root.classList.add("tfp-overview_panel");
  view.root.append(h("div", { class: "tfp-ov" }, header(view), breakdown(view), new TopOps(view).element));
});
