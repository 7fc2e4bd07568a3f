/** The memory events of one allocator -> what to draw in a window, the peak in a range, and what was live at a moment. */

import type { RangePs } from "../time/viewport";
import { lowerBound, upperBound } from "../wire/bisect";
import { numbers } from "../wire/column";
import type { Table } from "../wire/wire";

/** The memory events of one allocator: rows [begin, end) of the table, in time order. */
export interface MemoryEvents {
  readonly begin: number;
  readonly end: number;
  readonly session: ArrayLike<number>;
  readonly time: ArrayLike<number>;
  readonly isFree: ArrayLike<number>;
  readonly requested: ArrayLike<number>;
  readonly allocated: ArrayLike<number>;
  readonly stack: ArrayLike<number>;
  readonly heap: ArrayLike<number>;
  readonly free: ArrayLike<number>;
  readonly fragmentation: ArrayLike<number>;
  readonly op: ArrayLike<number>;
  readonly step: ArrayLike<number>;
  readonly region: ArrayLike<number>;
  readonly dtype: ArrayLike<number>;
  readonly shape: ArrayLike<number>;
  readonly freedAt: ArrayLike<number>;
}

export function memoryEvents(table: Table, allocator: number): MemoryEvents {
  const owner = numbers(table, "allocator");
  return {
    begin: lowerBound(owner, allocator, 0, table.n),
    end: lowerBound(owner, allocator + 1, 0, table.n),
    session: numbers(table, "session"),
    time: numbers(table, "time_ps"),
    isFree: numbers(table, "is_free"),
    requested: numbers(table, "requested_bytes"),
    allocated: numbers(table, "allocation_bytes"),
    stack: numbers(table, "stack_bytes"),
    heap: numbers(table, "heap_bytes"),
    free: numbers(table, "free_bytes"),
    fragmentation: numbers(table, "fragmentation_ratio"),
    op: numbers(table, "op"),
    step: numbers(table, "step"),
    region: numbers(table, "region"),
    dtype: numbers(table, "dtype"),
    shape: numbers(table, "shape"),
    freedAt: numbers(table, "freed_at"),
  };
}

export interface Envelope {
  /** Rows to draw, ascending. */
  readonly rows: Int32Array;
  /** Rows of the window, of which `rows` are the visible extremes. */
  readonly nInWindow: number;
}

/**
 * The rows that show a window at `nColumns` pixel columns: all of them when few, else per column the first, the last and the
 * lowest and highest in use and fragmentation, so that no peak and no valley is lost. What holds until the first row inside comes
 * first: the last row before the window or, written `~row`, what was before that first row, where no other is.
 */
export function envelope(events: MemoryEvents, t0: number, t1: number, nColumns: number): Envelope {
  const { time, begin, end } = events;
  const from = lowerBound(time, t0, begin, end);
  const to = upperBound(time, t1, from, end);
  const nInWindow = to - from;
  const rows: number[] = [];
  if (from > begin) rows.push(from - 1);
  else if (from < end && time[from] > t0) rows.push(~from);
  const columns = Math.max(1, Math.floor(nColumns));
  if (nInWindow <= columns * 2 || t1 <= t0) {
    for (let i = from; i < to; i++) rows.push(i);
    return { rows: Int32Array.from(rows), nInWindow };
  }
  const widthPs = (t1 - t0) / columns;
  let i = from;
  while (i < to) {
    const column = Math.min(columns - 1, Math.floor((time[i] - t0) / widthPs));
    const last = column === columns - 1 ? to : Math.max(i + 1, lowerBound(time, t0 + (column + 1) * widthPs, i, to));
    pushExtremes(events, i, last, rows);
    i = last;
  }
  return { rows: Int32Array.from(rows), nInWindow };
}

function pushExtremes(events: MemoryEvents, from: number, to: number, rows: number[]): void {
  const { stack, heap, fragmentation } = events;
  let low = from;
  let high = from;
  let calm = from;
  let rough = from;
  for (let i = from + 1; i < to; i++) {
    const used = stack[i] + heap[i];
    if (used < stack[low] + heap[low]) low = i;
    if (used > stack[high] + heap[high]) high = i;
    if (fragmentation[i] < fragmentation[calm]) calm = i;
    if (fragmentation[i] > fragmentation[rough]) rough = i;
  }
  const kept = [from, low, high, calm, rough, to - 1].sort((a, b) => a - b);
  for (let k = 0; k < kept.length; k++) if (k === 0 || kept[k] !== kept[k - 1]) rows.push(kept[k]);
}

/**
 * The row with the most bytes in use (stack + heap) in the range, the last one on ties; -1 when the allocator has no row there.
 * A range that starts between two events holds what the earlier one left, so the row before it takes part.
 */
export function peakRow(events: MemoryEvents, range: RangePs): number {
  const { begin, stack, heap } = events;
  const from = range === null ? begin : Math.max(begin, rowAt(events, range[0]));
  const [, to] = rowsIn(events, range);
  let peak = -1;
  for (let i = from; i < to; i++) {
    if (peak < 0 || stack[i] + heap[i] >= stack[peak] + heap[peak]) peak = i;
  }
  return peak;
}

/** The rows [from, to) whose time is in the range. */
export function rowsIn({ begin, end, time }: MemoryEvents, range: RangePs): readonly [from: number, to: number] {
  if (range === null) return [begin, end];
  const from = lowerBound(time, range[0], begin, end);
  return [from, lowerBound(time, range[1], from, end)];
}

/** The row whose state holds at a time: the last one at or before it; -1 before the first. */
export function rowAt(events: MemoryEvents, timePs: number): number {
  const row = upperBound(events.time, timePs, events.begin, events.end) - 1;
  return row < events.begin ? -1 : row;
}

export interface LiveGroup {
  /** Name ids; -1 unknown. `op` is -2 for the remainder and -3 for the stack. */
  readonly op: number;
  readonly region: number;
  readonly dtype: number;
  readonly shape: number;
  readonly count: number;
  readonly allocatedBytes: number;
  readonly requestedBytes: number;
}

export const REMAINDER = -2;
export const STACK = -3;

/**
 * What holds memory right after a row: its session's allocations not yet freed, grouped by op, region, type and shape, largest
 * first. What an earlier session allocated may be gone since, so it counts as unexplained like all from before a session.
 * Bytes in use that no event of this capture explains are one more group (`REMAINDER`), and so is a stack reservation (`STACK`).
 */
export function liveAt(events: MemoryEvents, row: number): LiveGroup[] {
  if (events.begin === events.end) return [];
  const now = Math.max(row, events.begin);
  const groups = new Map<string, { -readonly [K in keyof LiveGroup]: LiveGroup[K] }>();
  let explained = 0;
  for (let i = events.begin; i <= row; i++) {
    if (events.isFree[i] || (events.freedAt[i] >= 0 && events.freedAt[i] <= row)) continue;
    if (events.session[i] !== events.session[now]) continue;
    explained += events.allocated[i];
    const key = `${events.op[i]},${events.region[i]},${events.dtype[i]},${events.shape[i]}`;
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, {
        op: events.op[i],
        region: events.region[i],
        dtype: events.dtype[i],
        shape: events.shape[i],
        count: 1,
        allocatedBytes: events.allocated[i],
        requestedBytes: events.requested[i],
      });
    } else {
      group.count += 1;
      group.allocatedBytes += events.allocated[i];
      group.requestedBytes += events.requested[i];
    }
  }
  const unknown = { region: -1, dtype: -1, shape: -1, count: 1 };
  const stack = events.stack[now];
  const rest = bytesInUse(events, row < now ? ~now : now) - stack - explained;
  const out: LiveGroup[] = [...groups.values()];
  if (rest > 0) out.push({ op: REMAINDER, ...unknown, allocatedBytes: rest, requestedBytes: rest });
  if (stack > 0) out.push({ op: STACK, ...unknown, allocatedBytes: stack, requestedBytes: stack });
  return out.sort((a, b) => b.allocatedBytes - a.allocatedBytes);
}

/** What happened in a range, the whole capture when null. */
export function countEvents(events: MemoryEvents, range: RangePs) {
  const [from, to] = rowsIn(events, range);
  let deallocations = 0;
  for (let i = from; i < to; i++) if (events.isFree[i]) deallocations += 1;
  return { allocations: to - from - deallocations, deallocations };
}

/** Whether drawing free bytes informs: a CPU allocator's nominal 64 GiB over MiBs in use would flatten everything else. */
export function isFreeInformative(events: MemoryEvents, peak: number): boolean {
  if (peak < 0) return false;
  const used = events.stack[peak] + events.heap[peak];
  return events.free[peak] > 0 && events.free[peak] <= used * 8;
}

/** Bytes in use (stack + heap) after a row, or before it where it is written `~row`: what its event did is undone then. */
export function bytesInUse({ stack, heap, allocated, isFree }: MemoryEvents, row: number): number {
  if (row >= 0) return stack[row] + heap[row];
  return stack[~row] + heap[~row] + allocated[~row] * (isFree[~row] ? 1 : -1);
}

/** At most so many of the free bytes lie in one piece after a row; NaN where the allocator does not tell. */
export function largestPiece(events: MemoryEvents, row: number): number {
  return events.free[row] * (1 - events.fragmentation[row]);
}

/** Whether free memory was ever in pieces smaller than the largest allocation: only then can it matter that it is in pieces. */
export function isInSmallPieces(events: MemoryEvents): boolean {
  let largest = 0;
  for (let i = events.begin; i < events.end; i++) largest = Math.max(largest, events.allocated[i]);
  for (let i = events.begin; i < events.end; i++) if (largestPiece(events, i) < largest) return true;
  return false;
}

/** Bytes that allocations of some ops hold after each row, in its session (see `liveAt`): index 0 is row `begin`. */
export function heldBy(events: MemoryEvents, opIds: ReadonlySet<number>): Float64Array {
  const held = new Float64Array(events.end - events.begin);
  const ofSession = new Map<number, number>();
  for (let i = events.begin; i < events.end; i++) {
    if (events.isFree[i] || !opIds.has(events.op[i])) continue;
    held[i - events.begin] += events.allocated[i];
    if (events.freedAt[i] >= 0) held[events.freedAt[i] - events.begin] -= events.allocated[i];
  }
  for (let k = 0; k < held.length; k++) {
    const session = events.session[events.begin + k];
    held[k] += ofSession.get(session) ?? 0;
    ofSession.set(session, held[k]);
  }
  return held;
}

const UNITS: readonly [number, string][] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

/** The unit in which a column or an axis up to `most` bytes reads best, and its size. */
export function byteUnit(most: number): readonly [number, string] {
  return UNITS.find(([size]) => most >= size) ?? UNITS[UNITS.length - 1];
}

/**
 * Curves whose level changes at rows and holds in between, as points: two at each change, and the last level at `t1`.
 * A row before the window begins at `t0`, as does one written `~row`. `time` is in ms; `zero` is the base line.
 */
export function stepCurves(
  rows: Int32Array,
  t0: number,
  t1: number,
  levels: Readonly<Record<string, (row: number) => number>>,
  times: ArrayLike<number>,
): Record<string, Float64Array> {
  const n = rows.length === 0 ? 0 : rows.length * 2;
  const curves: Record<string, Float64Array> = { time: new Float64Array(n), zero: new Float64Array(n) };
  rows.forEach((row, k) => {
    const next = k + 1 < rows.length ? times[rows[k + 1]] : t1;
    curves.time[k * 2] = Math.max(t0, row < 0 ? t0 : times[row]) / 1e9;
    curves.time[k * 2 + 1] = Math.max(t0, next) / 1e9;
  });
  for (const [name, level] of Object.entries(levels)) {
    const curve = new Float64Array(n);
    rows.forEach((row, k) => {
      curve[k * 2] = level(row);
      curve[k * 2 + 1] = curve[k * 2];
    });
    curves[name] = curve;
  }
  return curves;
}
