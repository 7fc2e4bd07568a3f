/** The memory of an allocator: what is in use, its peak, who holds it, and whether it grows from step to step. */

import { columns, groupBy, lowerBound, numbers, type RangePs, type Span, upperBound } from "../data/columns";
import type { TraceMeta } from "../data/meta";
import { EMPTY_TABLE, type Table } from "../data/pack";

const COLUMNS = {
  ...{ session: "session", time: "time_ps", isFree: "is_free", requested: "requested_bytes" },
  ...{ allocated: "allocation_bytes", stack: "stack_bytes", heap: "heap_bytes", capacity: "capacity_bytes" },
  ...{ taken: "taken_bytes", piece: "largest_free_bytes", op: "op", step: "step", region: "region" },
  ...{ dtype: "dtype", shape: "shape", freedAt: "freed_at", address: "address" },
} as const;
/** What a release has of its allocation, where its op is `AS_ALLOCATED`. */
const OF_ALLOCATION = ["op", "region", "dtype", "shape", "requested", "allocated"] as const;
const AS_ALLOCATED = -2;

/**
 * The memory events of one allocator: rows [begin, end) of the table, in time order; `piece`: at most so much is free in one piece, `taken`: of
 * the device, 0 where that is not known.
 */
export interface MemoryEvents extends Readonly<Record<keyof typeof COLUMNS, ArrayLike<number>>> {
  readonly begin: number;
  readonly end: number;
}

export function memoryEvents(table: Table, allocator: number): MemoryEvents {
  const owner = numbers(table, "allocator");
  const [begin, end] = [allocator, allocator + 1].map((one) => lowerBound(owner, one, 0, table.n));
  const named = Object.entries(COLUMNS).map(([name, column]) => [name, numbers(table, column)]);
  const events = Object.fromEntries(named) as Record<keyof typeof COLUMNS, ReturnType<typeof numbers>>;
  for (const name of OF_ALLOCATION) events[name] = events[name].slice();
  for (let row = begin; row < end; row++) {
    const freedAt = events.freedAt[row];
    if (freedAt < 0 || events.op[freedAt] !== AS_ALLOCATED) continue;
    for (const name of OF_ALLOCATION) events[name][freedAt] = events[name][row];
  }
  return { begin, end, ...events };
}

/** Bytes that are free after a row. */
export function freeBytes({ capacity, stack, heap }: MemoryEvents, row: number): number {
  return capacity[row] - stack[row] - heap[row];
}

/**
 * The rows that show a window at `nColumns` pixel columns: all of them when few, else per column the first, the last and the
 * lowest and highest in use, so that no peak and no valley is lost. What holds until the first row inside comes
 * first: the last row before the window or, written `~row`, what was before that first row, where no other is.
 */
export function envelope(events: MemoryEvents, t0: number, t1: number, nColumns: number) {
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
  const { stack, heap } = events;
  let [low, high] = [from, from];
  for (let i = from + 1; i < to; i++) {
    const used = stack[i] + heap[i];
    if (used < stack[low] + heap[low]) low = i;
    if (used > stack[high] + heap[high]) high = i;
  }
  const kept = [from, low, high, to - 1].sort((a, b) => a - b);
  for (let k = 0; k < kept.length; k++) if (k === 0 || kept[k] !== kept[k - 1]) rows.push(kept[k]);
}

/**
 * The row with the most bytes in use (stack + heap) in the range, the last on ties, -1 for none; a range that starts between
 * two events holds what the earlier one left.
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
function rowsIn({ begin, end, time }: MemoryEvents, range: RangePs): readonly [from: number, to: number] {
  if (range === null) return [begin, end];
  const from = lowerBound(time, range[0], begin, end);
  return [from, lowerBound(time, range[1], from, end)];
}

/** The row whose state holds at a time: the last one at or before it; -1 before the first. */
export function rowAt(events: MemoryEvents, timePs: number): number {
  const row = upperBound(events.time, timePs, events.begin, events.end) - 1;
  return row < events.begin ? -1 : row;
}

type Counts = "count" | "allocatedBytes" | "requestedBytes";
/** Name ids; -1 unknown. `op` is -2 for the remainder and -3 for the stack. */
export type LiveGroup = Readonly<Record<"op" | "region" | "dtype" | "shape" | Counts, number>>;

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
    const [op, region, dtype, shape] = [events.op[i], events.region[i], events.dtype[i], events.shape[i]];
    const key = `${op},${region},${dtype},${shape}`;
    const group = groups.get(key) ?? { op, region, dtype, shape, count: 0, allocatedBytes: 0, requestedBytes: 0 };
    groups.set(key, group);
    group.count += 1;
    group.allocatedBytes += events.allocated[i];
    group.requestedBytes += events.requested[i];
  }
  const unknown = { region: -1, dtype: -1, shape: -1, count: 1 };
  const stack = events.stack[now];
  const rest = bytesInUse(events, row < now ? ~now : now) - stack - explained;
  const out: LiveGroup[] = [...groups.values()];
  if (rest > 0) out.push({ op: REMAINDER, ...unknown, allocatedBytes: rest, requestedBytes: rest });
  if (stack > 0) out.push({ op: STACK, ...unknown, allocatedBytes: stack, requestedBytes: stack });
  return out.sort((a, b) => b.allocatedBytes - a.allocatedBytes);
}

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
  const free = freeBytes(events, peak);
  return free > 0 && free <= used * 8;
}

/** Bytes in use (stack + heap) after a row, or before it where it is written `~row`: what its event did is undone then. */
export function bytesInUse({ stack, heap, allocated, isFree }: MemoryEvents, row: number): number {
  if (row >= 0) return stack[row] + heap[row];
  return stack[~row] + heap[~row] + allocated[~row] * (isFree[~row] ? 1 : -1);
}

/** What the allocator may still take of its device, as far as it is known. */
export function untakenBytes({ capacity, taken }: MemoryEvents, row: number): number {
  return taken[row] > 0 ? capacity[row] - taken[row] : 0;
}

/** Whether free memory was ever in pieces smaller than the largest allocation: only then can it matter that it is in pieces. */
export function isInSmallPieces(events: MemoryEvents): boolean {
  let largest = 0;
  for (let i = events.begin; i < events.end; i++) largest = Math.max(largest, events.allocated[i]);
  for (let i = events.begin; i < events.end; i++) if (events.piece[i] + untakenBytes(events, i) < largest) return true;
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

export function byteUnit(most: number): readonly [number, string] {
  return UNITS.find(([size]) => most >= size) ?? UNITS[UNITS.length - 1];
}

/**
 * Curves that change at rows and hold in between, as points: two a change, the last level at `t1`. `time` is in ms, `zero` the
 * base line. A row before the window, or one written `~row`, begins at `t0`.
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

type StepTimes = "startPs" | "endPs" | "peakAtPs";
type StepBytes = "peakBytes" | "startBytes" | "endBytes" | "allocatedBytes";
export type MemoryStep = Readonly<Record<"step" | "session" | "nAllocations" | StepTimes | StepBytes, number>>;

function rowsBySession(events: MemoryEvents): Map<number, Int32Array> {
  const count = new Map<number, number>();
  for (let i = events.begin; i < events.end; ) {
    // A session's events come in long stretches: the map is asked once for each.
    const from = i;
    const session = events.session[i];
    while (i < events.end && events.session[i] === session) i += 1;
    count.set(session, (count.get(session) ?? 0) + i - from);
  }
  const found = new Map([...count].map(([session, n]) => [session, { rows: new Int32Array(n), n: 0 }]));
  let last = Number.NaN;
  let own: { rows: Int32Array; n: number } | undefined;
  for (let i = events.begin; i < events.end; i++) {
    if (events.session[i] !== last) {
      last = events.session[i];
      own = found.get(last);
    }
    if (own) own.rows[own.n++] = i;
  }
  return new Map([...found].map(([session, { rows }]) => [session, rows]));
}

/** One entry per step of a session in which the allocator reports; an event at a border belongs to the later step. */
export function memorySteps(events: MemoryEvents, steps: Table): MemoryStep[] {
  const [session, start, duration] = columns(steps, "session", "start_ps", "duration_ps");
  const known = [...rowsBySession(events)].map(([key, rows]) => [key, { rows, times: timesOf(events, rows) }] as const);
  const sessions = new Map(known);
  const found: MemoryStep[] = [];
  for (let step = 0; step < steps.n; step++) {
    const own = sessions.get(session[step]);
    if (own === undefined) continue;
    const end = start[step] + duration[step];
    const first = lowerBound(own.times, start[step], 0, own.times.length);
    const last = lowerBound(own.times, end, first, own.times.length);
    const inside = span(events, own.rows, first, last, start[step]);
    found.push({ step, session: session[step], startPs: start[step], endPs: end, ...inside });
  }
  return found;
}

function timesOf({ time }: MemoryEvents, rows: Int32Array): Float64Array {
  return Float64Array.from(rows, (row) => time[row]);
}

/** The level after `k` of the session's rows; before the first one, that one is undone. */
function levelAfter(events: MemoryEvents, rows: Int32Array, k: number): number {
  return bytesInUse(events, k > 0 ? rows[k - 1] : ~rows[0]);
}

function span(events: MemoryEvents, rows: Int32Array, first: number, last: number, startPs: number) {
  const startBytes = levelAfter(events, rows, first);
  let [peakBytes, peakAtPs, nAllocations, allocatedBytes] = [startBytes, startPs, 0, 0];
  for (let k = first; k < last; k++) {
    const row = rows[k];
    const level = events.stack[row] + events.heap[row];
    if (level >= peakBytes) [peakBytes, peakAtPs] = [level, events.time[row]];
    if (events.isFree[row]) continue;
    nAllocations += 1;
    allocatedBytes += events.allocated[row];
  }
  return { peakBytes, peakAtPs, startBytes, endBytes: levelAfter(events, rows, last), nAllocations, allocatedBytes };
}

/** Steps after which an allocation of a step counts as not given back. */
export const AFTER_STEPS = 2;

type UnfreedBytes = "allocatedBytes" | "bytesPerStep" | "heldBytes";
/** `op`: a name id, -1 unknown; `heldBytes`: the part not given back until the session ends. */
export type Unfreed = Readonly<Record<"op" | "nAllocations" | "nSteps" | UnfreedBytes, number>>;

/** Allocations of a step still held at the end of the step `afterSteps` later, by op; most held first. */
export function unfreedByOp(events: MemoryEvents, steps: readonly MemoryStep[], afterSteps = AFTER_STEPS): Unfreed[] {
  const due = new Map<number, { readonly session: number; readonly endPs: number }>();
  for (const part of groupBy(steps, ({ session }) => session).values()) {
    for (let i = 0; i + afterSteps < part.length; i++) {
      due.set(part[i].step, { session: part[i].session, endPs: part[i + afterSteps].endPs });
    }
  }
  const stepsOfOp = new Map<number, Set<number>>();
  const rows = new Map<number, { -readonly [K in keyof Unfreed]: Unfreed[K] }>();
  const dueSteps = new Set<number>();
  for (let i = events.begin; i < events.end; i++) {
    const deadline = due.get(events.step[i]);
    if (deadline === undefined || deadline.session !== events.session[i]) continue;
    dueSteps.add(events.step[i]);
    if (events.isFree[i]) continue;
    const freedAt = events.freedAt[i];
    if (freedAt >= 0 && events.time[freedAt] <= deadline.endPs) continue;
    const op = events.op[i];
    const row = rows.get(op) ?? { op, nAllocations: 0, nSteps: 0, allocatedBytes: 0, bytesPerStep: 0, heldBytes: 0 };
    rows.set(op, row);
    row.nAllocations += 1;
    row.allocatedBytes += events.allocated[i];
    if (freedAt < 0) row.heldBytes += events.allocated[i];
    const own = stepsOfOp.get(op) ?? new Set<number>();
    stepsOfOp.set(op, own.add(events.step[i]));
  }
  for (const row of rows.values()) {
    row.nSteps = stepsOfOp.get(row.op)?.size ?? 0;
    row.bytesPerStep = row.allocatedBytes / Math.max(1, dueSteps.size);
  }
  return [...rows.values()].sort((a, b) => b.heldBytes - a.heldBytes || b.allocatedBytes - a.allocatedBytes);
}

/** The part of a window in which more than a little of what changes is in use; null where nothing changes. */
export function busySpan(events: MemoryEvents, range: readonly [number, number]): Span | null {
  const [from, to] = rowsIn(events, range);
  const level = (row: number) => events.stack[row] + events.heap[row];
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (let i = from; i < to; i++) [least, most] = [Math.min(least, level(i)), Math.max(most, level(i))];
  if (!(most > least)) return null;
  let [t0, t1] = [Number.POSITIVE_INFINITY, 0];
  for (let i = from; i < to; i++) {
    if (level(i) <= least + (most - least) * LITTLE_RATIO) continue;
    t0 = Math.min(t0, events.time[i]);
    t1 = i + 1 < to ? events.time[i + 1] : range[1];
  }
  return { t0, t1 };
}

const LITTLE_RATIO = 0.05;

export type HeldBy = "op" | "layer" | "line";

export interface Held {
  readonly name: string;
  readonly groups: readonly LiveGroup[];
}

/** How TensorFlow calls what runs eagerly; its allocations are without it. */
const EAGER = "eager/";

/** For each name of an op in the memory events where it belongs, "" where that is not known. */
export class OpPlaces {
  readonly #ops = new Map<string, number>();
  readonly #layers: ReadonlyMap<string, string>;
  readonly #of: Readonly<Record<Exclude<HeldBy, "op">, (op: number) => string>>;

  constructor(
    readonly meta: TraceMeta,
    places: Table = EMPTY_TABLE,
  ) {
    const [layer, line] = [numbers(places, "layer"), numbers(places, "line")];
    for (let op = 0; op < meta.op_name.length; op++) this.#ops.set(meta.names[meta.op_name[op]], op);
    const layers = meta.layers ?? [];
    this.#layers = new Map(layers.flatMap(({ layer, allocating = [] }) => allocating.map((name) => [name, layer])));
    this.#of = { layer: (op) => meta.layers?.[layer[op]]?.layer ?? "", line: (op) => lineOf(meta, line[op]) };
  }

  of(name: string, by: Exclude<HeldBy, "op">): string {
    const known = by === "layer" && this.#layers.get(name);
    if (known) return known;
    const op = this.#opOf(name);
    return op === undefined ? "" : this.#of[by](op);
  }

  /** Number of the family of an op; undefined where it is not known. */
  familyOf(name: string): number | undefined {
    const op = this.#opOf(name);
    return op === undefined ? undefined : this.meta.op_family[op];
  }

  #opOf(name: string): number | undefined {
    return this.#ops.get(name) ?? this.#ops.get(`${EAGER}${name}`);
  }
}

function lineOf({ source_lines, source_files }: TraceMeta, index: number): string {
  const line = source_lines?.[index];
  if (!line) return "";
  const file = source_files?.[line.file];
  return file ? `${file.title}:${line.line}  ${line.code.trim()}` : line.bucket;
}

export function together(groups: readonly LiveGroup[], nameOf: (group: LiveGroup) => string): Held[] {
  const held = [...groupBy(groups, nameOf)].map(([name, own]) => ({ name, groups: own }));
  const bytesOf = ({ groups: own }: Held) => own.reduce((bytes, { allocatedBytes }) => bytes + allocatedBytes, 0);
  return held.sort((a, b) => bytesOf(b) - bytesOf(a));
}

/** ps from the allocation at `row` until it is given back; Infinity where that is not in its session. */
export function lifetimePs(events: MemoryEvents, row: number): number {
  const freedAt = events.freedAt[row];
  return freedAt < 0 ? Number.POSITIVE_INFINITY : events.time[freedAt] - events.time[row];
}
