/** Turns what the reader typed into the names it matches, and walks marked events in the order of time without sorting them. */
import { lowerBound, upperBound } from "../wire/bisect";
import type { Events, Run } from "./events";
import type { Marks } from "./marks";

export interface Query {
  readonly text: string;
  readonly isRegex: boolean;
  /** Names must be the text as a whole. */
  readonly isWhole?: boolean;
}

export const NO_QUERY: Query = { text: "", isRegex: false };

/** One flag per name id. Throws a SyntaxError for a regular expression that is none. */
export function matchNames(names: readonly string[], query: Query): Uint8Array {
  const flags = new Uint8Array(names.length);
  if (query.text === "") return flags;
  if (query.isRegex) {
    const pattern = new RegExp(query.text, "i");
    for (let k = 0; k < names.length; k++) if (pattern.test(names[k])) flags[k] = 1;
    return flags;
  }
  if (query.isWhole) {
    for (let k = 0; k < names.length; k++) if (names[k] === query.text) flags[k] = 1;
    return flags;
  }
  const text = query.text.toLowerCase();
  for (let k = 0; k < names.length; k++) if (names[k].toLowerCase().includes(text)) flags[k] = 1;
  return flags;
}

/** Ids whose flag is set. */
export function flagged(flags: Uint8Array): Int32Array {
  const ids: number[] = [];
  for (let k = flags.indexOf(1); k >= 0; k = flags.indexOf(1, k + 1)) ids.push(k);
  return Int32Array.from(ids);
}

/** Sum of the counts of flagged names: how many events of the whole capture match, here or not. */
export function countFlagged(flags: Uint8Array, counts: ArrayLike<number>): number {
  let n = 0;
  for (let k = 0; k < flags.length; k++) if (flags[k] === 1) n += counts[k] ?? 0;
  return n;
}

/** A place in the order of time: events that start together follow each other by position. */
export interface Moment {
  readonly time: number;
  readonly position: number;
}

/** The next (1) or previous (-1) marked event after a moment, in the order of time over all rows; wraps around; -1 for none. */
export function nextMarked(events: Events, marks: Marks, from: Moment, direction: 1 | -1): number {
  const { runs } = events;
  const start = Math.min(runs.length - 1, events.runAt(from.time));
  // The run of the moment comes once more at the end, for what lies on the other side of the moment.
  for (let k = 0; k <= runs.length; k++) {
    const run = runs[(((start + direction * k) % runs.length) + runs.length) % runs.length];
    const edge = direction === 1 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    const found = firstOfRun(marks, run, k === 0 ? from : { time: edge, position: -1 }, direction);
    if (found >= 0) return found;
  }
  return -1;
}

/** The marked event of a run that is the next after a moment. */
function firstOfRun(marks: Marks, run: Run, from: Moment, direction: 1 | -1): number {
  let best = -1;
  let bestTime = direction * Number.POSITIVE_INFINITY;
  for (let row = 0; row < run.low.length; row++) {
    if (run.high[row] === run.low[row]) continue;
    const [low, high] = direction === 1 ? after(run, row, from, bestTime) : before(run, row, from, bestTime);
    const index = markedIndex(marks, run, low, high, direction);
    if (index < 0) continue;
    const time = run.times.start[index];
    // Of those that start together the first row comes first, and the last row last.
    if (best >= 0 && (direction === 1 ? time >= bestTime : time < bestTime)) continue;
    best = run.positionOf(index);
    bestTime = time;
  }
  return best;
}

/** Indices of a row that come after a moment and start no later than `limit`. */
function after(run: Run, row: number, from: Moment, limit: number): readonly [low: number, high: number] {
  const { start } = run.times;
  const high = upperBound(start, limit, run.low[row], run.high[row]);
  let low = lowerBound(start, from.time, run.low[row], high);
  while (low < high && start[low] === from.time && run.positionOf(low) <= from.position) low += 1;
  return [low, high];
}

/** Indices of a row that come before a moment and start no earlier than `limit`. */
function before(run: Run, row: number, from: Moment, limit: number): readonly [low: number, high: number] {
  const { start } = run.times;
  const low = lowerBound(start, limit, run.low[row], run.high[row]);
  let high = upperBound(start, from.time, low, run.high[row]);
  while (high > low && start[high - 1] === from.time && run.positionOf(high - 1) >= from.position) high -= 1;
  return [low, high];
}

function markedIndex(marks: Marks, run: Run, low: number, high: number, direction: 1 | -1): number {
  if (high <= low) return -1;
  if (!run.isSample) return direction === 1 ? marks.next(low, high) : marks.previous(low, high);
  if (direction === 1) {
    for (let i = low; i < high; i++) if (marks.has(run.positionOf(i))) return i;
  } else {
    for (let i = high - 1; i >= low; i--) if (marks.has(run.positionOf(i))) return i;
  }
  return -1;
}

/** How many marked events come before an event in the order of time; only where everything is here. */
export function placeOf(events: Events, marks: Marks, position: number): number {
  let n = 0;
  const from = { time: events.start[position], position };
  for (const run of events.runs) {
    if (run.span.t0 > from.time) break;
    for (let row = 0; row < run.low.length; row++) {
      if (run.high[row] === run.low[row]) continue;
      n += marks.count(run.low[row], before(run, row, from, Number.NEGATIVE_INFINITY)[1]);
    }
  }
  return n;
}
