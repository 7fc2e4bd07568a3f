/** What a row of events tells (the event at a moment, gaps, how long it works on one step, layer or op), and arrows between events. */

import { lowerBound, type Span } from "../data/columns";
import { coverOf, type Events, endAt, parentOf, type Run, subtreeOf } from "../data/events";
import { timeInside } from "./range";

/** In the order of the numbers in the tables of flows; `Profile.flows` says what each is. */
export const FLOW_KINDS = ["launch", "producer", "pool", "tf_data", "send_recv"] as const;
export const FLOW_LABELS = ["kernel launch", "runtime hand-over", "thread pool", "tf.data element", "send / receive"];
export const FLOW_SHORT = ["launch", "runtime", "pool", "tf.data", "send/recv"];

export interface Arrow extends Readonly<Record<"from" | "to" | "kind", number>> {
  readonly hop: number;
}

export interface Chain {
  readonly arrows: readonly Arrow[];
  /** Arrows that the limit left out, at least. */
  readonly nMore: number;
  /** Ends that have not arrived, which nothing can be said of. */
  readonly nAbsent: number;
}

export const NO_CHAIN: Chain = { arrows: [], nMore: 0, nAbsent: 0 };

export type Direction = "up" | "down";

const MAX_INSIDE = 256;
const MAX_FROM_INSIDE = 12;

/**
 * The arrows next to an event, in the order of time. Up: those of the nearest event around it that has any, as a slice is run
 * when what is around it is. Down: its own and a few of the events inside it, as a launch is inside the op that launches.
 */
export function arrowsAt(events: Events, position: number, direction: Direction, shown: ArrayLike<number>): Arrow[] {
  const found = direction === "up" ? arrowsUp(events, position, shown) : arrowsDown(events, position, shown);
  const end = direction === "up" ? ({ from }: Arrow) => from : ({ to }: Arrow) => to;
  const time = (arrow: Arrow) => (events.has(end(arrow)) ? events.start[end(arrow)] : Number.POSITIVE_INFINITY);
  return found.sort((a, b) => time(a) - time(b) || end(a) - end(b));
}

function arrowsUp(events: Events, position: number, shown: ArrayLike<number>): Arrow[] {
  for (let at = position; at >= 0; at = parentOf(events, at)) {
    const flows = events.flowsTo(at).filter(({ kind }) => shown[kind]);
    if (flows.length > 0) return flows.map(({ other, kind }) => ({ from: other, to: at, kind, hop: 1 }));
  }
  return [];
}

function arrowsDown(events: Events, position: number, shown: ArrayLike<number>): Arrow[] {
  const arrowsOf = (from: number) =>
    events.flowsFrom(from).flatMap(({ other, kind }) => (shown[kind] ? [{ from, to: other, kind, hop: 1 }] : []));
  const own = arrowsOf(position);
  const inside: Arrow[] = [];
  let looked = 0;
  for (const { low, high } of subtreeOf(events, position)) {
    for (let p = low; p < high && looked < MAX_INSIDE && inside.length < MAX_FROM_INSIDE; p++, looked++) {
      if (p !== position) inside.push(...arrowsOf(p));
    }
  }
  return [...own, ...inside.slice(0, MAX_FROM_INSIDE)];
}

export function chainOf(events: Events, position: number, shown: ArrayLike<number>, most: number): Chain {
  const up = walk(events, position, "up", shown, most);
  const down = walk(events, position, "down", shown, most);
  const arrows = [...up.arrows, ...down.arrows];
  return { arrows, nMore: up.nMore + down.nMore, nAbsent: up.nAbsent + down.nAbsent };
}

function walk(events: Events, from: number, direction: Direction, shown: ArrayLike<number>, most: number): Chain {
  const arrows: Arrow[] = [];
  const seen = new Set([from]);
  const drawn = new Set<string>();
  let front = [from];
  let [nMore, nAbsent] = [0, 0];
  for (let hop = 1; front.length > 0 && nMore === 0; hop++) {
    const next: number[] = [];
    for (const position of front) {
      for (const arrow of arrowsAt(events, position, direction, shown)) {
        const key = `${arrow.from}>${arrow.to}`;
        const end = direction === "up" ? arrow.from : arrow.to;
        if (drawn.has(key)) continue;
        drawn.add(key);
        if (!events.has(end)) nAbsent += 1;
        else if (arrows.length === most) nMore += 1;
        else {
          arrows.push({ ...arrow, hop });
          if (!seen.has(end)) next.push(end);
          seen.add(end);
        }
      }
    }
    front = next;
  }
  return { arrows, nMore, nAbsent };
}

/** Where a key leads from an event: the first one that made it start, or the first that it made start; -1 for nowhere. */
export function follow(events: Events, position: number, direction: Direction, shown: ArrayLike<number>): number {
  for (const { from, to } of arrowsAt(events, position, direction, shown)) {
    const end = direction === "up" ? from : to;
    if (events.has(end)) return end;
  }
  return -1;
}

/** Part of all events. */
const MORE_RATIO = 0.1;

export class RowFindings<T> {
  readonly #known = new Map<number, { readonly found: T; readonly nLoaded: number }>();

  constructor(
    readonly events: Events,
    readonly find: (row: number) => T,
  ) {}

  of(row: number): T {
    const { events } = this;
    const known = this.#known.get(row);
    const isOld = ({ nLoaded }: { nLoaded: number }) =>
      nLoaded < events.nLoaded && (events.isComplete || events.nLoaded - nLoaded > MORE_RATIO * events.n);
    if (known && !isOld(known)) return known.found;
    const found = this.find(row);
    this.#known.set(row, { found, nLoaded: events.nLoaded });
    return found;
  }
}

/** The last event of a row that starts before a moment, -1 for none that is here. */
export function lastBefore(events: Events, row: number, time: number): number {
  for (let k = events.runAt(time); k >= 0; k--) {
    const run = events.runs[k];
    const index = lowerBound(run.times.start, time, run.low[row], run.high[row]) - 1;
    if (index >= run.low[row]) return run.positionOf(index);
  }
  return -1;
}

/** The first event of a row that starts at or after a moment, -1 for none that is here. */
export function firstFrom(events: Events, row: number, time: number): number {
  for (let k = events.runAt(time); k < events.runs.length; k++) {
    const run = events.runs[k];
    const index = lowerBound(run.times.start, time, run.low[row], run.high[row]);
    if (index < run.high[row]) return run.positionOf(index);
  }
  return -1;
}

const BLOCK = 64;

export interface Gaps {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Length of the gaps before; one entry more than gaps. */
  readonly total: Float64Array;
}

/** Gaps of a row longer than `leastPs`, without those in which nothing was captured; only where the events are loaded. */
export function findGaps(events: Events, row: number, leastPs: number, uncaptured: readonly Span[]): Gaps {
  const starts: number[] = [];
  const ends: number[] = [];
  for (const run of events.runs) {
    if (run.isSample) continue;
    for (let p = run.low[row] + 1; p < run.high[row]; p++) {
      while (isBusy(run, row, p, leastPs)) p += BLOCK;
      if (p >= run.high[row]) break;
      const t0 = endAt(run, row, p - 1);
      const t1 = events.start[p];
      if (t1 - t0 <= leastPs || timeInside(uncaptured, { t0, t1 }) > 0) continue;
      starts.push(t0);
      ends.push(t1);
    }
  }
  const total = new Float64Array(starts.length + 1);
  for (let i = 0; i < starts.length; i++) total[i + 1] = total[i] + ends[i] - starts[i];
  return { start: Float64Array.from(starts), end: Float64Array.from(ends), total };
}

/** Whether the events at the next `BLOCK` indices leave so little time free that no gap of theirs is long. */
function isBusy(run: Run, row: number, index: number, leastPs: number): boolean {
  const last = index + BLOCK - 1;
  if (last >= run.high[row]) return false;
  const { start, covered } = run.times;
  const idle = start[last] - endAt(run, row, index - 1) - (covered[last - 1] - covered[index - 1]);
  return idle < leastPs / 2;
}

export function gapsIn(gaps: Gaps, window: Span): { count: number; meanPs: number } {
  const low = lowerBound(gaps.start, window.t0);
  const high = lowerBound(gaps.start, window.t1, low);
  const count = high - low;
  return { count, meanPs: count > 0 ? (gaps.total[high] - gaps.total[low]) / count : 0 };
}

/** From the outermost to the innermost. */
export const LEVELS = ["steps", "layers", "ops"] as const;
export type LevelName = (typeof LEVELS)[number];

/** In the order of time; spans do not overlap. */
export interface Spans {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Time that events cover in all spans before one, and last in all of them. */
  readonly busy: Float64Array;
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/** Of the events that are here. `partOf`: what an event is part of, negative for nothing; another step is another span. */
export function findSpans(events: Events, row: number, partOf: (position: number) => number): Spans {
  const [start, end, busy, first, last]: number[][] = [[], [], [0], [], []];
  for (const run of events.runs) {
    // Between the events of a sample may be any others.
    if (run.isSample) continue;
    const high = run.high[row];
    for (let from = run.low[row], to = from; from < high; from = to) {
      const [part, step] = [partOf(from), events.step[from]];
      for (to = from + 1; to < high && partOf(to) === part && events.step[to] === step; ) to += 1;
      if (part < 0) continue;
      start.push(events.start[from]);
      end.push(endAt(run, row, to - 1));
      busy.push(busy[busy.length - 1] + coverOf(run, row, from, to));
      first.push(from);
      last.push(to - 1);
    }
  }
  const [starts, ends, sums] = [start, end, busy].map((values) => Float64Array.from(values));
  return { start: starts, end: ends, busy: sums, first: Int32Array.from(first), last: Int32Array.from(last) };
}
