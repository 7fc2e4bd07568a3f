/** What the reader chose (a range, a step, the whole capture) -> what figures are of, and over how many steps they are divided. */

import type { Table } from "../wire/wire";
import { averagedRows, rangeInPs, stepsOfRange } from "./span_text";
import { type Scope, STEADY } from "./viewport";

interface Chosen {
  /** In ns. */
  readonly timeRange: readonly [number, number] | null;
  readonly isWholeCapture: boolean;
}

/** Without a range the averaged steps, where there are any and the reader does not ask for the whole capture. */
export function scopeOf(chosen: Chosen, table: (name: string) => Table | undefined): Scope {
  const range = rangeInPs(chosen.timeRange, table("steps"));
  if (range !== null) return range;
  return chosen.isWholeCapture || !hasSteady(table) ? null : STEADY;
}

/** Whether there are averaged steps, and it is known what ran in them: a host need not have any. */
export function hasSteady(table: (name: string) => Table | undefined): boolean {
  const steps = table("steps");
  return table("step_totals") !== undefined && steps !== undefined && averagedRows(steps).length > 0;
}

/** Steps that figures are divided by: those of a scope that is of whole steps; null where it is of time. */
export function stepsOfScope(steps: Table | undefined, scope: Scope): number | null {
  if (scope === null || steps === undefined) return null;
  if (scope === STEADY) return averagedRows(steps).length;
  const covered = stepsOfRange(steps, scope);
  return covered === null ? null : covered[1] - covered[0] + 1;
}

/** The head of a column of such times. */
export function perStep(title: string, nSteps: number | null): string {
  return nSteps === null ? title : `${title} a step`;
}
