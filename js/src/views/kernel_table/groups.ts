/** One row per kernel -> one row per op that launched kernels, per type of op, or per unit that they compute on. */

import type { KernelRow } from "./rows";

export type Grouping = "name" | "op" | "type" | "unit";

/** One kernel, or several that belong together. */
export interface KernelGroup extends KernelRow {
  /** What tells the row from others, whatever the grouping. */
  readonly key: string;
  readonly nKernels: number;
  /** Names of the ops that launched them, each once. */
  readonly ops: readonly string[];
}

const UNKNOWN = "not known";
/** Of kernels that are put together, and differ. */
export const SEVERAL = "several";

const NAME_OF: Readonly<Record<Exclude<Grouping, "name">, (row: KernelRow) => string>> = {
  op: (row) => row.op_name,
  type: (row) => row.op_type,
  unit: (row) => row.unit,
};

/**
 * An op takes more than its kernels, such as copies: a row of those is called otherwise than the op.
 * @param isLed whether kernels may be for several ops: all of one is that of the op with the largest share in it
 */
export function groupKernels(rows: readonly KernelRow[], by: Grouping, isLed: boolean): KernelGroup[] {
  if (by === "name")
    return rows.map((row) => ({
      ...row,
      key: `kernel:${row.kernel}`,
      nKernels: 1,
      ops: row.op_name ? [row.op_name] : [],
    }));
  const groups = new Map<string, KernelRow[]>();
  for (const row of rows) {
    const known = NAME_OF[by](row);
    const name = known && by !== "unit" ? `${isLed ? "led by" : "of"} ${known}` : known || UNKNOWN;
    const own = groups.get(name);
    if (own) own.push(row);
    else groups.set(name, [row]);
  }
  const found = [...groups].map(([name, own]) => summed(own, name, `${by}:${name}`));
  found.sort((a, b) => b.totalPs - a.totalPs);
  return found.map((group, i) => ({ ...group, rank: i + 1 }));
}

/** What the rows have together; how they were launched is told of single kernels only. */
function summed(rows: readonly KernelRow[], name: string, key: string): KernelGroup {
  const sum = (value: (row: KernelRow) => number) => rows.reduce((total, row) => total + value(row), 0);
  const same = (value: (row: KernelRow) => string) => {
    const first = value(rows[0]);
    return rows.every((row) => value(row) === first) ? first : SEVERAL;
  };
  const [type, op] = [same((row) => row.op_type), same((row) => row.op_name)];
  return {
    ...rows[0],
    ...{ key, name, readable: name, nKernels: rows.length, kernel: -1 },
    ops: [...new Set(rows.flatMap(({ op_name }) => op_name || []))],
    ...{ op_type: type === SEVERAL ? "" : type, op_name: op === SEVERAL ? "" : op, unit: same((row) => row.unit) },
    tensor_core_eligible: rows.some((row) => row.tensor_core_eligible),
    could_use_tensor_core: rows.some((row) => row.could_use_tensor_core && !row.uses_tensor_core),
    uses_tensor_core: rows.every((row) => row.uses_tensor_core),
    ...{ registers_per_thread: Number.NaN, shared_memory_bytes: Number.NaN, occupancy_pct: Number.NaN },
    ...{ block_dim: "", grid_dim: "" },
    ...{
      totalPs: sum((row) => row.totalPs),
      occurrences: sum((row) => row.occurrences),
      ratio: sum((row) => row.ratio),
    },
    minPs: rows.reduce((least, row) => Math.min(least, row.minPs), Number.POSITIVE_INFINITY),
    maxPs: rows.reduce((most, row) => Math.max(most, row.maxPs), 0),
  };
}
