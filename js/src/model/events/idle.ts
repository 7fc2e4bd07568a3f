/** Turns a row into the gaps between its events, with running totals: how often and how long a stream waits in a window. */

import { timeInside } from "../time/sessions";
import type { Span } from "../time/viewport";
import { lowerBound } from "../wire/bisect";
import { type Events, endAt } from "./events";
import type { Run } from "./runs";

/** Events that are looked at together. */
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

/** Number and mean length of the gaps that begin in a window. */
export function gapsIn(gaps: Gaps, window: Span): { count: number; meanPs: number } {
  const low = lowerBound(gaps.start, window.t0);
  const high = lowerBound(gaps.start, window.t1, low);
  const count = high - low;
  return { count, meanPs: count > 0 ? (gaps.total[high] - gaps.total[low]) / count : 0 };
}
