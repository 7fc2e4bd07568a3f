/** The tables of a pack and a time range -> what each framework op took in it. */

import { stepsOfRange } from "../time/span_text";
import type { RangePs } from "../time/viewport";
import { columns, numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import { type OpTotals, opTotals, shareTotals } from "./ops";

type Tables = (name: string) => Table | undefined;

/** Totals per framework op. */
export function rangedOps(meta: TraceMeta, table: Tables, range: RangePs): OpTotals {
  const nOps = meta.op_name.length;
  if (range === null) {
    const whole = wholeTotals(table("unit_totals"), meta);
    if (whole) return shareTotals(whole, table("op_shares"), nOps);
  }
  const totals = opTotals(table("occurrences") ?? EMPTY_TABLE, table("op_lines"), meta.n_units ?? nOps, range);
  return shareTotals(totals, table("op_shares"), nOps);
}

/** Whether any op was executed: a reduced profile has the totals without the executions. */
export function ranOps(table: Tables): boolean {
  return (table("unit_totals")?.n ?? 0) > 0 || (table("occurrences")?.n ?? 0) > 0;
}

/** Totals per unit of the whole capture as they were worked out before; null where they were not. */
export function wholeTotals(table: Table | undefined, meta: TraceMeta): OpTotals | null {
  if (!table) return null;
  const nUnits = meta.n_units ?? meta.op_name.length;
  const unit = numbers(table, "unit");
  const [total, self, count] = columns(table, "total_ps", "self_ps", "occurrences");
  const totals = [0, 1, 2].map(() => new Float64Array(nUnits));
  for (let i = 0; i < table.n; i++) {
    totals[0][unit[i]] = total[i];
    totals[1][unit[i]] = self[i];
    totals[2][unit[i]] = count[i];
  }
  const [totalPs, selfPs, occurrences] = totals;
  return { totalPs, selfPs, occurrences, idlePs: meta.idle_ps ?? [0, 0] };
}

/** Steps that figures "a step" are divided by: those a range covers when it covers nothing else, else 1. */
export function stepsInRange(steps: Table | undefined, range: RangePs): number {
  if (range === null) return Math.max(1, steps?.n ?? 0);
  const covered = stepsOfRange(steps, range);
  return covered === null ? 1 : covered[1] - covered[0] + 1;
}
