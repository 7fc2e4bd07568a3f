/** Turns an event or a span into the events inside or around it: binary searches in the rows, no scans. */

import type { Span } from "../time/viewport";
import { lowerBound, upperBound } from "../wire/bisect";
import type { Events } from "./events";
import { endAt, firstVisible } from "./runs";

/** Events of one row that follow each other: positions [low, high). */
export interface Interval {
  readonly row: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The events of a row that are on at a moment and began before the run `at` of that moment: at most one, as an index of
 * `runs` and one of its times. Events of a row follow each other, and those that cross the edge of a tile are all in the
 * sample: so it is the last one before, or none.
 */
export function carriedIn(
  events: Events,
  at: number,
  row: number,
  time: number,
): { run: number; index: number } | null {
  for (let k = at - 1; k >= 0; k--) {
    const run = events.runs[k];
    const index = run.high[row] - 1;
    if (index < run.low[row]) continue;
    return endAt(run, row, index) > time ? { run: k, index } : null;
  }
  return null;
}

/** Loaded events that overlap a span, by row; what began before it included. */
export function intervals(events: Events, span: Span): Interval[] {
  const found: Interval[] = [];
  const first = events.runAt(span.t0);
  for (let row = 0; row < events.rows.n; row++) {
    const before = carriedIn(events, first, row, span.t0);
    if (before) {
      const low = events.runs[before.run].positionOf(before.index);
      if (events.isLoaded(events.tileOf(low))) found.push({ row, low, high: low + 1 });
    }
    for (let k = first; k < events.runs.length && events.runs[k].span.t0 < span.t1; k++) {
      const run = events.runs[k];
      if (run.isSample) continue;
      const low = firstVisible(run, row, span.t0);
      const high = lowerBound(events.start, span.t1, low, run.high[row]);
      if (high > low) found.push({ row, low, high });
    }
  }
  return found;
}

/** The event that encloses an event directly, -1 for none (or none that is here). */
export function parentOf(events: Events, position: number): number {
  const row = events.rowOf(position);
  if (events.rows.depth[row] === 0) return -1;
  const time = events.start[position];
  for (let k = events.runAt(time); k >= 0; k--) {
    const run = events.runs[k];
    const index = upperBound(run.times.start, time, run.low[row - 1], run.high[row - 1]) - 1;
    if (index < run.low[row - 1]) continue;
    return endAt(run, row - 1, index) > time ? run.positionOf(index) : -1;
  }
  return -1;
}

/** Positions [low, high) of the events directly inside an event; some may not be here (`has`). */
export function childrenOf(events: Events, position: number): readonly [low: number, high: number] {
  const row = events.rowOf(position) + 1;
  if (row >= events.rows.n || events.rows.line[row] !== events.rows.line[row - 1]) return [0, 0];
  const { t0, t1 } = spanOf(events, position);
  let low = -1;
  let high = -1;
  for (let k = events.runAt(t0); k < events.runs.length && events.runs[k].span.t0 < t1; k++) {
    const run = events.runs[k];
    const from = lowerBound(run.times.start, t0, run.low[row], run.high[row]);
    const to = lowerBound(run.times.start, t1, from, run.high[row]);
    if (to === from) continue;
    if (low < 0) low = run.positionOf(from);
    high = run.positionOf(to - 1) + 1;
  }
  return low < 0 ? [0, 0] : [low, high];
}

/** The event and the loaded ones inside it, at any depth, by row. */
export function subtreeOf(events: Events, position: number): Interval[] {
  const own = events.rowOf(position);
  const { rows } = events;
  const { t0, t1 } = spanOf(events, position);
  const found: Interval[] = [{ row: own, low: position, high: position + 1 }];
  for (let row = own + 1; row < rows.n && rows.line[row] === rows.line[own]; row++) {
    for (let k = events.runAt(t0); k < events.runs.length && events.runs[k].span.t0 < t1; k++) {
      const run = events.runs[k];
      if (run.isSample) continue;
      const low = lowerBound(events.start, t0, run.low[row], run.high[row]);
      const high = lowerBound(events.start, t1, low, run.high[row]);
      if (high > low) found.push({ row, low, high });
    }
  }
  return found;
}

/** From the start of an event to its end, cut where the next of its row starts. */
function spanOf(events: Events, position: number): Span {
  const t0 = events.start[position];
  const next = position + 1;
  const isCut = next < events.n && events.has(next) && events.rowOf(next) === events.rowOf(position);
  return { t0, t1: isCut ? Math.min(events.endOf(position), events.start[next]) : events.endOf(position) };
}
