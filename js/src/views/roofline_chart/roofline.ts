/** What the ops of GPUs reached of what their device could: axes, roofs, places and words. */

import { columns } from "../../data/columns";
import type { RooflineMeta } from "../../data/meta";
import type { Table } from "../../data/pack";
import { isInRange, overlapPs, type RangePs, rangeOf, type Scope, STEADY } from "../../data/time";
import { formatAmount, formatCount, formatNumber, formatPercent, formatTime, plural } from "../../model/text";
import type { Tip } from "../../ui/plot";

/** What an op is held up by; "cache" where it moved more than the memory could, "" where that is not known. */
type Bound = "compute" | "memory" | "cache" | "";

export interface Work {
  readonly row: number;
  readonly ps: number;
  readonly occurrences: number;
  /** A second; NaN where not known. */
  readonly flopRate: number;
  readonly byteRate: number;
  /** Float operations a byte. */
  readonly intensity: number;
  readonly bound: Bound;
  /** The time that the device needs at least, of the time taken. */
  readonly roofRatio: number;
}

/** Time of each op and how many of its kernels ran, of those that the range cuts the part inside. */
interface Sums {
  readonly ps: ArrayLike<number>;
  readonly parts: ArrayLike<number>;
}

/**
 * The ops that ran in a scope, most time first; without `occurrences` as is known of the capture or of its averaged steps.
 * @param nSteps what times and counts are divided by
 */
export function workOf(
  roofline: RooflineMeta,
  occurrences: Table | undefined,
  scope: Scope,
  nSteps: number = 1,
): Work[] {
  const { ops } = roofline;
  const sums = occurrences === undefined ? knownSums(roofline, scope) : sumsOf(roofline, occurrences, rangeOf(scope));
  const [ps, parts] = [sums.ps, sums.parts].map((values) => Array.from(values, (value) => value / nSteps));
  const works = ops.unit.flatMap((_, row) => {
    if (ps[row] <= 0) return [];
    const share = parts[row] / ops.parts[row];
    return [judged(roofline, row, { ps: ps[row], share })];
  });
  return works.sort((a, b) => b.ps - a.ps);
}

function knownSums({ ops }: RooflineMeta, scope: Scope): Sums {
  const [us, parts] = scope === STEADY ? [ops.step_time_us, ops.step_parts] : [ops.time_us, ops.parts];
  return { ps: us.map((one) => one * 1e6), parts };
}

function sumsOf({ ops }: RooflineMeta, occurrences: Table, range: RangePs): Sums {
  const rowOf = new Map(ops.unit.map((unit, row) => [unit, row]));
  const sums = { ps: new Float64Array(ops.unit.length), parts: new Float64Array(ops.unit.length) };
  const [op, start, duration] = columns(occurrences, "op", "start_ps", "duration_ps");
  for (let i = 0; i < occurrences.n; i++) {
    if (!isInRange(start[i], duration[i], range)) continue;
    const row = rowOf.get(op[i]);
    if (row === undefined) continue;
    const inside = overlapPs(start[i], duration[i], range);
    sums.ps[row] += inside;
    sums.parts[row] += duration[i] > 0 ? inside / duration[i] : 1;
  }
  return sums;
}

/** As `Roofline` in Python judges an op: semantics 19.3. */
function judged(
  { ops, bytes_per_s }: RooflineMeta,
  row: number,
  { ps, share }: { readonly ps: number; readonly share: number },
): Work {
  const flops = (ops.flops[row] ?? Number.NaN) * share;
  const bytes = (ops.bytes[row] ?? Number.NaN) * share;
  const computing = flops === 0 ? 0 : (flops / (ops.peak[row] ?? Number.NaN)) * 1e12;
  const moving = (bytes / (bytes_per_s ?? Number.NaN)) * 1e12;
  const least = Math.max(computing, moving);
  const isJudged = least > 0 && least <= ps;
  const isCached = moving > ps && !(computing > ps);
  return {
    ...{ row, ps, occurrences: ops.occurrences[row] * share },
    ...{ flopRate: (flops / ps) * 1e12, byteRate: (bytes / ps) * 1e12, intensity: flops / bytes },
    bound: isCached ? "cache" : !isJudged ? "" : computing > moving ? "compute" : "memory",
    roofRatio: isJudged ? least / ps : Number.NaN,
  };
}

/** Whether an op has a place in the chart: what computes nothing has none on axes of powers of ten. */
export function hasPlace({ flopRate, intensity }: Work): boolean {
  return flopRate > 0 && Number.isFinite(intensity);
}

const LEFT_PX = 44;
const BOTTOM_PX = 19;
const TOP_PX = 8;
const MAX_RADIUS_PX = 20;
const MIN_RADIUS_PX = 1.5;
/** Ops of one look that are nearer to each other are one circle: drawn over each other their areas would not add up. */
const SAME_PX = 5;
/** Part of the time whose outliers do not stretch an axis: they are drawn on its edge. */
const OUTLIERS = 0.02;

interface Roof {
  readonly kind: number;
  /** Float operations a second. */
  readonly peak: number;
  /** Whether an op of the chart runs on it. */
  readonly isUsed: boolean;
}

/** A circle: an op, or several that are at one place, such as those of layers of one size. */
export interface Place {
  readonly works: readonly Work[];
  readonly ps: number;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

class Axis {
  readonly #from: number;
  readonly #perDecade: number;

  constructor(
    readonly low: number,
    readonly high: number,
    readonly lowPx: number,
    readonly highPx: number,
  ) {
    this.#from = Math.log10(low);
    this.#perDecade = (highPx - lowPx) / (Math.log10(high) - this.#from);
  }

  toPx(value: number): number {
    const inside = Math.min(this.high, Math.max(this.low, value));
    return this.lowPx + (Math.log10(inside) - this.#from) * this.#perDecade;
  }

  get ticks(): number[] {
    const [first, last] = [Math.ceil(this.#from), Math.floor(Math.log10(this.high))];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 10 ** (first + i));
  }
}

export class Scene {
  readonly places: readonly Place[];
  /** The time of all ops, also of those without a place. */
  readonly wholePs: number;
  readonly roofs: readonly Roof[];
  /** Float operations a byte, and a second. */
  readonly x: Axis;
  readonly y: Axis;

  constructor(
    readonly roofline: RooflineMeta,
    works: readonly Work[],
    readonly width: number,
    readonly height: number,
    /** For the words behind the roofs. */
    wordsPx: number,
  ) {
    const placed = works.filter(hasPlace);
    this.wholePs = works.reduce((sum, { ps }) => sum + ps, 0);
    this.roofs = roofsOf(roofline, placed);
    const ridges = this.roofs.filter(({ isUsed }) => isUsed).map(({ peak }) => this.ridge(peak));
    const [left, right] = reach(placed, (work) => work.intensity);
    const [bottom, top] = reach(placed, (work) => work.flopRate);
    const highest = Math.max(top, ...this.roofs.map(({ peak }) => peak));
    this.x = new Axis(left / 2, Math.max(right, ...ridges) * 2, LEFT_PX, Math.max(LEFT_PX + 80, width - wordsPx));
    this.y = new Axis(bottom / 2, highest * 1.5, height - BOTTOM_PX, TOP_PX);
    const groups = this.#groups(placed);
    const mostPs = Math.max(0, ...groups.map(({ ps }) => ps));
    const largest = Math.min(MAX_RADIUS_PX, height / 10);
    this.places = groups
      .map((group) => ({ ...group, radius: Math.max(MIN_RADIUS_PX, Math.sqrt(group.ps / mostPs) * largest) }))
      .sort((a, b) => b.ps - a.ps);
  }

  /** Each op joins the first of those with more time that looks the same and is at its place. */
  #groups(works: readonly Work[]) {
    const { kind } = this.roofline.ops;
    const groups: { works: Work[]; ps: number; readonly x: number; readonly y: number }[] = [];
    for (const work of works) {
      const [x, y] = [this.x.toPx(work.intensity), this.y.toPx(work.flopRate)];
      const group = groups.find(
        (one) =>
          Math.hypot(one.x - x, one.y - y) < SAME_PX &&
          one.works[0].bound === work.bound &&
          kind[one.works[0].row] === kind[work.row],
      );
      if (group === undefined) groups.push({ works: [work], ps: work.ps, x, y });
      else {
        group.works.push(work);
        group.ps += work.ps;
      }
    }
    return groups;
  }

  /** Float operations a byte from which on a roof is what holds ops up; 0 where the memory's rate is not known. */
  ridge(peak: number): number {
    const { bytes_per_s } = this.roofline;
    return bytes_per_s === null ? 0 : peak / bytes_per_s;
  }

  /** The memory's roof from its lower to its upper end, on the axes; null where it is not known. */
  get slope(): readonly [readonly [number, number], readonly [number, number]] | null {
    const { bytes_per_s } = this.roofline;
    if (bytes_per_s === null) return null;
    const from = Math.max(this.x.low, this.y.low / bytes_per_s);
    const to = Math.min(this.x.high, (this.roofs[0]?.peak ?? this.y.high) / bytes_per_s);
    return [
      [this.x.toPx(from), this.y.toPx(from * bytes_per_s)],
      [this.x.toPx(to), this.y.toPx(to * bytes_per_s)],
    ];
  }

  /** Whether an op is drawn on an edge, as it lies beyond it. */
  get hasOutliers(): boolean {
    return this.places.some(({ works: [{ intensity, flopRate }] }) => intensity < this.x.low || flopRate < this.y.low);
  }

  /** The op at a point: of those that are drawn there the smallest, else the nearest that is near. */
  at(x: number, y: number, nearPx: number): Place | null {
    let found: Place | null = null;
    let best = nearPx;
    for (const place of this.places) {
      const beyond = Math.hypot(place.x - x, place.y - y) - place.radius;
      const distance = beyond <= 0 ? place.radius - 1e6 : beyond;
      if (distance < best) [found, best] = [place, distance];
    }
    return found;
  }
}

function roofsOf({ kinds, ops }: RooflineMeta, works: readonly Work[]): Roof[] {
  const used = new Set(works.map(({ row }) => ops.kind[row]));
  return kinds
    .flatMap(({ peak }, kind) => (peak === null ? [] : [{ kind, peak, isUsed: used.has(kind) }]))
    .sort((a, b) => b.peak - a.peak);
}

/** The least and the largest value, but for the least ones of little time. */
function reach(works: readonly Work[], value: (work: Work) => number): [number, number] {
  const sorted = works.map((work) => ({ value: value(work), ps: work.ps })).sort((a, b) => a.value - b.value);
  let left = OUTLIERS * sorted.reduce((sum, { ps }) => sum + ps, 0);
  const first = sorted.find(({ ps }) => {
    left -= ps;
    return left < 0;
  });
  return [first?.value ?? 1, sorted[sorted.length - 1]?.value ?? 1];
}

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

export interface StepWork {
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
