/** The tables of a pack, and a time range or the averaged steps -> what each framework op took there. */

import { stepsOfScope } from "../time/scope";
import { type Scope, STEADY } from "../time/viewport";
import { columns, numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import { type OpTotals, opTotals, shareTotals } from "./ops";

type Tables = (name: string) => Table | undefined;

/** Totals per framework op. */
export function rangedOps(meta: TraceMeta, table: Tables, scope: Scope): OpTotals {
  return shareTotals(unitTotals(meta, table, scope), table("op_shares"), meta.op_name.length);
}

/** Totals per unit. */
export function unitTotals(meta: TraceMeta, table: Tables, scope: Scope): OpTotals {
  const known = scope === STEADY ? "step_totals" : "unit_totals";
  const whole = scope === STEADY || scope === null ? wholeTotals(table(known), meta) : null;
  if (whole) return scope === STEADY ? { ...whole, idlePs: [0, 0] } : whole;
  const range = scope === STEADY ? null : scope;
  return opTotals(table("occurrences") ?? EMPTY_TABLE, table("op_lines"), meta.n_units ?? meta.op_name.length, range);
}

export interface OpsOfSteps extends OpTotals {
  /** Steps that the totals were divided by; null where they are of a time and not a step. */
  readonly nSteps: number | null;
}

/** Totals per framework op a step, where the scope is of whole steps. */
export function opsOfScope(meta: TraceMeta, table: Tables, scope: Scope): OpsOfSteps {
  const totals = rangedOps(meta, table, scope);
  const nSteps = stepsOfScope(table("steps"), scope);
  return { ...dividedTotals(totals, nSteps ?? 1), nSteps };
}

export function dividedTotals<T extends Pick<OpTotals, "totalPs" | "selfPs" | "occurrences">>(
  totals: T,
  by: number,
): T {
  if (by === 1) return totals;
  const each = (values: Float64Array) => values.map((value) => value / by);
  const [totalPs, selfPs, occurrences] = [totals.totalPs, totals.selfPs, totals.occurrences].map(each);
  return { ...totals, totalPs, selfPs, occurrences };
}

/** The same without ops whose time is waiting for others: what is left is work. */
export function withoutWaiting<T extends OpTotals>(meta: TraceMeta, totals: T): T {
  const works = (value: number, op: number) => (meta.op_waits?.[op] === 1 ? 0 : value);
  const [totalPs, selfPs, occurrences] = [totals.totalPs, totals.selfPs, totals.occurrences].map((one) =>
    one.map(works),
  );
  return { ...totals, totalPs, selfPs, occurrences };
}

/** Whether any op was executed: a reduced profile has the totals without the executions. */
export function ranOps(table: Tables): boolean {
  return (table("unit_totals")?.n ?? 0) > 0 || (table("occurrences")?.n ?? 0) > 0;
}

/** Totals per unit as they were worked out before, of all hosts in the table; null where they were not. */
export function wholeTotals(table: Table | undefined, meta: TraceMeta): OpTotals | null {
  if (!table) return null;
  const nUnits = meta.n_units ?? meta.op_name.length;
  const unit = numbers(table, "unit");
  const [total, self, count] = columns(table, "total_ps", "self_ps", "occurrences");
  const totals = [0, 1, 2].map(() => new Float64Array(nUnits));
  for (let i = 0; i < table.n; i++) {
    totals[0][unit[i]] += total[i];
    totals[1][unit[i]] += self[i];
    totals[2][unit[i]] += count[i];
  }
  const [totalPs, selfPs, occurrences] = totals;
  return { totalPs, selfPs, occurrences, idlePs: meta.idle_ps ?? [0, 0] };
}
