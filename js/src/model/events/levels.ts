/** The events of a row -> the spans in which it works on the same step, layer or op without another one in between. */

import type { Events } from "./events";
import { coverOf, endAt } from "./runs";

/** From the outermost to the innermost. */
export const LEVELS = ["steps", "layers", "ops"] as const;
export type LevelName = (typeof LEVELS)[number];

/** In the order of time; spans do not overlap. */
export interface Spans {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Time that events cover in all spans before one, and last in all of them. */
  readonly busy: Float64Array;
  /** The first and the last event. */
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
