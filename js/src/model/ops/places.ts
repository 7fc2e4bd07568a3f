/** Totals per op and the place of each op (its layer, source line or scope) -> totals per place. */

import type { OpTotals } from "./ops";

/** What part of a training step an op belongs to, in the order of the ids of `op_places.phase`. */
export const PHASES = ["forward", "backward", "optimizer", "other"] as const;
export type Phase = (typeof PHASES)[number];

/** Each array holds one value per entry. */
export interface EntryTotals {
  readonly totalPs: Float64Array;
  readonly selfPs: Float64Array;
  readonly occurrences: Float64Array;
  /** How many different ops of the entry ran. */
  readonly nOps: Float64Array;
}

/**
 * Adds up the ops of each entry.
 * @param places for each op the number of its entry, below `n`; an op at a negative number is left out
 * @param totals of ops, as `opTotals` and `shareTotals` give them
 * @param n number of entries
 * @param keep which ops count; all when left out
 */
export function sumByEntry(
  places: ArrayLike<number>,
  totals: Pick<OpTotals, "totalPs" | "selfPs" | "occurrences">,
  n: number,
  keep?: (op: number) => boolean,
): EntryTotals {
  const sums = {
    totalPs: new Float64Array(n),
    selfPs: new Float64Array(n),
    occurrences: new Float64Array(n),
    nOps: new Float64Array(n),
  };
  for (let op = 0; op < places.length; op++) {
    const entry = places[op];
    if (entry < 0 || totals.occurrences[op] === 0 || (keep && !keep(op))) continue;
    sums.totalPs[entry] += totals.totalPs[op];
    sums.selfPs[entry] += Math.max(0, totals.selfPs[op]);
    sums.occurrences[entry] += totals.occurrences[op];
    sums.nOps[entry] += 1;
  }
  return sums;
}

/** Self time per entry, one array for each phase in the order of `PHASES`. */
export function selfByPhase(
  places: ArrayLike<number>,
  phases: ArrayLike<number>,
  totals: Pick<OpTotals, "selfPs">,
  n: number,
): readonly Float64Array[] {
  const sums = PHASES.map(() => new Float64Array(n));
  for (let op = 0; op < places.length; op++) {
    if (places[op] >= 0) sums[phases[op]][places[op]] += Math.max(0, totals.selfPs[op]);
  }
  return sums;
}
