/** Turns a row into the gaps between its events, with running totals: how often and how long a stream waits in a window. */
import { lowerBound } from "./bisect";
import type { Rows } from "./events";
import { timeInside } from "./sessions";
import type { Span } from "./viewport";

export interface Gaps {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Length of the gaps before; one entry more than gaps. */
  readonly total: Float64Array;
}

/** Gaps of a row longer than `leastPs`, without those in which nothing was captured. */
export function findGaps(rows: Rows, row: number, leastPs: number, uncaptured: readonly Span[]): Gaps {
  const found: number[] = [];
  for (let p = rows.offset[row] + 1; p < rows.offset[row + 1]; p++) {
    const isLong = rows.start[p] - rows.end[p - 1] > leastPs;
    if (isLong && timeInside(uncaptured, { t0: rows.end[p - 1], t1: rows.start[p] }) === 0) found.push(p);
  }
  const start = Float64Array.from(found, (p) => rows.end[p - 1]);
  const end = Float64Array.from(found, (p) => rows.start[p]);
  const total = new Float64Array(found.length + 1);
  for (let i = 0; i < found.length; i++) total[i + 1] = total[i] + end[i] - start[i];
  return { start, end, total };
}

/** Number and mean length of the gaps that begin in a window. */
export function gapsIn(gaps: Gaps, window: Span): { count: number; meanPs: number } {
  const low = lowerBound(gaps.start, window.t0);
  const high = lowerBound(gaps.start, window.t1, low);
  const count = high - low;
  return { count, meanPs: count > 0 ? (gaps.total[high] - gaps.total[low]) / count : 0 };
}
