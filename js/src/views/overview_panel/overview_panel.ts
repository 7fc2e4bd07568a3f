/** The overview of a trace -> how long a step takes, what limits it, where its time goes, what to do next. */

import { frameworkOf, MARK_STEPS_CODE } from "../../model/overview/framework";
import {
  compilingStep,
  decimalsOf,
  formatMsSpan,
  formatPart,
  formatShare,
  meanFigure,
} from "../../model/overview/overview";
import { hostsOfOverview } from "../../model/overview/overview_facts";
import {
  formatBytes,
  formatCount,
  formatMs,
  formatNumber,
  formatPercent,
  formatTime,
  plural,
} from "../../model/text/format";
import { capturedPs } from "../../model/time/sessions";
import { keepTogether, stepWords } from "../../model/time/span_text";
import { CATEGORY_LABELS } from "../../model/wire/categories";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { copyButton, h } from "../../ui/dom";
import { FailurePanel } from "../../ui/failure_panel";
import { labelList, labelled } from "../../ui/label_list";
import { categorySwatch } from "../../ui/legend";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { Details } from "./details";
import { glance } from "./glance";
import { WhatNext } from "./what_next";

function header(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const time = overview.step_time;
  const style = { "border-left-color": `var(--c-${overview.limiter || "other"}, var(--c-other))` };
  const verdict = h("div.tfp-verdict", { title: overview.verdict_detail, style });
  const words = overview.verdict || "No steps in this capture, so nothing can be said about a step.";
  verdict.append(...keepTogether(words).map((part, i) => (i % 2 ? h("span.nb", part) : part)));
  const detail = overview.verdict_detail || "";
  const since = view.options.since_last;
  if (detail) verdict.append(h("small.detail", detail));
  if (time && time.n > 0) verdict.append(glance(view));
  if (typeof since === "string" && since) verdict.append(h("small.since", since));
  return h(
    "header.tfp-ov-header",
    time && time.n > 0 ? stepFigure(time, hostsOfOverview(overview).length, overview.batches ?? "") : noStepFigure(),
    verdict,
    sideFigures(view),
  );
}

function stepFigure(
  time: { avg: number; std: number; min: number; max: number; n: number; n_averaged: number },
  nHosts: number,
  batches: string,
) {
  const figure = meanFigure(time.avg, time.std);
  const steps = nHosts > 1 ? `${plural(time.n, "step")} of ${plural(nHosts, "host")}` : plural(time.n, "step");
  const counted = time.n_averaged < time.n ? `${formatCount(time.n_averaged)} of ${steps}` : steps;
  const range = time.n_averaged > 1 ? ` · ${formatMsSpan(time.min, time.max)}` : "";
  return h(
    "div.tfp-fig",
    h("span.n.big", figure.value),
    time.n_averaged > 1 ? h("span.n", ` ± ${figure.deviation}`) : "",
    h("span.u", ` ${figure.unit} a step`),
    batches ? h("div.d", batches) : "",
    h("div.d", `${counted}${range}`),
  );
}

function noStepFigure(): HTMLElement {
  const figure = h("span.n.big", "–");
  return h("div.tfp-fig", figure, h("span.u", " ms a step"), h("div.d", "no step found"));
}

function sideFigures(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const figures = h("div.tfp-figs");
  const add = (value: string, unit: string, note: string | HTMLElement) =>
    figures.append(h("div.tfp-fig", h("span.n", value), h("span.u", ` ${unit}`), h("div.d", note || " ")));
  const environment = environmentText(overview.environment ?? {});
  const avg = overview.step_time?.avg ?? 0;
  if (avg > 0) add(formatNumber(1000 / avg), "steps/s", `${formatTime(capturedPs(view.data.meta))} captured`);
  const details = new Details(view, environment || "Details").element;
  const memory = view.data.meta.device_memory;
  if (memory) {
    const [value, unit] = formatBytes(memory.peak_bytes).split(" ");
    const whole = formatBytes(memory.capacity_bytes);
    add(value, `${whole.endsWith(unit) ? "" : `${unit} `}of ${whole} GPU memory`, details);
    figures.lastElementChild?.setAttribute("title", `In use at the peak of ${memory.allocator}`);
  } else figures.append(h("div.tfp-fig", h("div.d", details)));
  return figures;
}

/** One short line; everything else is in the details. */
function environmentText(environment: Readonly<Record<string, unknown>>): string {
  const number = (key: string) => (typeof environment[key] === "number" ? (environment[key] as number) : 0);
  const parts: string[] = [];
  if (Array.isArray(environment.hosts)) parts.push(plural(Math.max(1, environment.hosts.length), "host"));
  if (number("n_active_devices") > 0)
    parts.push(`${formatCount(number("n_active_devices"))} × ${deviceName(environment)}`);
  else if (number("n_threads") > 0) parts.push(plural(number("n_threads"), "thread"));
  return parts.join(" · ");
}

/** "Nvidia GPU (Volta)" -> "GPU": the rest is in the details. */
function deviceName(environment: Readonly<Record<string, unknown>>): string {
  return /\b(GPU|TPU)\b/.exec(String(environment.device_type ?? ""))?.[1] ?? "device";
}

/** Categories that the guide to the profiler has not: each has a line only where it takes time. */
const BEYOND_THE_GUIDE: readonly string[] = ["copy_to_device", "dispatch", "sync", "checkpoint"];

function breakdown(view: TraceView): HTMLElement {
  const { data, signal } = view;
  const { overview } = data.meta;
  const steps = data.table("steps") ?? EMPTY_TABLE;
  const box = h("section.tfp-breakdown", { "aria-label": "A step, on average" });
  if (steps.n === 0 || !overview.breakdown?.length) {
    const why = "No step marker and nothing that repeats was found. Mark the steps of your loop:";
    const code = MARK_STEPS_CODE[frameworkOf(data.meta)];
    const copy = copyButton("Copy", () => code, signal);
    box.append(h("div.tfp-ov-none", { role: "status" }, h("p", why), h("pre", code), copy));
    return box;
  }
  const decimals = decimalsOf(overview.step_time?.avg ?? 0);
  const most = overview.breakdown.reduce((a, b) => (b.ms > a.ms ? b : a));
  // What the verdict is about is what stands out.
  const emphasized = overview.limiter || most.category;
  const compiling = compilingStep(steps);
  const list = labelList("tfp-cats", "Milliseconds and per cent of a step");
  const parts = overview.breakdown.filter(({ category, ms }) => ms > 0 || !BEYOND_THE_GUIDE.includes(category));
  for (const { category, ms, ratio } of parts) {
    const values =
      category === "compile" && ms === 0 && compiling >= 0
        ? [`in ${stepWords(data.meta.step_names, compiling)}`]
        : [formatPart(ms, decimals), formatShare(ratio)];
    const emphasis = ms === 0 ? " z" : category === emphasized ? " top" : "";
    const title = `${CATEGORY_LABELS[category] ?? category}: ${formatMs(ms)} a step, ${formatPercent(ratio)}`;
    const name = h("span", categorySwatch(category), CATEGORY_LABELS[category] ?? category);
    list.append(labelled(name, values, { class: `tfp-cat${emphasis}`, title }));
  }
  box.append(h("div.tfp-h", h("b", "A step, on average"), h("span", "ms · %")), list);
  return box;
}

export const overviewPanel: TraceBuilder = {
  name: "overview_panel",
  build(view) {
    const failure = view.data.meta.memory_failure;
    if (failure) {
      const { element } = new FailurePanel(view, failure, null);
      element.setAttribute("aria-label", "What happened"); // the memory view has the same under its own name
      view.root.append(h("div.tfp-ov-failed", element));
      return;
    }
    view.root.append(h("div.tfp-ov", header(view), breakdown(view), new WhatNext(view).element));
  },
  needs: ["steps", "top_ops"],
  ofHost: { follows: false },
};
