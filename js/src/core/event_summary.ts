/** Turns one event, or all events of one key, into the figures of the details pane. */
import { type Events, endOfSubtree, type Postings } from "./events";
import type { Span } from "./viewport";

export interface KeySummary {
  readonly count: number;
  /** Within the span. */
  readonly totalPs: number;
  /** Event that took longest, -1 for none. */
  readonly longest: number;
}

/** Events of a key that overlap a span (all of them without one), and their time in it: the rule of the op table. */
export function summarizeKey(
  events: Events,
  byKey: Postings,
  id: number,
  span: Span | null,
  /** Leaves out what would count the same work twice: other sides of an op, derived lines. */
  counts: (event: number) => boolean = () => true,
): KeySummary {
  let count = 0;
  let totalPs = 0;
  let longest = -1;
  for (let p = byKey.offset[id]; p < byKey.offset[id + 1]; p++) {
    const event = byKey.order[p];
    if ((span && !overlaps(events, event, span)) || !counts(event)) continue;
    count += 1;
    totalPs += span ? overlapPs(events, event, span) : events.duration[event];
    if (longest < 0 || events.duration[event] > events.duration[longest]) longest = event;
  }
  return { count, totalPs, longest };
}

function overlapPs(events: Events, event: number, span: Span): number {
  const start = events.start[event];
  return Math.min(start + events.duration[event], span.t1) - Math.max(start, span.t0);
}

/** A zero-length event overlaps when it lies inside. */
function overlaps(events: Events, event: number, span: Span): boolean {
  const start = events.start[event];
  return start < span.t1 && (start + events.duration[event] > span.t0 || start === span.t0);
}

export interface InsideRow {
  /** Name id. */
  readonly name: number;
  readonly count: number;
  readonly selfPs: number;
}

/** Self time inside an event (itself included) by name, largest first. */
export function insideOf(events: Events, event: number): InsideRow[] {
  const counts = new Map<number, number>();
  const selfs = new Map<number, number>();
  const stop = endOfSubtree(events, event);
  for (let k = event; k < stop; k++) {
    const name = events.name[k];
    counts.set(name, (counts.get(name) ?? 0) + 1);
    selfs.set(name, (selfs.get(name) ?? 0) + events.self[k]);
  }
  return [...counts]
    .map(([name, count]) => ({ name, count, selfPs: selfs.get(name) ?? 0 }))
    .sort((a, b) => b.selfPs - a.selfPs || b.count - a.count);
}

/** Time of a key in each step, ps; NaN for steps without it. Empty when its events belong to no step. */
export function timePerStep(
  events: Events,
  byKey: Postings,
  id: number,
  nSteps: number,
  counts: (event: number) => boolean = () => true,
): Float64Array {
  const times = new Float64Array(nSteps).fill(Number.NaN);
  let hasAny = false;
  for (let p = byKey.offset[id]; p < byKey.offset[id + 1]; p++) {
    const event = byKey.order[p];
    const step = events.step[event];
    if (step < 0 || step >= nSteps || !counts(event)) continue;
    times[step] = (Number.isNaN(times[step]) ? 0 : times[step]) + events.duration[event];
    hasAny = true;
  }
  return hasAny ? times : new Float64Array();
}

/** Durations of at most `limit` evenly chosen events of a key. */
export function sampleDurations(events: Events, byKey: Postings, id: number, limit: number): Float64Array {
  const low = byKey.offset[id];
  const n = byKey.offset[id + 1] - low;
  const stride = Math.max(1, Math.ceil(n / limit));
  const found = new Float64Array(Math.ceil(n / stride));
  for (let k = 0; k < found.length; k++) found[k] = events.duration[byKey.order[low + k * stride]];
  return found;
}

/** The event in `events` that is the same as event `old` of an earlier, smaller table; -1 when it is not there. */
export function findSame(events: Events, old: { line: number; start: number; name: number }): number {
  let low = 0;
  let high = events.n;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const isBefore =
      events.line[middle] < old.line || (events.line[middle] === old.line && events.start[middle] < old.start);
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  for (let k = low; k < events.n && events.line[k] === old.line && events.start[k] === old.start; k++) {
    if (events.name[k] === old.name) return k;
  }
  return -1;
}
