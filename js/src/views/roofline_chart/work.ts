/** The work on GPUs in a time range -> what each op reached, and which roof it is under. */

import { isInRange, overlapPs } from "../../model/time/overlap";
import { type RangePs, rangeOf, type Scope, STEADY } from "../../model/time/viewport";
import { columns } from "../../model/wire/column";
import type { RooflineMeta } from "../../model/wire/roofline_meta";
import type { Table } from "../../model/wire/wire";

/** What an op is held up by; "cache" where it moved more than the memory could, "" where that is not known. */
export type Bound = "compute" | "memory" | "cache" | "";

export interface Work {
  /** Row of the ops that travelled. */
  readonly row: number;
  readonly ps: number;
  readonly occurrences: number;
  /** A second; NaN where not known. */
  readonly flopRate: number;
  readonly byteRate: number;
  /** Float operations a byte. */
  readonly intensity: number;
  readonly bound: Bound;
  /** The time that the device needs at least, of the time taken. */
  readonly roofRatio: number;
}

/** Time of each op and how many of its kernels ran, of those that the range cuts the part inside. */
interface Sums {
  readonly ps: ArrayLike<number>;
  readonly parts: ArrayLike<number>;
}

/**
 * The ops that ran in a scope, most time first; without `occurrences` as is known of the capture or of its averaged steps.
 * @param nSteps what times and counts are divided by
 */
export function workOf(
  roofline: RooflineMeta,
  occurrences: Table | undefined,
  scope: Scope,
  nSteps: number = 1,
): Work[] {
  const { ops } = roofline;
  const sums = occurrences === undefined ? knownSums(roofline, scope) : sumsOf(roofline, occurrences, rangeOf(scope));
  const [ps, parts] = [sums.ps, sums.parts].map((values) => Array.from(values, (value) => value / nSteps));
  const works = ops.unit.flatMap((_, row) => {
    if (ps[row] <= 0) return [];
    const share = parts[row] / ops.parts[row];
    return [judged(roofline, row, { ps: ps[row], share })];
  });
  return works.sort((a, b) => b.ps - a.ps);
}

function knownSums({ ops }: RooflineMeta, scope: Scope): Sums {
  const [us, parts] = scope === STEADY ? [ops.step_time_us, ops.step_parts] : [ops.time_us, ops.parts];
  return { ps: us.map((one) => one * 1e6), parts };
}

function sumsOf({ ops }: RooflineMeta, occurrences: Table, range: RangePs): Sums {
  const rowOf = new Map(ops.unit.map((unit, row) => [unit, row]));
  const sums = { ps: new Float64Array(ops.unit.length), parts: new Float64Array(ops.unit.length) };
  const [op, start, duration] = columns(occurrences, "op", "start_ps", "duration_ps");
  for (let i = 0; i < occurrences.n; i++) {
    if (!isInRange(start[i], duration[i], range)) continue;
    const row = rowOf.get(op[i]);
    if (row === undefined) continue;
    const inside = overlapPs(start[i], duration[i], range);
    sums.ps[row] += inside;
    sums.parts[row] += duration[i] > 0 ? inside / duration[i] : 1;
  }
  return sums;
}

/** As `Roofline` in Python judges an op: semantics 19.3. */
function judged(
  { ops, bytes_per_s }: RooflineMeta,
  row: number,
  { ps, share }: { readonly ps: number; readonly share: number },
): Work {
  const flops = (ops.flops[row] ?? Number.NaN) * share;
  const bytes = (ops.bytes[row] ?? Number.NaN) * share;
  const computing = flops === 0 ? 0 : (flops / (ops.peak[row] ?? Number.NaN)) * 1e12;
  const moving = (bytes / (bytes_per_s ?? Number.NaN)) * 1e12;
  const least = Math.max(computing, moving);
  const isJudged = least > 0 && least <= ps;
  const isCached = moving > ps && !(computing > ps);
  return {
    ...{ row, ps, occurrences: ops.occurrences[row] * share },
    ...{ flopRate: (flops / ps) * 1e12, byteRate: (bytes / ps) * 1e12, intensity: flops / bytes },
    bound: isCached ? "cache" : !isJudged ? "" : computing > moving ? "compute" : "memory",
    roofRatio: isJudged ? least / ps : Number.NaN,
  };
}

/** Whether an op has a place in the chart: what computes nothing has none on axes of powers of ten. */
export function hasPlace({ flopRate, intensity }: Work): boolean {
  return flopRate > 0 && Number.isFinite(intensity);
}
