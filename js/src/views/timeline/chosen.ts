/** Turns what the reader selected into the events that have it. */

import type { TraceData } from "../../host/data";
import { type Events, firstVisible } from "../../model/events/events";
import type { Flags, Marks } from "../../model/events/marks";
import type { Shares } from "../../model/ops/op_shares";
import type { Span } from "../../model/time/viewport";
import { lowerBound } from "../../model/wire/bisect";
import { columns } from "../../model/wire/column";
import type { TraceMeta } from "../../model/wire/meta";

/** An event is selected by the name of its op, else by its own. */
export function flagsOfKeys(meta: TraceMeta, ids: ArrayLike<number>): Flags {
  const names = new Uint8Array(meta.names.length);
  for (let k = 0; k < ids.length; k++) names[ids[k]] = 1;
  return { names, ops: Uint8Array.from(meta.op_name, (name) => names[name]) };
}

/** One flag per name id: whether slices are selected by it. */
export function drawnKeys(data: TraceData, shares: Shares): Uint8Array {
  const { meta } = data;
  const isDrawn = new Uint8Array(meta.names.length);
  const count = data.table("names")?.columns.count;
  if (count) for (let id = 0; id < count.length; id++) isDrawn[id] = count[id] > 0 ? 1 : 0;
  for (const unit of unitsThatRan(data)) {
    // A slice of a compiled program has the name of the op that it is most of.
    const op = shares.isEmpty ? unit : (shares.ofUnit(unit)[0]?.op ?? -1);
    if (op >= 0) isDrawn[meta.op_name[op]] = 1;
  }
  return isDrawn;
}

/** Units with executions; where nothing is known of that, all. */
function unitsThatRan(data: TraceData): number[] {
  const totals = data.table("unit_totals");
  if (!totals) return Array.from({ length: data.meta.n_units ?? data.meta.op_name.length }, (_, unit) => unit);
  const [unit, occurrences] = columns(totals, "unit", "occurrences");
  return Array.from(unit).filter((_, i) => occurrences[i] > 0);
}

/** Of the first marked events of each row in a span the longest, -1 for none; "seen" when one is in a row that is. */
export function longestMarked(
  events: Events,
  marks: Marks,
  span: Span,
  isSeen: (row: number) => boolean,
): number | "seen" {
  let longest = -1;
  for (let k = events.runAt(span.t0); k < events.runs.length && events.runs[k].span.t0 < span.t1; k++) {
    const run = events.runs[k];
    for (let row = 0; row < events.rows.n; row++) {
      const low = firstVisible(run, row, span.t0);
      const high = lowerBound(run.times.start, span.t1, low, run.high[row]);
      let found = -1;
      if (!run.isSample) found = marks.next(low, high);
      else for (let i = low; i < high && found < 0; i++) if (marks.has(run.positionOf(i))) found = run.positionOf(i);
      if (found < 0) continue;
      if (isSeen(row)) return "seen";
      if (longest < 0 || events.duration[found] > events.duration[longest]) longest = found;
    }
  }
  return longest;
}
