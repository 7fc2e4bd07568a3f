/** Executions of kernels and a time range -> one row per kernel, as Python's `compute_kernels` gives them. */

import { isInRange, overlapPs } from "../../model/time/overlap";
import { stepsOfScope } from "../../model/time/scope";
import { type RangePs, type Scope, STEADY } from "../../model/time/viewport";
import { FAMILIES } from "../../model/wire/categories";
import { columns } from "../../model/wire/column";
import type { KernelMeta } from "../../model/wire/meta";
import { EMPTY_TABLE, type Table } from "../../model/wire/wire";

export interface KernelRow extends KernelMeta {
  readonly rank: number;
  /** The name as a person reads it. */
  readonly readable: string;
  /** Row of the meta object's `kernels`. */
  readonly kernel: number;
  readonly occurrences: number;
  readonly totalPs: number;
  readonly minPs: number;
  readonly maxPs: number;
  /** Of the time of all kernels. */
  readonly ratio: number;
}

/**
 * The kernels that ran in a scope, most time first; of one cut by a range the part inside counts. Times and counts are a step
 * where the scope is of whole steps.
 * @param readable name -> name as a person reads it
 */
export function kernelRows(
  kernels: readonly KernelMeta[],
  readable: ReadonlyMap<string, string>,
  tables: (name: string) => Table | undefined,
  scope: Scope,
): KernelRow[] {
  const { total, count, longest, shortest } = sumsOf(kernels, tables, scope);
  const nSteps = stepsOfScope(tables("steps"), scope) ?? 1;
  const sum = total.reduce((all, ps) => all + ps, 0);
  const ran = kernels.map((_, k) => k).filter((k) => count[k] > 0);
  ran.sort((a, b) => total[b] - total[a] || a - b);
  return ran.map((k, i) => ({
    ...kernels[k],
    readable: readable.get(kernels[k].name) ?? kernels[k].name,
    ...{ rank: i + 1, kernel: k, occurrences: count[k] / nSteps, ratio: sum > 0 ? total[k] / sum : 0 },
    ...{ totalPs: total[k] / nSteps, minPs: shortest[k], maxPs: longest[k] },
  }));
}

interface Sums {
  readonly total: Float64Array;
  readonly count: Float64Array;
  readonly longest: Float64Array;
  readonly shortest: Float64Array;
}

function sumsOf(kernels: readonly KernelMeta[], tables: (name: string) => Table | undefined, scope: Scope): Sums {
  const n = kernels.length;
  const [total, count, longest] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  const sums = { total, count, longest, shortest: new Float64Array(n).fill(Number.POSITIVE_INFINITY) };
  if (scope !== null && scope !== STEADY) addRuns(sums, tables("kernel_runs") ?? EMPTY_TABLE, scope);
  else if (scope === null && kernels[0]?.occurrences !== undefined) addKnown(sums, kernels);
  else addTotals(sums, tables(scope === STEADY ? "kernel_step_totals" : "kernel_totals") ?? EMPTY_TABLE);
  return sums;
}

function add({ total, count, longest, shortest }: Sums, k: number, n: number, ps: number, least: number, most: number) {
  count[k] += n;
  total[k] += ps;
  shortest[k] = Math.min(shortest[k], least);
  longest[k] = Math.max(longest[k], most);
}

function addRuns(sums: Sums, runs: Table, range: RangePs): void {
  const [kernel, start, duration] = columns(runs, "kernel", "start_ps", "duration_ps");
  for (let i = 0; i < runs.n; i++) {
    if (!isInRange(start[i], duration[i], range)) continue;
    const ps = overlapPs(start[i], duration[i], range);
    add(sums, kernel[i], 1, ps, ps, ps);
  }
}

/** Sums of executions that were added up before, of each host. */
function addTotals(sums: Sums, known: Table): void {
  const [kernel, count, total, least, most] = columns(known, "kernel", "occurrences", "total_ps", "min_ps", "max_ps");
  for (let i = 0; i < known.n; i++) add(sums, kernel[i], count[i], total[i], least[i], most[i]);
}

/** Sums that are told without any executions, as in a reduced profile. */
function addKnown(sums: Sums, kernels: readonly KernelMeta[]): void {
  kernels.forEach(({ occurrences = 0, total_time_us = 0, min_time_us = 0, max_time_us = 0 }, k) => {
    add(sums, k, occurrences, total_time_us * 1e6, min_time_us * 1e6, max_time_us * 1e6);
  });
}

export type TensorCore = "used" | "idle" | "none";

/** Whether Tensor Cores serve the kernel, could but do not, or cannot. */
export function tensorCore(kernel: Pick<KernelMeta, "could_use_tensor_core" | "uses_tensor_core">): TensorCore {
  if (kernel.uses_tensor_core) return "used";
  return kernel.could_use_tensor_core ? "idle" : "none";
}

export function familyOf(kernel: Pick<KernelMeta, "family">): string {
  return FAMILIES[kernel.family] ?? "runtime";
}
