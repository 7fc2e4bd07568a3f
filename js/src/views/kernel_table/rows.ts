/** Executions of kernels and a time range -> one row per kernel, as Python's `compute_kernels` gives them. */

import { isInRange, overlapPs } from "../../model/time/overlap";
import type { RangePs } from "../../model/time/viewport";
import { FAMILIES } from "../../model/wire/categories";
import { columns } from "../../model/wire/column";
import type { KernelMeta } from "../../model/wire/meta";
import type { Table } from "../../model/wire/wire";

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
 * The kernels that ran in the range, most time first; of one cut by the range the part inside counts.
 * @param readable name -> name as a person reads it
 */
export function kernelRows(
  kernels: readonly KernelMeta[],
  readable: ReadonlyMap<string, string>,
  runs: Table,
  range: RangePs,
): KernelRow[] {
  const n = kernels.length;
  const [total, count, longest] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  const shortest = new Float64Array(n).fill(Number.POSITIVE_INFINITY);
  const [kernel, start, duration] = columns(runs, "kernel", "start_ps", "duration_ps");
  let sum = addKnown(kernels, { total, count, longest, shortest });
  for (let i = 0; i < runs.n; i++) {
    if (!isInRange(start[i], duration[i], range)) continue;
    const ps = overlapPs(start[i], duration[i], range);
    const k = kernel[i];
    count[k] += 1;
    total[k] += ps;
    shortest[k] = Math.min(shortest[k], ps);
    longest[k] = Math.max(longest[k], ps);
    sum += ps;
  }
  const ran = kernels.map((_, k) => k).filter((k) => count[k] > 0);
  ran.sort((a, b) => total[b] - total[a] || a - b);
  return ran.map((k, i) => ({
    ...kernels[k],
    readable: readable.get(kernels[k].name) ?? kernels[k].name,
    ...{ rank: i + 1, kernel: k, occurrences: count[k], ratio: sum > 0 ? total[k] / sum : 0 },
    ...{ totalPs: total[k], minPs: shortest[k], maxPs: longest[k] },
  }));
}

interface Sums {
  readonly total: Float64Array;
  readonly count: Float64Array;
  readonly longest: Float64Array;
  readonly shortest: Float64Array;
}

/** Takes totals that are known without executions, and gives their sum. */
function addKnown(kernels: readonly KernelMeta[], { total, count, longest, shortest }: Sums): number {
  let sum = 0;
  kernels.forEach(({ occurrences, total_time_us = 0, min_time_us = 0, max_time_us = 0 }, k) => {
    if (occurrences === undefined) return;
    count[k] = occurrences;
    total[k] = total_time_us * 1e6;
    [shortest[k], longest[k]] = [min_time_us * 1e6, max_time_us * 1e6];
    sum += total[k];
  });
  return sum;
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
