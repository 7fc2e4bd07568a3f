/** Rows of the memory events -> the words on the plot and in its tooltip. */

import { type MemoryEvents, rowAt } from "../../model/memory/memory";
import { formatBytes, formatInstant, formatPercent } from "../../model/text/format";
import { stepLabel } from "../../model/time/span_text";
import type { TraceMeta } from "../../model/wire/meta";
import type { Chart } from "../../ui/bokeh";
import type { PlotLabel, Tip } from "../../ui/plot";

const MS = 1e9;

const inUse = (events: MemoryEvents, row: number) => formatBytes(events.stack[row] + events.heap[row]);

function stepWords(meta: TraceMeta, events: MemoryEvents, row: number): string {
  const step = events.step[row];
  return step >= 0 ? `, step ${stepLabel(meta.step_names, step)}` : "";
}

/** A label beside x, on the side where there is more room. */
function beside(chart: Chart, x: number, y: number, gap: number, text: string): PlotLabel {
  const { left, right } = chart.frame();
  const isLeft = x > (left + right) / 2;
  return { x: isLeft ? x - gap : x + gap, y, text, align: isLeft ? "right" : "left" };
}

/** "peak 3.34 GiB at 483.4 ms, step 13, Conv2DBackpropInput", beside its marker; `t0` is where the plot begins. */
export function peakLabel(chart: Chart, meta: TraceMeta, events: MemoryEvents, peak: number, t0: number): PlotLabel {
  const leaf = leafOf(meta.names[events.op[peak]] ?? "");
  const when = `at ${formatInstant(events.time[peak], 1e8)}${stepWords(meta, events, peak)}`;
  const text = `peak ${inUse(events, peak)} ${when}${leaf ? `, ${leaf}` : ""}`;
  const x = chart.xToPx(Math.max(t0, events.time[peak]) / MS);
  const y = Math.max(8, chart.yToPx(events.stack[peak] + events.heap[peak]) - 4);
  return { ...beside(chart, x, y, 9, text), isBold: true };
}

/** The last part of an op's path; `Const/_11` stays whole, for the number alone says nothing. */
function leafOf(name: string): string {
  return /[^/]*(?:\/_\d+)?$/.exec(name)?.[0] ?? name;
}

/** What is in use at a chosen moment, beside its line. */
export function momentLabel(chart: Chart, events: MemoryEvents, moment: number): PlotLabel {
  const row = rowAt(events, moment);
  const text = row < 0 ? "before the first event" : `${inUse(events, row)} at ${formatInstant(moment, 1e8)}`;
  return beside(chart, chart.xToPx(moment / MS), chart.frame().bottom - 10, 4, text);
}

/** One allocation or free, and the state of the allocator after it. */
export function eventTip(meta: TraceMeta, events: MemoryEvents, row: number): Tip {
  const name = (id: number) => meta.names[id] ?? "";
  const dtype = name(events.dtype[row]);
  const verb = events.isFree[row] ? "frees" : "allocates";
  const kind = [name(events.region[row]), dtype === "INVALID" ? "" : dtype, name(events.shape[row])].filter(Boolean);
  const when = `at ${formatInstant(events.time[row], 1e6)}${stepWords(meta, events, row)}`;
  const lines = [
    kind.join(" · "),
    `in use ${inUse(events, row)} · fragmentation ${formatPercent(events.fragmentation[row])}`,
    `${when} · requested ${formatBytes(events.requested[row])}`,
  ];
  const title = `${verb} ${formatBytes(events.allocated[row])} · ${name(events.op[row]) || "op not recorded"}`;
  return { title, lines: lines.filter(Boolean) };
}
