/** Steps and their pieces: columns, bars, areas and statistics. */

import { columns, gallop, numbers, partOf, type RangePs, type Span, upperBound } from "../data/columns";
import { CATEGORIES, type TraceMeta } from "../data/meta";
import type { Table } from "../data/pack";
import { stepLabel } from "./range";

export interface Steps {
  readonly n: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly session: ArrayLike<number>;
  readonly names: readonly string[];
  readonly isInferred: boolean;
  /** 1 for steps that count as usual: not the first, which compiles, nor an outlier. */
  readonly isAveraged: ArrayLike<number>;
  readonly piece: { readonly start: Float64Array; readonly end: Float64Array; readonly category: Uint8Array };
}

export function readSteps(steps: Table | undefined, pieces: Table | undefined, meta: TraceMeta): Steps {
  const start = (steps?.columns.start_ps as Float64Array | undefined) ?? new Float64Array();
  const source = (steps?.columns.source as Uint8Array | undefined) ?? new Uint8Array();
  const pieceStart = (pieces?.columns.start_ps as Float64Array | undefined) ?? new Float64Array();
  return {
    n: start.length,
    start,
    end: ends(start, steps?.columns.duration_ps as Float64Array | undefined),
    session: (steps?.columns.session as Int32Array | undefined) ?? new Int32Array(start.length),
    names: meta.step_names.map((_, row) => stepLabel(meta.step_names, row)),
    isAveraged: (steps?.columns.is_averaged as Uint8Array | undefined) ?? new Uint8Array(start.length).fill(1),
    isInferred: source.length > 0 && source[0] === 1,
    piece: {
      start: pieceStart,
      end: ends(pieceStart, pieces?.columns.duration_ps as Float64Array | undefined),
      category: (pieces?.columns.category as Uint8Array | undefined) ?? new Uint8Array(pieceStart.length),
    },
  };
}

function ends(start: Float64Array, duration: Float64Array | undefined): Float64Array {
  return start.map((value, i) => value + (duration?.[i] ?? 0));
}

/** Row of the step at a point of time, -1 for none. */
export function stepAt(steps: Steps, time: number): number {
  const i = upperBound(steps.start, time) - 1;
  return i >= 0 && time < steps.end[i] ? i : -1;
}

/** Slack for a range that was rounded to ns on its way through the link. */
const SLACK_PS = 2000;

export interface Statistics extends Readonly<Record<"n" | "avg" | "min" | "max", number>> {
  /** Of a sample (n - 1), as in the overview; 0 for fewer than two. */
  readonly sd: number;
}

export function statisticsOf(values: readonly number[]): Statistics {
  const n = values.length;
  const avg = values.reduce((sum, value) => sum + value, 0) / n;
  const squares = values.reduce((sum, value) => sum + (value - avg) ** 2, 0);
  return {
    n,
    avg,
    sd: n > 1 ? Math.sqrt(squares / (n - 1)) : 0,
    min: values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    max: values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  };
}

export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Rows of the steps that lie in the range and count as usual; where none does, of all that lie in it. */
export function countedSteps(steps: Table, range: RangePs): number[] {
  const [start, duration, isAveraged] = columns(steps, "start_ps", "duration_ps", "is_averaged");
  const inside: number[] = [];
  for (let i = 0; i < steps.n; i++) {
    const isIn = range === null || (start[i] >= range[0] - SLACK_PS && start[i] + duration[i] <= range[1] + SLACK_PS);
    if (isIn) inside.push(i);
  }
  const usual = inside.filter((i) => isAveraged[i]);
  return usual.length > 0 ? usual : inside;
}

type Pieces = Steps["piece"];

/** Pieces that are added up one by one; of more in one pixel column, blocks of so many are. */
const BLOCK = 32;
/** From this share on a column is full. */
const FULL = 0.995;
/** What lies closer is the same edge: in px, and as shares of the height, which is less than half a pixel. */
const TOUCH_PX = 0.01;
const TOUCH_RATIO = 0.015;

/** Reused between frames, in the order of x within a category: area k is [x0[k], x1[k]) in category[k], from low[k] to high[k] of the height. */
export class RunBuffer {
  n = 0;
  x0: Float32Array;
  x1: Float32Array;
  low: Float32Array;
  high: Float32Array;
  category: Uint8Array;
  /** By category its last area, -1 for none. */
  readonly last = new Int32Array(CATEGORIES.length);

  constructor(width = 2048) {
    const n = Math.ceil(width) * (CATEGORIES.length + 1) + 8;
    [this.x0, this.x1, this.low, this.high] = [0, 1, 2, 3].map(() => new Float32Array(n));
    this.category = new Uint8Array(n);
  }

  isWide(k: number, px: number): boolean {
    return this.high[k] - this.low[k] >= FULL && this.x1[k] - this.x0[k] >= px;
  }
}

/**
 * Areas are in proportion to time: pieces of at least a pixel keep their edges, thinner ones share the height of their
 * pixel column by category, and what no piece covers stays free. `but`: a category that is left out.
 */
export function layoutPieces(pieces: Pieces, view: Span, width: number, out: RunBuffer, but = -1) {
  out.n = 0;
  out.last.fill(-1);
  const { start, end } = pieces;
  const scale = width / (view.t1 - view.t0);
  const column = 1 / scale;
  let time = view.t0;
  let p = Math.max(0, upperBound(start, view.t0) - 1);
  while (p < start.length && start[p] < view.t1) {
    if (end[p] <= time) {
      p += 1;
    } else if ((end[p] - start[p]) * scale >= 1) {
      const [x0, x1] = [Math.max(time, start[p]), end[p]].map((at) => (at - view.t0) * scale);
      if (pieces.category[p] !== but) add(out, pieces.category[p], x0, Math.min(width, x1), 0, 1);
      time = end[p];
      p += 1;
    } else {
      const from = Math.max(time, start[p]);
      let right = (Math.floor(from / column) + 1) * column;
      // What rounding takes for the end of the column before is the start of this one.
      if (right <= from) right += column;
      let next = Math.max(p + 1, gallop(start, right, p, start.length));
      // The last one may be wide and start in this column: leave it to the next round.
      if (next - 1 > p && (end[next - 1] - start[next - 1]) * scale >= 1) right = Math.max(end[p], start[--next]);
      const left = Math.max(right - column, time);
      shareOut(pieces, p, next, left, right);
      stack((left - view.t0) * scale, Math.min(width, (right - view.t0) * scale), right - left, out, but);
      time = right;
      p = end[next - 1] > right ? next - 1 : next;
    }
  }
}

/** Time by category in the column that was looked at last. */
const weight = new Float64Array(CATEGORIES.length);

/** Adds up the pieces [p, next) from one moment to another; only the first and the last reach over. */
function shareOut(pieces: Pieces, p: number, next: number, from: number, to: number) {
  const { start, end, category } = pieces;
  weight.fill(0);
  let k = p;
  if (next - p > 2 * BLOCK) {
    const sums = blockSums(pieces);
    const [first, last] = [Math.ceil(p / BLOCK), Math.floor(next / BLOCK)];
    for (; k < first * BLOCK; k++) weight[category[k]] += end[k] - start[k];
    const at = (block: number) => block * weight.length;
    for (let c = 0; c < weight.length; c++) weight[c] += sums[at(last) + c] - sums[at(first) + c];
    k = last * BLOCK;
  }
  for (; k < next; k++) weight[category[k]] += end[k] - start[k];
  weight[category[p]] -= Math.max(0, from - start[p]);
  weight[category[next - 1]] -= Math.max(0, end[next - 1] - to);
}

/** The category that has most of a span, and its share of it; null where no piece lies in it. `but`: one that is left out. */
export function mainCategory(pieces: Pieces, { t0, t1 }: Span, but = -1): { category: number; ratio: number } | null {
  const { start, end } = pieces;
  let p = Math.max(0, upperBound(start, t0) - 1);
  if (p < start.length && end[p] <= t0) p += 1;
  const next = gallop(start, t1, p, start.length);
  if (next <= p) return null;
  shareOut(pieces, p, next, t0, t1);
  let category = -1;
  for (let c = 0; c < weight.length; c++) {
    if (c !== but && weight[c] > 0 && (category < 0 || weight[c] > weight[category])) category = c;
  }
  return category < 0 ? null : { category, ratio: weight[category] / (t1 - t0) };
}

const SUMS = new WeakMap<Pieces, Float64Array>();

function blockSums(pieces: Pieces): Float64Array {
  const known = SUMS.get(pieces);
  if (known) return known;
  const { start, end, category } = pieces;
  const nBlocks = Math.floor(start.length / BLOCK) + 1;
  const sums = new Float64Array(nBlocks * CATEGORIES.length);
  const total = new Float64Array(CATEGORIES.length);
  for (let block = 0, k = 0; block < nBlocks; block++) {
    sums.set(total, block * CATEGORIES.length);
    for (const stop = Math.min(start.length, (block + 1) * BLOCK); k < stop; k++)
      total[category[k]] += end[k] - start[k];
  }
  SUMS.set(pieces, sums);
  return sums;
}

/** Of the time that was added up, one area a category, from the bottom up. */
function stack(x0: number, x1: number, time: number, out: RunBuffer, but: number) {
  let low = 0;
  for (let c = 0; c < weight.length; c++) {
    if (weight[c] <= 0 || c === but) continue;
    const high = Math.min(1, low + weight[c] / time);
    add(out, c, x0, x1, low, high);
    low = high;
  }
}

/** Lengthens the last area of the category where the new one goes on as high as it is. */
function add(out: RunBuffer, category: number, x0: number, x1: number, low: number, high: number) {
  const k = out.last[category];
  const isAsHigh = Math.abs(out.low[k] - low) < TOUCH_RATIO && Math.abs(out.high[k] - high) < TOUCH_RATIO;
  if (k >= 0 && isAsHigh && x0 - out.x1[k] < TOUCH_PX) {
    out.x1[k] = Math.max(x1, out.x1[k]);
    return;
  }
  if (out.n === out.x0.length) return;
  out.last[category] = out.n;
  out.x0[out.n] = Math.max(0, x0);
  out.x1[out.n] = x1;
  out.low[out.n] = low;
  out.high[out.n] = high;
  out.category[out.n++] = category;
}

export const MAX_BARS = 200;

export interface StepBars extends Readonly<Record<"mean" | "low" | "high", Float64Array>> {
  readonly n: number;
  /** First step row of each bar; `first[n]` is the number of steps, so bar i holds rows [first[i], first[i + 1]). */
  readonly first: Int32Array;
  /** Mean ms of a step of the bar, per category. */
  readonly stack: readonly Float64Array[];
}

export function stepBars(steps: Table, categories: readonly string[], maxBars: number): StepBars {
  const n = Math.min(steps.n, Math.max(1, Math.floor(maxBars)));
  const first = new Int32Array(n + 1);
  for (let i = 0; i <= n; i++) first[i] = Math.floor((i * steps.n) / Math.max(1, n));
  const columns = categories.map((category) => numbers(steps, `${category}_ms`));
  const duration = numbers(steps, "duration_ps");
  const stack = columns.map(() => new Float64Array(n));
  const mean = new Float64Array(n);
  const low = new Float64Array(n).fill(Infinity);
  const high = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const count = first[i + 1] - first[i];
    for (let row = first[i]; row < first[i + 1]; row++) {
      const ms = duration[row] / 1e9;
      mean[i] += ms / count;
      low[i] = Math.min(low[i], ms);
      high[i] = Math.max(high[i], ms);
      for (let c = 0; c < columns.length; c++) stack[c][i] += columns[c][row] / count;
    }
  }
  return { n, first, stack, mean, low, high };
}

export function barOf(bars: StepBars, row: number): number {
  return partOf(bars.first, row);
}

/** A position among steps as a position among bars, where bar i spans [i, i + 1). */
export function stepToBarAxis(bars: StepBars, position: number): number {
  const total = bars.first[bars.n] ?? 0;
  if (position >= total) return bars.n;
  const bar = barOf(bars, Math.max(0, Math.floor(position)));
  return bar + Math.max(0, position - bars.first[bar]) / (bars.first[bar + 1] - bars.first[bar]);
}

const OUTLIER_FACTOR = 1.25;

/** The ms at the top of the chart, over the slowest usual step: those that the mean leaves out are broken and labelled. */
export function chartTop(steps: Table): number {
  const [duration, isAveraged] = columns(steps, "duration_ps", "is_averaged");
  let usual = 0;
  let all = 0;
  for (let i = 0; i < steps.n; i++) {
    all = Math.max(all, duration[i] / 1e9);
    if (isAveraged[i]) usual = Math.max(usual, duration[i] / 1e9);
  }
  if (usual === 0 || all <= usual * OUTLIER_FACTOR) return (all || 1) * 1.16;
  return usual * 1.2;
}

/** Round tick values from 0 to `top`, some `most` of them above 0 (three at least, since fewer may be none). */
export function niceTicks(top: number, most: number): number[] {
  if (!(top > 0)) return [0];
  const wanted = Math.max(3, most);
  const power = 10 ** Math.floor(Math.log10(top / wanted));
  const step = [1, 2, 5, 10].map((k) => k * power).find((candidate) => top / candidate <= wanted) ?? 10 * power;
  const ticks: number[] = [];
  for (let i = 0; i * step <= top * (1 + 1e-9); i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** A moment as a position on the axis of steps, where step i spans [i, i + 1); between two steps it is their border. */
export function timeToStepAxis(steps: Table, timePs: number): number {
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  let position = 0;
  for (let i = 0; i < steps.n; i++) {
    if (timePs < start[i]) return position;
    position = i + Math.min(1, duration[i] > 0 ? (timePs - start[i]) / duration[i] : 1);
  }
  return position;
}

/** The time that steps [first, last] span, in whole ns inside them, so that no neighbour's event counts. */
export function timeOfSteps(steps: Table, first: number, last: number): [number, number] {
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  let from = Infinity;
  let to = -Infinity;
  for (let i = first; i <= last; i++) {
    from = Math.min(from, start[i]);
    to = Math.max(to, start[i] + duration[i]);
  }
  return [Math.ceil(from / 1000), Math.floor(to / 1000)];
}
