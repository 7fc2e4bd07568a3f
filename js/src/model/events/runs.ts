/**
 * Turns loaded tiles and the sample into runs: spans of time, each drawn from one source.
 *
 * A tile is a window of time, so of every row it holds some positions that follow each other; neighbouring tiles hold
 * neighbouring positions. Hence any number of neighbouring loaded tiles is one run, which is no more than the first and
 * last position of each row in the columns of all events.
 */

import type { Span } from "../time/viewport";
import { gallop, lowerBound, lowerBoundNear, upperBound } from "../wire/bisect";
import type { Rows } from "./rows";

export interface Times {
  readonly start: Float64Array;
  readonly duration: Float64Array;
  /** Time that the events of the row cover from some moment to the end of this one: only differences mean something. */
  readonly covered: Float64Array;
  /** Start of each block of 64 positions, so that a search over millions stays in the cache; null where there are few. */
  readonly coarse: Float64Array | null;
}

/** A span of time that is drawn from one source: all its events, or the sample of them. */
export interface Run {
  /** Events belong to the run in whose span they start; spans of neighbours touch. */
  readonly span: Span;
  readonly isSample: boolean;
  readonly times: Times;
  /** By row: its events here are those of the indices [low[row], high[row]) of `times`. */
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  /** Tiles [first, last] of the run. */
  readonly firstTile: number;
  readonly lastTile: number;
  /** Position of an index of `times`. */
  positionOf(index: number): number;
}

/** Positions per entry of `coarse`, as a power of 2. */
const COARSE_BITS = 6;

export function newCoarse(n: number): Float64Array {
  return new Float64Array((n >> COARSE_BITS) + 1);
}

/** Takes what arrived at the positions [from, to). */
export function coarsen(coarse: Float64Array, start: Float64Array, from: number, to: number) {
  for (let block = Math.ceil(from / (1 << COARSE_BITS)); block << COARSE_BITS < to; block++) {
    coarse[block] = start[block << COARSE_BITS];
  }
}

/** First index after `index` of a row that starts at `time` or later; `high` when there is none. */
export function nextFrom({ start, coarse }: Times, time: number, index: number, high: number): number {
  if (!coarse) return gallop(start, time, index, high);
  const last = (high - 1) >> COARSE_BITS;
  const own = index >> COARSE_BITS;
  const near = own + 1;
  const block = near > last || coarse[near] >= time ? near : gallop(coarse, time, near, last + 1);
  const low = Math.max(index, ((block - 1) << COARSE_BITS) + 1);
  const end = Math.min(high, block << COARSE_BITS);
  if (end <= low) return end;
  // Events are spread evenly enough that the proportion of times leads near the answer, within one line of the cache.
  const from = block - 1 === own ? start[index] : coarse[block - 1];
  const to = block <= last ? coarse[block] : start[high - 1];
  const guess = to > from ? low + Math.floor(((time - from) / (to - from)) * (end - low)) : low;
  return lowerBoundNear(start, time, Math.max(low, Math.min(end - 1, guess)), low, end);
}

/** When the event at an index ends, cut where the next of the row and run starts (an event that another outlives). */
export function endAt(run: Run, row: number, index: number): number {
  const { start, duration } = run.times;
  const end = start[index] + duration[index];
  return index + 1 < run.high[row] ? Math.min(end, start[index + 1]) : end;
}

/** Time that the events at the indices [from, to) of a row cover. */
export function coverOf(run: Run, row: number, from: number, to: number): number {
  if (to <= from) return 0;
  const { start, covered } = run.times;
  return covered[to - 1] - covered[from] + endAt(run, row, from) - start[from];
}

/** First index of the row whose event ends after `time` (or starts after it). */
export function firstVisible(run: Run, row: number, time: number): number {
  const low = run.low[row];
  const index = upperBound(run.times.start, time, low, run.high[row]);
  return index > low && endAt(run, row, index - 1) > time ? index - 1 : index;
}

/** Time that the slices of a row of one run cover between two moments. */
export function coveredIn(run: Run, row: number, t0: number, t1: number): number {
  const { start, duration } = run.times;
  const from = firstVisible(run, row, t0);
  const to = lowerBound(start, t1, from, run.high[row]);
  if (to <= from) return 0;
  const head = Math.max(0, t0 - start[from]);
  const tail = Math.max(0, start[to - 1] + duration[to - 1] - t1);
  return Math.max(0, coverOf(run, row, from, to) - head - tail);
}

/** The sample: some events of every row, in the order of positions. */
export interface Sample {
  readonly times: Times;
  readonly position: ArrayLike<number>;
  /** Indices of row r: [offset[r], offset[r + 1]). */
  readonly offset: Uint32Array;
}

export function newSample(
  start: Float64Array,
  duration: Float64Array,
  position: ArrayLike<number>,
  rows: Rows,
): Sample {
  const covered = new Float64Array(start.length);
  const offset = new Uint32Array(rows.n + 1);
  for (let row = 0; row < rows.n; row++) {
    const low = offset[row];
    const high = lowerBound(position, rows.offset[row + 1], low);
    offset[row + 1] = high;
    sumCovered({ start, duration, covered, coarse: null }, low, high);
  }
  return { times: { start, duration, covered, coarse: null }, position, offset };
}

/** Fills `covered` of the indices [low, high), which follow each other in one row; counts from `base`. */
export function sumCovered({ start, duration, covered }: Times, low: number, high: number, base = 0) {
  let time = base;
  for (let i = low; i < high; i++) {
    time += i + 1 < high ? Math.min(duration[i], start[i + 1] - start[i]) : duration[i];
    covered[i] = time;
  }
}

export function sampleRun(sample: Sample, rows: Rows, span: Span, firstTile: number, lastTile: number): Run {
  const low = new Uint32Array(rows.n);
  const high = new Uint32Array(rows.n);
  const { times, position, offset } = sample;
  for (let row = 0; row < rows.n; row++) {
    low[row] = lowerBound(times.start, span.t0, offset[row], offset[row + 1]);
    high[row] = lowerBound(times.start, span.t1, low[row], offset[row + 1]);
  }
  const positionOf = (index: number) => position[index];
  return { span, isSample: true, times, low, high, firstTile, lastTile, positionOf };
}

const itself = (index: number) => index;

/** A run of loaded tiles: its indices are positions. */
export function loadedRun(
  times: Times,
  low: Uint32Array,
  high: Uint32Array,
  span: Span,
  firstTile: number,
  lastTile: number,
): Run {
  return { span, isSample: false, times, low, high, firstTile, lastTile, positionOf: itself };
}
