/** Totals of ops, or their executions in a time range, and the category of each input op -> the rows of the input op table, and category sums. */

import { opsOfScope } from "../ops/ranged_ops";
import { countedSteps } from "../time/statistics";
import type { RangePs, Scope } from "../time/viewport";
import { columns } from "../wire/column";
import type { InputMeta, TraceMeta } from "../wire/meta";
import type { Table } from "../wire/wire";

export interface InputOp {
  readonly name: string;
  readonly category: string;
  readonly count: number;
  readonly totalPs: number;
  readonly selfPs: number;
  /** Of the self time of all input ops, so that those of the total time may add up to more than 1. */
  readonly totalRatio: number;
  readonly selfRatio: number;
}

/** As `InputPipeline.ops`, of a scope: largest self time first, without ops that do not occur in it; a step where it is of those. */
export function inputOps(meta: TraceMeta, table: (name: string) => Table | undefined, scope: Scope): InputOp[] {
  const categories = new Map(meta.input?.ops ?? []);
  if (categories.size === 0) return [];
  const totals = opsOfScope(meta, table, scope);
  const rows: Omit<InputOp, "totalRatio" | "selfRatio">[] = [];
  meta.op_name.forEach((id, op) => {
    const name = meta.names[id] ?? "";
    const category = meta.op_device[op] === 1 ? undefined : categories.get(name);
    if (category === undefined || totals.occurrences[op] === 0) return;
    const [totalPs, selfPs] = [totals.totalPs[op], Math.max(0, totals.selfPs[op])];
    rows.push({ name, category, count: totals.occurrences[op], totalPs, selfPs });
  });
  const sum = rows.reduce((total, row) => total + row.selfPs, 0) || 1;
  return rows
    .map((row) => ({ ...row, totalRatio: row.totalPs / sum, selfRatio: row.selfPs / sum }))
    .sort((a, b) => b.selfPs - a.selfPs || (a.name < b.name ? -1 : 1));
}

export interface InputPart {
  readonly category: string;
  readonly ms: number;
  readonly ratio: number;
}

/** The host's time for the input by category: as analysed for the whole capture (null), else the self times of some ops. */
export function inputParts(input: InputMeta, ops: readonly InputOp[] | null): InputPart[] {
  const whole = input.categories.map(({ category, time_ms: ms, ratio }) => ({ category, ms, ratio }));
  if (ops === null) return whole;
  const ms = whole.map(({ category }) =>
    ops.reduce((sum, op) => sum + (op.category === category ? op.selfPs / 1e9 : 0), 0),
  );
  const total = ms.reduce((sum, value) => sum + value, 0) || 1;
  return whole.map(({ category }, i) => ({ category, ms: ms[i], ratio: ms[i] / total }));
}

/** An input that costs less of a step than this is nothing to be alarmed about. */
const KEEPS_UP = 0.02;

export interface InputWait {
  /** A step. */
  readonly ms: number;
  /** Of the step. */
  readonly ratio: number;
}

/** What steps of a range, else the averaged ones, wait for data; null without any. */
export function inputWait(steps: Table, range: RangePs): InputWait | null {
  const counted = countedSteps(steps, range);
  if (counted.length === 0) return null;
  const [input, duration] = columns(steps, "input_ms", "duration_ps");
  const sum = (values: ArrayLike<number>) => counted.reduce((total, i) => total + values[i], 0);
  return { ms: sum(input) / counted.length, ratio: (sum(input) * 1e9) / (sum(duration) || 1) };
}

/** Whether so little is waited for that no iterator is to blame. */
export function keepsUp(wait: InputWait | null): boolean {
  return wait !== null && wait.ratio < KEEPS_UP;
}

/** For each step the part of its time in which the training waited for data, 0 to 1. */
export function inputShares(steps: Table): Float64Array {
  const [input, duration] = columns(steps, "input_ms", "duration_ps");
  return Float64Array.from({ length: steps.n }, (_, i) =>
    duration[i] > 0 ? Math.min(1, (input[i] * 1e9) / duration[i]) : 0,
  );
}
