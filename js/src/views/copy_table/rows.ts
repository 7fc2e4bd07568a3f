/** Every copy and a time range -> one row per tensor and way, as Python's `copy_table` gives them. */

import { isInRange, overlapPs } from "../../model/time/overlap";
import { type Scope, STEADY } from "../../model/time/viewport";
import { columns } from "../../model/wire/column";
import type { CopyMeta } from "../../model/wire/copy_meta";
import type { Table } from "../../model/wire/wire";

export interface CopyRow extends CopyMeta {
  readonly rank: number;
  /** Memory read and written, as far as it is known. */
  readonly memory: string;
}

const PS_PER_MS = 1e9;
/** Of one row, in ps. */
const SUMS = ["occurrences", "bytes", "total", "exposed", "back"] as const;

/**
 * The copies of a scope, those that cost most first. Of one cut by a range the part inside counts, with the same share of
 * what no kernel hides.
 * @param runs every copy; undefined where only the sums of the whole capture are known
 * @param nSteps what sums are divided by
 */
export function copyRows(
  copies: readonly CopyMeta[],
  runs: Table | undefined,
  scope: Scope,
  nSteps: number,
): CopyRow[] {
  const found = runs === undefined ? copies : summed(copies, runs, scope, nSteps);
  return found
    .filter(({ occurrences }) => occurrences > 0)
    .toSorted((a, b) => b.exposed_time_ms - a.exposed_time_ms)
    .map((copy, i) => ({ ...copy, rank: i + 1, memory: memoryOf(copy) }));
}

function summed(copies: readonly CopyMeta[], runs: Table, scope: Scope, nSteps: number): CopyMeta[] {
  const sums = copies.map(
    () => Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<(typeof SUMS)[number], number>,
  );
  const [copy, start, duration, exposed] = columns(runs, "copy", "start_ps", "duration_ps", "exposed_ps");
  const [bytes, isBack, isSteady] = columns(runs, "bytes", "is_back", "is_steady");
  for (let i = 0; i < runs.n; i++) {
    const isIn = scope === STEADY ? isSteady[i] === 1 : isInRange(start[i], duration[i], scope);
    if (!isIn) continue;
    const ps = scope === STEADY ? duration[i] : overlapPs(start[i], duration[i], scope);
    const own = sums[copy[i]];
    own.occurrences += 1;
    own.bytes += bytes[i];
    own.total += ps;
    own.exposed += duration[i] > 0 ? (exposed[i] * ps) / duration[i] : 0;
    own.back += isBack[i];
  }
  return copies.map((one, k) => {
    const own = sums[k];
    return {
      ...one,
      occurrences: own.occurrences / nSteps,
      bytes: own.bytes / nSteps,
      bytes_per_copy: own.bytes > 0 ? own.bytes / own.occurrences : null,
      total_time_ms: own.total / PS_PER_MS / nSteps,
      // What was cut by a range moved fewer bytes than all of it: the rate stays that of the whole.
      hidden_time_ms: (own.total - own.exposed) / PS_PER_MS / nSteps,
      exposed_time_ms: own.exposed / PS_PER_MS / nSteps,
      round_trips: own.back / nSteps,
    };
  });
}

function memoryOf({ source, destination }: CopyMeta): string {
  return source || destination ? `${source || "?"} → ${destination || "?"}` : "";
}
