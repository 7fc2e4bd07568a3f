/** Totals of ops, or their executions in a time range, and what iterators worked -> the rows of the input op table, and category sums. */

import { opsOfScope } from "../ops/ranged_ops";
import { overlapPs } from "../time/overlap";
import { countedSteps } from "../time/statistics";
import { type RangePs, type Scope, STEADY } from "../time/viewport";
import { columns } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import { namesOf } from "./pipeline";

export interface InputOp {
  readonly name: string;
  readonly category: string;
  readonly count: number;
  readonly totalPs: number;
  /** Without the iterators that it takes its elements from, for which it waits; NaN where that is not known. */
  readonly workPs: number;
  readonly waitPs: number;
  /** Of the work of all input ops. */
  readonly workRatio: number;
}

type Tables = (name: string) => Table | undefined;

/** As `InputPipeline.ops`, of a scope: most work first, without ops that do not occur in it; a step where it is of those. */
export function inputOps(meta: TraceMeta, table: Tables, scope: Scope): InputOp[] {
  const known = new Map((meta.input?.ops ?? []).map((one) => [one[0], one]));
  if (known.size === 0) return [];
  const totals = opsOfScope(meta, table, scope);
  const inRange = scope === null || scope === STEADY ? null : workIn(meta, table("iterator_calls"), scope);
  const rows: Omit<InputOp, "workRatio">[] = [];
  meta.op_name.forEach((id, op) => {
    const name = meta.names[id] ?? "";
    const told = meta.op_device[op] === 1 ? undefined : known.get(name);
    const count = totals.occurrences[op];
    if (told === undefined || count === 0) return;
    const [, category, whole, steady] = told;
    const totalPs = totals.totalPs[op];
    const workMs = inRange ? inRange(name) / 1e9 : scope === null ? whole : (steady ?? Number.NaN);
    // What is no iterator has no other one to wait for.
    const workPs = whole === undefined ? Math.max(0, totals.selfPs[op]) : ((workMs ?? 0) * 1e9) / (totals.nSteps ?? 1);
    rows.push({
      name,
      category,
      count,
      totalPs,
      workPs,
      waitPs: whole === undefined ? 0 : Math.max(0, totalPs - workPs),
    });
  });
  const sum = rows.reduce((all, row) => all + (row.workPs || 0), 0) || 1;
  return rows
    .map((row) => ({ ...row, workRatio: row.workPs / sum }))
    .sort((a, b) => b.workPs - a.workPs || (a.name < b.name ? -1 : 1));
}

/** What iterators worked in a range, by the names of their ops; of a call that it cuts as large a part. */
function workIn({ pipelines = [] }: TraceMeta, calls: Table = EMPTY_TABLE, range: RangePs): (name: string) => number {
  const work = new Map<string, number>();
  const [pipeline, node, start, duration, self] = columns(
    calls,
    "pipeline",
    "node",
    "start_ps",
    "duration_ps",
    "self_ps",
  );
  for (let i = 0; i < calls.n; i++) {
    const part = overlapPs(start[i], duration[i], range) / (duration[i] || 1);
    const names = part > 0 ? namesOf(pipelines[pipeline[i]].nodes[node[i]]) : [];
    for (const name of names) work.set(name, (work.get(name) ?? 0) + (self[i] * part) / names.length);
  }
  return (name) => work.get(name) ?? 0;
}

export interface InputPart {
  readonly category: string;
  readonly ms: number;
  readonly ratio: number;
}

/** What the host worked for the input, by category in their order. */
export function inputParts(order: readonly string[], ops: readonly InputOp[]): InputPart[] {
  const ms = order.map((category) =>
    ops.reduce((sum, op) => sum + (op.category === category ? (op.workPs || 0) / 1e9 : 0), 0),
  );
  const total = ms.reduce((sum, value) => sum + value, 0) || 1;
  return order.map((category, i) => ({ category, ms: ms[i], ratio: ms[i] / total }));
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
