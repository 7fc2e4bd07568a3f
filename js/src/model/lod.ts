/**
 * What is drawn of counters and rows of events in a view: at most one item per pixel column.
 *
 * Wide slices stay themselves; events that start in the same pixel column become one item that knows how much of its time
 * they cover, and how that is shared between colours. The search for the next column gallops, so a row costs its pixels,
 * not its events. Columns are laid out from time 0, not from the left edge: panning moves the picture instead of
 * reshuffling it. Colours are added up by blocks of events, when a block is first looked at.
 */

import { gallop, lowerBound, numbers, type Span, upperBound } from "../data/columns";
import { carriedIn, coverOf, type Events, endAt, firstVisible, nextFrom, type Run, rowAt } from "../data/events";
import type { CounterMeta, TraceMeta } from "../data/meta";
import type { Table } from "../data/pack";
import { formatBytes, formatFixed, formatNumber } from "./text";

/** Values of a block, as powers of 2: a column over millions of values costs a few looks at each size. */
const EXTREME_BITS = [4, 8, 12, 16] as const;

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
  for (const bits of EXTREME_BITS) {
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
  if (index & ((1 << EXTREME_BITS[0]) - 1)) return null;
  for (let k = 0; k < blocks.length; k++) {
    const size = 1 << blocks[k].bits;
    if ((index & (size - 1)) === 0 && index + size <= to) return blocks[k];
  }
  return null;
}

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

/** Positions of a block and of a chapter, which is made of blocks, as powers of 2. */
const BLOCK_BITS = 4;
const CHAPTER_BITS = 10;
const BLOCK = 1 << BLOCK_BITS;
const CHAPTER = 1 << CHAPTER_BITS;
const MOST_LOOKS = 4 * BLOCK;
/** Of a chapter: all of it was there. */
const COMPLETE = 2 ** 31 - 1;

type ColorOf = (position: number) => number;

export class ColorTimes {
  readonly time: Float64Array;
  /** By block and colour the time from the start of its chapter to its own; by chapter and colour all of it. */
  #before = new Float32Array();
  #whole = new Float32Array();
  /** By chapter how often events had come when it was added up; -1 for never. */
  #madeAt = new Int32Array();
  readonly #ofRow: readonly ColorOf[];

  constructor(
    readonly events: Events,
    readonly n: number,
    colorsOf: (row: number) => ColorOf,
  ) {
    this.time = new Float64Array(n);
    this.#ofRow = Array.from({ length: events.rows.n }, (_, row) => colorsOf(row));
  }

  colorOf(row: number, position: number): number {
    return this.#ofRow[row](position);
  }

  /** Adds up the indices [from, to) of a row as far as drawn; of many, whole blocks, each counted for one of the columns at its edge. */
  of(run: Run, row: number, from: number, to: number): Float64Array {
    const { time, n } = this;
    time.fill(0);
    if (run.isSample || to - from <= MOST_LOOKS) {
      this.#addRow(run, row, from, to);
      return time;
    }
    const first = Math.ceil(from / BLOCK);
    const last = Math.ceil(to / BLOCK) * BLOCK <= run.high[row] ? Math.ceil(to / BLOCK) : Math.floor(to / BLOCK);
    const [low, high] = [first, last].map((block) => block >> (CHAPTER_BITS - BLOCK_BITS));
    for (let chapter = low; chapter <= high; chapter++) this.#make(chapter);
    addTo(time, this.#before, last * n, 1);
    addTo(time, this.#before, first * n, -1);
    for (let chapter = low; chapter < high; chapter++) addTo(time, this.#whole, chapter * n, 1);
    return time;
  }

  #addRow({ times, high, positionOf }: Run, row: number, from: number, to: number) {
    const { start, duration } = times;
    const colorOf = this.#ofRow[row];
    const stop = high[row];
    for (let i = from; i < to; i++) {
      const own = i + 1 < stop ? Math.min(duration[i], start[i + 1] - start[i]) : duration[i];
      this.time[colorOf(positionOf(i))] += own;
    }
  }

  /** Adds the positions [from, to) of any rows, as far as they are here. */
  #addAny(from: number, to: number, time: Float64Array) {
    const { events } = this;
    const { start, duration, rows } = events;
    for (let p = from, row = rowAt(rows, from); p < to; row++) {
      const end = rows.offset[row + 1];
      const colorOf = this.#ofRow[row];
      for (; p < Math.min(end, to); p++) {
        if (!events.has(p)) continue;
        const isCut = p + 1 < end && events.has(p + 1);
        time[colorOf(p)] += isCut ? Math.min(duration[p], start[p + 1] - start[p]) : duration[p];
      }
    }
  }

  /** Adds a chapter up, unless it is known; one that was not all there again when more has come. */
  #make(chapter: number) {
    const { events, n } = this;
    if (this.#madeAt.length === 0) {
      this.#before = new Float32Array(((events.n >> BLOCK_BITS) + 2) * n);
      this.#whole = new Float32Array(((events.n >> CHAPTER_BITS) + 1) * n);
      this.#madeAt = new Int32Array((events.n >> CHAPTER_BITS) + 1).fill(-1);
    }
    const made = this.#madeAt[chapter];
    if (made === COMPLETE || made === events.generation) return;
    const time = new Float64Array(n);
    const low = chapter << CHAPTER_BITS;
    const high = Math.min(events.n, low + CHAPTER);
    for (let p = low; p < high; p += BLOCK) {
      this.#before.set(time, (p >> BLOCK_BITS) * n);
      this.#addAny(p, Math.min(high, p + BLOCK), time);
    }
    // Where the last block is full, its end is the start of one that no event lies in.
    if (high < low + CHAPTER) this.#before.set(time, Math.ceil(high / BLOCK) * n);
    this.#whole.set(time, chapter * n);
    let isComplete = true;
    for (let p = low; isComplete && p < high; p++) isComplete = events.has(p);
    this.#madeAt[chapter] = isComplete ? COMPLETE : events.generation;
  }
}

function addTo(time: Float64Array, from: Float32Array, at: number, sign: 1 | -1) {
  for (let c = 0; c < time.length; c++) time[c] += sign * from[at + c];
}

const WIDE_PX = 3;
/** A thin slice with so much free on both sides is a tick, which is at least so wide: in a column of its own nobody saw it. */
const ALONE_PX = 3;
const TICK_PX = 0.3;
/** Parts of what is covered of a column, as shares are kept. */
export const PARTS = 255;
const MAX_LOOKS = 256;
/** Where two runs meet, a pixel column may have two items. */
const SPARE = 512;

export class SliceBuffer {
  n = 0;
  right = 0;
  x0: Float32Array;
  x1: Float32Array;
  /** First and last position that the item stands for; the same for a slice that is wide. */
  first: Int32Array;
  last: Int32Array;
  /** Share of the item's time that events cover. */
  busy: Float32Array;
  /** 1 for a slice that is drawn with fill, edge and name. */
  isWide: Uint8Array;
  color: Uint8Array;
  /** At color * capacity + k: how many of PARTS of what is covered have that colour. */
  shares: Uint8Array;
  /** By color 1 where an item has it. */
  readonly isUsed: Uint8Array;

  constructor(
    width = 2048,
    readonly nColors = 1,
  ) {
    const n = (Math.ceil(width) + SPARE + 3) & ~3;
    const bytes = new ArrayBuffer((22 + nColors) * n);
    [this.x0, this.x1, this.busy] = [0, 1, 2].map((k) => new Float32Array(bytes, 4 * n * k, n));
    [this.first, this.last] = [3, 4].map((k) => new Int32Array(bytes, 4 * n * k, n));
    [this.isWide, this.color] = [0, 1].map((k) => new Uint8Array(bytes, (20 + k) * n, n));
    this.shares = new Uint8Array(bytes, 22 * n, nColors * n);
    this.isUsed = new Uint8Array(nColors);
  }

  get capacity() {
    return this.x0.length;
  }
}

export function layoutRow(
  events: Events,
  row: number,
  view: Span,
  width: number,
  colors: ColorTimes,
  out: SliceBuffer,
) {
  out.n = 0;
  out.right = Number.NEGATIVE_INFINITY;
  out.shares.fill(0);
  out.isUsed.fill(0);
  const { runs } = events;
  const first = events.runAt(view.t0);
  const before = carriedIn(events, first, row, view.t0);
  if (before) layoutRun(runs[before.run], row, before.index, view, width, colors, out);
  for (let k = first; k < runs.length && runs[k].span.t0 < view.t1; k++) {
    layoutRun(runs[k], row, firstVisible(runs[k], row, view.t0), view, width, colors, out);
  }
}

function layoutRun(
  run: Run,
  row: number,
  from: number,
  view: Span,
  width: number,
  colors: ColorTimes,
  out: SliceBuffer,
) {
  const { start, duration, covered } = run.times;
  const stop = run.high[row];
  const scale = width / (view.t1 - view.t0);
  const column = 1 / scale;
  const xOf = (time: number) => (time - view.t0) * scale;
  let i = from;
  while (i < stop && start[i] < view.t1) {
    const own = start[i];
    const until = i + 1 < stop ? Math.min(own + duration[i], start[i + 1]) : own + duration[i];
    const px = (until - own) * scale;
    const isAlone = xOf(own) - out.right >= ALONE_PX && !(i + 1 < stop && xOf(start[i + 1]) - xOf(until) < ALONE_PX);
    if (px >= 1 || isAlone) {
      const x0 = Math.max(xOf(own), out.right);
      const k = push(run, i, i + 1, x0, Math.max(xOf(until), x0 + TICK_PX), 1, out);
      out.isWide[k] = Number(px >= WIDE_PX);
      share(colors, run, row, i, i + 1, k, out);
      i += 1;
      continue;
    }
    const columnStart = Math.floor(own / column) * column;
    const next = Math.max(i + 1, nextFrom(run.times, columnStart + column, i, stop));
    // The last one may be wide and start in this column: leave it to the next round.
    const lastIsWide = next - 1 > i && (endAt(run, row, next - 1) - start[next - 1]) * scale >= 1;
    const after = lastIsWide ? next - 1 : next;
    const end = Math.min(columnStart + column, run.span.t1, lastIsWide ? start[after] : Number.POSITIVE_INFINITY);
    const x0 = Math.max(xOf(columnStart), out.right);
    // Where the last one ends in the next column, this item goes on until there.
    const x1 = Math.max(xOf(end), xOf(endAt(run, row, after - 1)), x0 + 1e-3);
    const cover = covered[after - 1] - covered[i] + until - own;
    const k = push(run, i, after, x0, x1, Math.min(1, (cover * scale) / (x1 - x0)), out);
    out.isWide[k] = 0;
    share(colors, run, row, i, after, k, out);
    i = after;
  }
}

function push(run: Run, from: number, to: number, x0: number, x1: number, busy: number, out: SliceBuffer): number {
  const k = Math.min(out.n, out.capacity - 1);
  out.n = k + 1;
  out.x0[k] = x0;
  out.x1[k] = x1;
  out.first[k] = run.positionOf(from);
  out.last[k] = run.positionOf(to - 1);
  out.busy[k] = busy;
  out.right = x1;
  return k;
}

/** Keeps the shares of colours of the indices [from, to), rounded so that they add up. */
function share(colors: ColorTimes, run: Run, row: number, from: number, to: number, k: number, out: SliceBuffer) {
  const { nColors, capacity, shares, color, isUsed } = out;
  // Of events that take no time the first one gives the colour.
  color[k] = colors.colorOf(row, run.positionOf(from));
  const time = to - from > 1 ? colors.of(run, row, from, to) : null;
  let total = 0;
  if (time) for (let c = 0; c < nColors; c++) if (time[c] > 0) total += time[c];
  if (!time || total === 0) {
    shares[color[k] * capacity + k] = PARTS;
    isUsed[color[k]] = 1;
    return;
  }
  for (let c = 0, sum = 0, edge = 0; c < nColors; c++) {
    if (!(time[c] > 0)) continue;
    sum += time[c];
    const next = Math.round((PARTS * sum) / total);
    shares[c * capacity + k] = next - edge;
    isUsed[c] = 1;
    edge = next;
  }
}

/** Time that a row's events cover inside a span; of what is not loaded, as far as the sample tells. */
export function coveredTime(events: Events, row: number, span: Span): number {
  const { runs } = events;
  const first = events.runAt(span.t0);
  const before = carriedIn(events, first, row, span.t0);
  let reached = span.t0;
  let time = 0;
  if (before) {
    reached = Math.min(span.t1, endAt(runs[before.run], row, before.index));
    time = reached - span.t0;
  }
  for (let k = first; k < runs.length && runs[k].span.t0 < span.t1; k++) {
    const run = runs[k];
    const { start } = run.times;
    const from = firstVisible(run, row, span.t0);
    const to = lowerBound(start, span.t1, from, run.high[row]);
    if (to <= from) continue;
    const end = endAt(run, row, to - 1);
    const head = Math.max(0, reached - start[from]);
    const tail = Math.max(0, end - span.t1);
    time += Math.max(0, coverOf(run, row, from, to) - head - tail);
    reached = Math.min(span.t1, Math.max(reached, end));
  }
  return time;
}

/** Position of the first event of a row that ends after a moment, -1 for none. */
export function visibleFrom(events: Events, row: number, time: number): number {
  const { runs } = events;
  const first = events.runAt(time);
  const before = carriedIn(events, first, row, time);
  if (before) return runs[before.run].positionOf(before.index);
  for (let k = first; k < runs.length; k++) {
    const index = firstVisible(runs[k], row, time);
    if (index < runs[k].high[row]) return runs[k].positionOf(index);
  }
  return -1;
}

/** Position under a point of time in a row, with `tolerance` to both sides for slices too thin to meet; -1 for none. */
export function eventAt(events: Events, row: number, time: number, tolerance: number): number {
  const { runs } = events;
  const first = events.runAt(time - tolerance);
  const before = carriedIn(events, first, row, time - tolerance);
  let best = before ? runs[before.run].positionOf(before.index) : -1;
  if (before && endAt(runs[before.run], row, before.index) > time) return best;
  for (let k = first; k < runs.length && runs[k].span.t0 <= time + tolerance; k++) {
    const run = runs[k];
    const { start, duration } = run.times;
    const from = firstVisible(run, row, time - tolerance);
    for (let i = from; i < run.high[row] && start[i] <= time + tolerance && i < from + MAX_LOOKS; i++) {
      if (start[i] <= time && endAt(run, row, i) > time) return run.positionOf(i);
      if (best < 0 || duration[i] > events.duration[best]) best = run.positionOf(i);
    }
  }
  return best;
}

/** Rows kept: as many as the tallest window shows. A buffer takes some 35 bytes a pixel. */
const MAX_ROWS = 256;

interface LayoutSource {
  readonly events: Events;
  readonly meta: Pick<TraceMeta, "lines" | "planes">;
  readonly view: Span;
  readonly width: number;
  /** Another one when events have other colours. */
  readonly colors: { readonly n: number; of(position: number, isDevice: boolean): number };
}

export class RowLayouts {
  #buffers: SliceBuffer[] = [];
  readonly #ofRow = new Map<number, SliceBuffer>();
  #times: ColorTimes | null = null;
  #source: LayoutSource | null = null;
  #generation = -1;

  constructor(readonly capacity = 2048) {}

  /** The items of a row, to be read before the next row is asked for. */
  of(source: LayoutSource, row: number): SliceBuffer {
    if (!this.#isSame(source)) this.clear();
    const times = this.#timesOf(source);
    this.#source = source;
    this.#generation = source.events.generation;
    let buffer = this.#ofRow.get(row);
    if (buffer) return buffer;
    if (this.#ofRow.size >= MAX_ROWS) this.#ofRow.clear();
    const k = this.#ofRow.size;
    this.#buffers[k] ??= new SliceBuffer(this.capacity, times.n);
    buffer = this.#buffers[k];
    layoutRow(source.events, row, source.view, source.width, times, buffer);
    this.#ofRow.set(row, buffer);
    return buffer;
  }

  clear() {
    this.#ofRow.clear();
  }

  /** What was added up by colour stays while colours mean the same. */
  #timesOf({ events, meta: { lines, planes }, colors }: LayoutSource): ColorTimes {
    if (this.#times && this.#source?.events === events && this.#source.colors === colors) return this.#times;
    const onHost = (position: number) => colors.of(position, false);
    const onDevice = (position: number) => colors.of(position, true);
    const isDevice = (row: number) => planes[lines[events.rows.line[row]].plane].kind === "device";
    this.#times = new ColorTimes(events, colors.n, (row) => (isDevice(row) ? onDevice : onHost));
    this.#buffers = [];
    return this.#times;
  }

  #isSame({ events, view, width, colors }: LayoutSource): boolean {
    const last = this.#source;
    if (!last || last.events !== events || last.width !== width || last.colors !== colors) return false;
    return last.view.t0 === view.t0 && last.view.t1 === view.t1 && this.#generation === events.generation;
  }
}
