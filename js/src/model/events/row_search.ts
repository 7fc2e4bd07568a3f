/** Turns a row and a moment into the event there: over all runs, loaded or sampled. */
import { lowerBound } from "../wire/bisect";
import type { Events } from "./events";

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
