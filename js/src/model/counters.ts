/** Counters of a capture: their values per pixel column, exact at any zoom, and in words. */

import { gallop, lowerBound, numbers, upperBound } from "../data/columns";
import type { CounterMeta, TraceMeta } from "../data/meta";
import type { Table } from "../data/pack";
import type { Span } from "../data/time";
import { formatBytes, formatFixed, formatNumber } from "./text";

/** Values of a block, as powers of 2: a column over millions of values costs a few looks at each size. */
const BLOCK_BITS = [4, 8, 12, 16] as const;

/** Extremes of each block of 2 ** bits values; the last one may have fewer. */
interface Blocks {
  readonly bits: number;
  readonly min: Float64Array;
  readonly max: Float64Array;
}

export interface Counter {
  readonly name: string;
  readonly unit: string;
  readonly kind: CounterMeta["kind"];
  readonly time: Float64Array;
  readonly value: Float64Array;
  /** What it was before the first value; NaN where nobody knows. */
  readonly before: number;
  readonly min: number;
  readonly max: number;
  /** Blocks of blocks, the largest first. */
  readonly blocks: readonly Blocks[];
}

/** One by one as in `meta.counters`. `table`: every value, or an outline of them with the same columns. */
export function readCounters(table: Table | undefined, meta: TraceMeta): Counter[] {
  const metas = meta.counters ?? [];
  if (!table || table.n === 0) return metas.map((one) => newCounter(one, new Float64Array(), new Float64Array()));
  const owner = numbers(table, "counter");
  const time = table.columns.time_ps as Float64Array;
  const value = table.columns.value as Float64Array;
  return metas.map((one, id) => {
    const low = lowerBound(owner, id);
    const high = lowerBound(owner, id + 1, low);
    return newCounter(one, time.subarray(low, high), value.subarray(low, high));
  });
}

/** Of some counters the first that is a load in per cent, -1 for none. */
export function loadOf(ids: readonly number[], counters: readonly Pick<Counter, "kind" | "unit">[]): number {
  return ids.find((id) => counters[id]?.kind === "system" && counters[id].unit === "%") ?? -1;
}

export function newCounter(meta: CounterMeta, time: Float64Array, value: Float64Array): Counter {
  const blocks: Blocks[] = [];
  let finer = { bits: 0, min: value, max: value };
  for (const bits of BLOCK_BITS) {
    if (value.length < 1 << bits) break;
    finer = coarser(finer, bits);
    blocks.unshift(finer);
  }
  const { name, unit, kind, min, max } = meta;
  return { name, unit, kind, time, value, before: meta.before ?? Number.NaN, min, max, blocks };
}

function coarser(finer: Blocks, bits: number): Blocks {
  const shift = bits - finer.bits;
  const n = Math.ceil(finer.min.length / 2 ** shift);
  const min = new Float64Array(n);
  const max = new Float64Array(n);
  for (let block = 0; block < n; block++) {
    const end = Math.min(finer.min.length, (block + 1) << shift);
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let i = block << shift; i < end; i++) {
      if (finer.min[i] < low) low = finer.min[i];
      if (finer.max[i] > high) high = finer.max[i];
    }
    min[block] = low;
    max[block] = high;
  }
  return { bits, min, max };
}

/** The allocator of the device, else that with the highest peak: what is pinned until the reader changes it; -1 without any. */
export function fullestAllocator(meta: TraceMeta): number {
  const ofDevice = ({ kind, name }: CounterMeta) => kind === "memory" && name === meta.device_memory?.allocator;
  let best = (meta.counters ?? []).findIndex(ofDevice);
  if (best >= 0) return best;
  (meta.counters ?? []).forEach(({ kind, max }, id) => {
    if (kind === "memory" && (best < 0 || max > (meta.counters ?? [])[best].max)) best = id;
  });
  return best;
}

/** What the counter has at a moment; NaN before anything is known. */
export function valueAt(counter: Counter, time: number): number {
  const k = upperBound(counter.time, time) - 1;
  return k < 0 ? counter.before : counter.value[k];
}

/** Where the span before began: spans that are asked for from left to right find their values near it. */
interface Cursor {
  index: number;
}

/** Smallest or largest value that the counter has in [t0, t1): what it had before counts as well; NaN where unknown. */
export function extremeInSpan(
  counter: Counter,
  which: "min" | "max",
  t0: number,
  t1: number,
  cursor: Cursor | null = null,
): number {
  const { time, value } = counter;
  const from = cursor
    ? upperBound(time, t0, cursor.index, gallop(time, t1, cursor.index, time.length))
    : upperBound(time, t0);
  const to = gallop(time, t1, from, time.length);
  if (cursor) cursor.index = Math.max(0, from - 1);
  let best = from > 0 ? value[from - 1] : counter.before;
  if (Number.isNaN(best) && to > from) best = value[from];
  const isMin = which === "min";
  for (let i = from; i < to; ) {
    const blocks = largestBlock(counter, i, to);
    const one = blocks === null ? value[i] : blocks[which][i >>> blocks.bits];
    if (isMin ? one < best : one > best) best = one;
    i += blocks === null ? 1 : 1 << blocks.bits;
  }
  return best;
}

/** The largest block that begins at an index and ends by `to`, null for none. */
function largestBlock({ blocks }: Counter, index: number, to: number): Blocks | null {
  if (index & ((1 << BLOCK_BITS[0]) - 1)) return null;
  for (let k = 0; k < blocks.length; k++) {
    const size = 1 << blocks[k].bits;
    if ((index & (size - 1)) === 0 && index + size <= to) return blocks[k];
  }
  return null;
}

/** Top of the axis, which begins at 0: a share ends at 100 %. */
export function axisTop(counter: Counter): number {
  return counter.unit === "%" ? 100 : counter.max > 0 ? counter.max : 1;
}

export function formatValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  if (unit === "bytes") return formatBytes(value);
  if (unit === "bytes/s") return `${formatBytes(value)}/s`;
  if (unit === "MB") return formatBytes(value * 1e6);
  const number = Number.isInteger(value) && Math.abs(value) < 1e6 ? formatFixed(value, 0) : formatNumber(value);
  return unit ? `${number} ${unit}` : number;
}

/** The outline with every value in a window in place of its own there: what a page that holds only that window can draw. */
export function spliceWindow(outline: Table, part: Table, window: Span): Table {
  const owners = [outline, part].map((table) => numbers(table, "counter"));
  const times = [outline, part].map((table) => table.columns.time_ps as Float64Array);
  const values = [outline, part].map((table) => table.columns.value as Float64Array);
  const rows: [which: number, row: number][] = [];
  const take = (which: number, id: number, isIn: (time: number) => boolean) => {
    const low = lowerBound(owners[which], id);
    const high = lowerBound(owners[which], id + 1, low);
    for (let row = low; row < high; row++) if (isIn(times[which][row])) rows.push([which, row]);
  };
  const last = Math.max(...owners.map((owner) => (owner.length > 0 ? owner[owner.length - 1] : -1)));
  for (let id = 0; id <= last; id++) {
    take(0, id, (time) => time < window.t0);
    take(1, id, (time) => time >= window.t0 && time < window.t1);
    take(0, id, (time) => time >= window.t1);
  }
  return {
    n: rows.length,
    columns: {
      counter: Uint16Array.from(rows, ([which, row]) => owners[which][row]),
      time_ps: Float64Array.from(rows, ([which, row]) => times[which][row]),
      value: Float64Array.from(rows, ([which, row]) => values[which][row]),
    },
  };
}
