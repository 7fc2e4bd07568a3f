/** Rows of the memory events -> the words on the plot and in its tooltip. */

import { bytesInUse, byteUnit, largestPiece, type MemoryEvents, rowAt } from "../../model/memory/memory";
import { formatBytes, formatInstant, formatNumber } from "../../model/text/format";
import { stepWords } from "../../model/time/span_text";
import type { TraceMeta } from "../../model/wire/meta";
import type { Chart } from "../../ui/bokeh";
import type { PlotLabel, Tip } from "../../ui/plot";

const MS = 1e9;

const inUse = (events: MemoryEvents, row: number) => formatBytes(bytesInUse(events, row));

/** " · largest free piece 36.0 of 72.0 GiB free"; "" where the allocator tells nothing of it. */
export function pieceWords(events: MemoryEvents, row: number): string {
  const piece = largestPiece(events, row);
  if (Number.isNaN(piece) || events.free[row] <= 0) return "";
  const [size, unit] = byteUnit(events.free[row]);
  const [part, all] = [piece, events.free[row]].map((bytes) => formatNumber(bytes / size));
  return ` · largest free piece ${part} of ${all} ${unit} free`;
}

/** The name of an op, or what is known of an allocation that names none. */
export function opName({ names, sections, hlo_ops }: TraceMeta, id: number): string {
  const hasXla = (sections?.hlo_ops?.n_rows ?? hlo_ops?.length ?? 0) > 0;
  return names[id] || (hasXla ? "allocated by XLA (op unknown)" : "op not recorded");
}

function inStep(meta: TraceMeta, events: MemoryEvents, row: number): string {
  const step = events.step[row];
  return step >= 0 ? `, ${stepWords(meta.step_names, step)}` : "";
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
  const when = `at ${formatInstant(events.time[peak], 1e8)}${inStep(meta, events, peak)}`;
  const text = `peak ${inUse(events, peak)} ${when}${leaf ? `, ${leaf}` : ""}`;
  const x = chart.xToPx(Math.max(t0, events.time[peak]) / MS);
  // In the room above the highest level, where it covers none.
  return { ...beside(chart, x, chart.frame().top + 6, 9, text), isBold: true };
}

/** The last part of an op's path; `Const/_11` stays whole, for the number alone says nothing. */
function leafOf(name: string): string {
  return /[^/]*(?:\/_\d+)?$/.exec(name)?.[0] ?? name;
}

/** What is in use at a chosen moment, beside its line. */
export function momentLabel(chart: Chart, events: MemoryEvents, moment: number): PlotLabel {
  const row = rowAt(events, moment);
  const text = `${inUse(events, row < 0 ? ~events.begin : row)} at ${formatInstant(moment, 1e8)}`;
  return beside(chart, chart.xToPx(moment / MS), chart.frame().bottom - 10, 4, text);
}

/** One allocation or free, and the state of the allocator after it. */
export function eventTip(meta: TraceMeta, events: MemoryEvents, row: number): Tip {
  const name = (id: number) => meta.names[id] ?? "";
  const dtype = name(events.dtype[row]);
  const verb = events.isFree[row] ? "frees" : "allocates";
  const kind = [name(events.region[row]), dtype === "INVALID" ? "" : dtype, name(events.shape[row])].filter(Boolean);
  const when = `at ${formatInstant(events.time[row], 1e6)}${inStep(meta, events, row)}`;
  const lines = [
    kind.join(" · "),
    `in use ${inUse(events, row)}${pieceWords(events, row)}`,
    `${when} · requested ${formatBytes(events.requested[row])}`,
  ];
  const title = `${verb} ${formatBytes(events.allocated[row])} · ${opName(meta, events.op[row])}`;
  return { title, lines: lines.filter(Boolean) };
}
