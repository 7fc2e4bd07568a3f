/** Works of GPUs -> what is said above and below the chart, on hover and by a screen reader. */

import { formatAmount, formatCount, formatNumber, formatPercent, formatTime, plural } from "../../model/text/format";
import type { RooflineMeta } from "../../model/wire/roofline_meta";
import type { Tip } from "../../ui/plot";
import type { Place, Scene } from "./scene";
import { type Bound, hasPlace, type Work } from "./work";

/** Names that a tooltip has of several. */
const NAMED = 2;

/** "989 TFLOP/s". */
export function formatFlops(perSecond: number): string {
  return `${formatNumber(perSecond / 1e12)} TFLOP/s`;
}

/** "3,352 GB/s": as data sheets have it. */
export function formatBytesRate(perSecond: number): string {
  const gb = perSecond / 1e9;
  return `${gb >= 1000 ? formatCount(gb) : formatNumber(gb)} GB/s`;
}

export function kindText({ kinds }: RooflineMeta, kind: number): string {
  return kinds[kind]?.text ?? "unit not known";
}

/** What steps computed of what the device could. */
export interface StepWork {
  /** Float operations of a step, and how long it takes: means. */
  readonly flops: number;
  readonly ps: number;
  /** Part of what the device could do meanwhile. */
  readonly mfu: number;
}

/** What a step reaches; "" where that is not known. */
export function stepSentence({ flops, ps, mfu }: StepWork): string {
  if (!(flops > 0)) return "";
  const peak = formatFlops((flops / ps / mfu) * 1e12);
  return `${formatNumber(flops / 1e12)} TFLOP a step of ${formatTime(ps)}: ${formatPercent1(mfu)} of the peak of ${peak} (MFU).`;
}

/** How much of the time each roof holds ops up. */
export function boundSentence(works: readonly Work[]): string {
  const all = sumPs(works);
  const part = (bound: Bound) => sumPs(works.filter((work) => work.bound === bound)) / all;
  const told = [
    `${formatPercent(part("memory"))} memory-bound`,
    `${formatPercent(part("compute"))} compute-bound`,
    ...(part("cache") > 0 ? [`${formatPercent(part("cache"))} served by a cache`] : []),
  ];
  return all > 0 ? `Kernel time: ${told.join(", ")}.` : "";
}

/** What is not drawn. */
export function leftOut(works: readonly Work[], roofline: RooflineMeta, isWhole: boolean): string {
  const all = sumPs(works);
  const unknown = works.filter(({ flopRate, intensity }) => Number.isNaN(flopRate) || Number.isNaN(intensity));
  const idle = works.filter(({ flopRate }) => flopRate === 0);
  const shown = sumPs(works.filter(hasPlace)) / all;
  const { n_ops, ops } = roofline;
  return [
    `${formatPercent(shown)} of kernel time is shown`,
    idle.length > 0 && `${plural(idle.length, "op")} (${formatPercent(sumPs(idle) / all)}) without float operations`,
    unknown.length > 0 && `of ${plural(unknown.length, "op")} float operations or bytes are not known`,
    isWhole && n_ops > ops.unit.length && `the ${formatCount(ops.unit.length)} longest of ${formatCount(n_ops)} ops`,
  ]
    .filter(Boolean)
    .join("; ");
}

/** One op with what holds it up, or several at one place, by the one with most time. */
export function placeTip(
  { roofline, wholePs }: Scene,
  { works, ps }: Place,
  opNames: readonly string[],
  isPerStep: boolean,
): Tip {
  const { ops } = roofline;
  const [first] = works;
  const { row, occurrences } = first;
  const all = works.length > 1 ? `${plural(works.length, "op")} ` : "";
  const each = occurrences > 1 ? `, ${formatAmount(occurrences)} × ${formatTime(first.ps / occurrences)}` : "";
  const lines = [
    ...(all ? [named(works.map((work) => ops.name[work.row]))] : []),
    ...[named(opNames.filter((name) => name !== ops.name[row])), named(works.map((work) => ops.layer[work.row]))],
    `${formatTime(ps)}${isPerStep ? " a step" : ""}, ${formatPercent(ps / wholePs)} of kernel time${all ? "" : each}`,
    `${formatFlops(first.flopRate)} · ${formatBytesRate(first.byteRate)} · ${formatNumber(first.intensity)} FLOP/B`,
    boundText(roofline, first),
  ];
  return { title: all ? `${all}with like rates` : ops.name[row], lines: lines.filter(Boolean) };
}

/** Distinct names, of many the first ones. */
function named(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const more = distinct.length - NAMED;
  return [...distinct.slice(0, NAMED), ...(more > 0 ? [`${formatCount(more)} more`] : [])].join(", ");
}

function boundText(roofline: RooflineMeta, { row, bound, roofRatio }: Work): string {
  const kind = kindText(roofline, roofline.ops.kind[row]);
  const share = `${formatPercent(roofRatio)} of its roof`;
  if (bound === "memory") return `${share}, the memory · on ${kind}`;
  if (bound === "compute") return `${share}, ${kind} ${formatFlops(roofline.ops.peak[row] ?? Number.NaN)}`;
  if (bound === "cache") return `more than the memory can: from a cache · on ${kind}`;
  return `its roof is not known · on ${kind}`;
}

/** As `formatPercent`, with a decimal up to 100 %: shares of a peak are compared. */
function formatPercent1(ratio: number): string {
  return `${formatNumber(ratio * 100)} %`;
}

function sumPs(works: readonly Work[]): number {
  return works.reduce((sum, { ps }) => sum + ps, 0);
}
