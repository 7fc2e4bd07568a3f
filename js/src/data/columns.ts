/** Spans of time, and columns of numbers: searched when sorted, and growing without a copy for each part. */

import type { Table, TypedArray } from "./pack";

/** A span of time in ps after the trace origin, t0 < t1. */
export interface Span {
  readonly t0: number;
  readonly t1: number;
}

/** A half-open time range in ps after the trace origin, or null for the whole capture. */
export type RangePs = readonly [number, number] | null;

/** The steps that the average step time is of; figures of them are told a step. */
export const STEADY = "steady";
export type Scope = RangePs | typeof STEADY;

export function rangeOf(scope: Scope): RangePs {
  return scope === STEADY ? null : scope;
}

/** Zooming stops at 1 ns across the screen: the clock of the trace is no finer. */
export const PS_PER_NS = 1000;
export const MIN_SPAN_PS = 1000;

export function timeAt(view: Span, width: number, x: number): number {
  return view.t0 + (x / width) * (view.t1 - view.t0);
}

export function xAt(view: Span, width: number, time: number): number {
  return ((time - view.t0) / (view.t1 - view.t0)) * width;
}

/** `view` inside `bounds`, with its length kept where it fits. */
export function clamp(view: Span, bounds: Span): Span {
  const whole = bounds.t1 - bounds.t0;
  const span = Math.min(whole, Math.max(Math.min(MIN_SPAN_PS, whole), view.t1 - view.t0));
  const t0 = Math.min(Math.max(view.t0, bounds.t0), bounds.t1 - span);
  return { t0, t1: t0 + span };
}

/** Scales the span by `factor` (< 1 zooms in) so that `time` stays at its pixel, unless a bound is met. */
export function zoomAt(view: Span, time: number, factor: number, bounds: Span): Span {
  const whole = bounds.t1 - bounds.t0;
  const span = view.t1 - view.t0;
  const next = Math.min(whole, Math.max(Math.min(MIN_SPAN_PS, whole), span * factor));
  const t0 = time - ((time - view.t0) / span) * next;
  return clamp({ t0, t1: t0 + next }, bounds);
}

export function panBy(view: Span, delta: number, bounds: Span): Span {
  return clamp({ t0: view.t0 + delta, t1: view.t1 + delta }, bounds);
}

/** A view of `range` with `margin` of its length on both sides. */
export function fitRange(range: Span, bounds: Span, margin = 0.1): Span {
  const pad = Math.max(MIN_SPAN_PS, (range.t1 - range.t0) * margin);
  return clamp({ t0: range.t0 - pad, t1: range.t1 + pad }, bounds);
}

/** Whether the reader can see `range` for what it is: all of it, or the view lies inside it. */
export function shows(view: Span, range: Span): boolean {
  const isInside = range.t0 >= view.t0 && range.t1 <= view.t1;
  return isInside || (range.t0 <= view.t0 && range.t1 >= view.t1);
}

/** Distance between ruler ticks: 1, 2 or 5 times a power of ten, at least `minPx` apart. */
export function tickStep(view: Span, width: number, minPx: number): number {
  const least = ((view.t1 - view.t0) / width) * minPx;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (power * factor >= least) return power * factor;
  return power * 10;
}

export function overlapPs(start: number, duration: number, range: RangePs): number {
  if (range === null) return duration;
  return Math.max(0, Math.min(start + duration, range[1]) - Math.max(start, range[0]));
}

/** Whether an occurrence counts: it overlaps the range, or has no length and lies inside it. */
export function isInRange(start: number, duration: number, range: RangePs): boolean {
  if (range === null) return true;
  if (duration > 0) return start < range[1] && start + duration > range[0];
  return start >= range[0] && start < range[1];
}

type NumberArray = Exclude<TypedArray, BigUint64Array>;

const NONE = new Float64Array(0);

/** The values of a column; empty for a table without rows. Throws where the table has rows but not the column. */
export function numbers(table: Table, column: string): NumberArray {
  const values = table.columns[column];
  if (values === undefined) {
    if (table.n === 0) return NONE;
    throw new Error(
      `a table of ${table.n} rows has no column "${column}"; it has ${Object.keys(table.columns).join(", ")}`,
    );
  }
  if (values instanceof BigUint64Array) throw new Error(`column "${column}" holds 64 raw bits, not numbers`);
  return values;
}

/** Visits the executions that a range has any of, with the time inside it and what part of the whole that is. */
export function eachInside(runs: Table, range: RangePs, visit: (row: number, ps: number, part: number) => void): void {
  const [start, duration] = columns(runs, "start_ps", "duration_ps");
  for (let i = 0; i < runs.n; i++) {
    if (!isInRange(start[i], duration[i], range)) continue;
    const ps = overlapPs(start[i], duration[i], range);
    visit(i, ps, duration[i] > 0 ? ps / duration[i] : 1);
  }
}

export function columns<const N extends readonly string[]>(
  table: Table,
  ...names: N
): { readonly [K in keyof N]: NumberArray } {
  return names.map((name) => numbers(table, name)) as { [K in keyof N]: NumberArray };
}

type Numbers = ArrayLike<number>;

/** First index in [low, high) whose value is >= `value`; `high` when there is none. */
export function lowerBound(values: Numbers, value: number, low = 0, high = values.length): number {
  let lo = low;
  let hi = high;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (values[middle] < value) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

export function upperBound(values: Numbers, value: number, low = 0, high = values.length): number {
  let lo = low;
  let hi = high;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (values[middle] <= value) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/** Which of consecutive parts holds an item: part k is [first[k], first[k + 1]). The first or last one where none does. */
export function partOf(first: Numbers, item: number): number {
  return upperBound(first, item, 1, Math.max(1, first.length - 1)) - 1;
}

/** First of `n` indices that passes, where all after it pass; `n` when there is none. */
export function firstWhere(n: number, passes: (index: number) => boolean): number {
  let low = 0;
  for (let high = n; low < high; ) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** As lowerBound, but costs the logarithm of the distance to the answer instead of the length. */
export function gallop(values: Numbers, value: number, low: number, high: number): number {
  let step = 1;
  let lo = low;
  while (lo + step < high && values[lo + step] < value) {
    lo += step;
    step *= 2;
  }
  return lowerBound(values, value, lo, Math.min(high, lo + step + 1));
}

/** As lowerBound; costs the logarithm of how far `guess`, which lies in [low, high), is from the answer. */
export function lowerBoundNear(values: Numbers, value: number, guess: number, low: number, high: number): number {
  let step = 1;
  if (values[guess] < value) {
    let lo = guess + 1;
    for (; guess + step < high && values[guess + step] < value; step *= 2) lo = guess + step + 1;
    return lowerBound(values, value, lo, Math.min(high, guess + step));
  }
  let hi = guess;
  for (; guess - step >= low && values[guess - step] >= value; step *= 2) hi = guess - step;
  return lowerBound(values, value, Math.max(low, guess - step + 1), hi);
}

export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

const PAGE_BYTES = 65_536;
/** Each such memory reserves much address space, so small ones stay ordinary. */
const LEAST_BYTES = 8 * 2 ** 20;

export function lazyBuffer(nBytes: number): ArrayBuffer {
  if (nBytes >= LEAST_BYTES) {
    try {
      return new WebAssembly.Memory({ initial: Math.ceil(nBytes / PAGE_BYTES) }).buffer as ArrayBuffer;
    } catch {
      // Forbidden, absent or out of address space: the ordinary kind may still do.
    }
  }
  return new ArrayBuffer(nBytes);
}

type Column = { new (buffer: ArrayBuffer, offset: number, n: number): TypedArray; BYTES_PER_ELEMENT: number };

export class GrowingTable {
  readonly table: Table;
  #nRows = 0;

  constructor(like: Table, nRows: number) {
    const columns: Record<string, TypedArray> = {};
    const entries = Object.entries(like.columns);
    const sizes = entries.map(([, values]) => Math.ceil((nRows * values.BYTES_PER_ELEMENT) / 8) * 8);
    const bytes = lazyBuffer(sizes.reduce((sum, size) => sum + size, 0));
    let offset = 0;
    for (const [k, [name, values]] of entries.entries()) {
      columns[name] = new (values.constructor as unknown as Column)(bytes, offset, nRows);
      offset += sizes[k];
    }
    this.table = { n: nRows, columns };
  }

  append(part: Table) {
    if (this.#nRows + part.n > this.table.n) throw new Error(`${this.#nRows + part.n} rows of ${this.table.n}`);
    for (const [name, values] of Object.entries(this.table.columns)) {
      const more = part.columns[name];
      if (!more) throw new Error(`a part without column ${name}`);
      values.set(more as never, this.#nRows);
    }
    this.#nRows += part.n;
  }
}
