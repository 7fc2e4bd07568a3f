/** tf.data pipelines: what each iterator and input op cost, and where the boxes of the graph are. */

import { columns, numbers, overlapPs, type RangePs, type Scope, STEADY } from "../data/columns";
import type { IteratorNode, TraceMeta } from "../data/meta";
import { EMPTY_TABLE, type Table } from "../data/pack";
import { opsOfScope } from "./ops";
import { countedSteps } from "./steps";

export function namesOf(node: IteratorNode): readonly string[] {
  return node.event_names?.length ? node.event_names : [node.long_name];
}

/** A call longer than this keeps its consumer waiting, ps. */
const SLOW_CALL_PS = 50e6;

export interface NodeStats extends Readonly<Record<"calls" | "totalPs" | "selfPs", Float64Array>> {
  /** The part of the self time for which the step waited; of first fetches nothing counts, unless there are only those. */
  readonly waitPs: Float64Array;
  /** When the first call began; Infinity without calls. */
  readonly startPs: Float64Array;
  readonly isBlocking: Uint8Array;
}

/** Sums per node over the calls that start in the range; a call is never split, so a batch keeps its whole cost. */
export function nodeStats(calls: Table, pipeline: number, nNodes: number, range: RangePs): NodeStats {
  return sumUp(calls, nNodes, startsIn(calls, pipeline, range));
}

function startsIn(calls: Table, pipeline: number, range: RangePs): (row: number) => boolean {
  const [owner, start] = columns(calls, "pipeline", "start_ps");
  return (i) => owner[i] === pipeline && (range === null || (start[i] >= range[0] && start[i] < range[1]));
}

/** The same over the calls that one call of the root was answered with, whenever they were made. */
export function executionStats(calls: Table, nNodes: number, rootCall: number): NodeStats {
  const root = numbers(calls, "root");
  return sumUp(calls, nNodes, (i) => root[i] === rootCall);
}

function sumUp(calls: Table, nNodes: number, isIn: (row: number) => boolean): NodeStats {
  const [node, start, duration, self, wait, isBlocking, isStartup] = columns(
    calls,
    "node",
    "start_ps",
    "duration_ps",
    "self_ps",
    "wait_ps",
    "is_blocking",
    "is_startup",
  );
  const stats = emptyStats(nNodes);
  const startup = new Float64Array(nNodes);
  for (let i = 0; i < calls.n; i++) {
    if (!isIn(i)) continue;
    const k = node[i];
    stats.calls[k] += 1;
    stats.totalPs[k] += duration[i];
    stats.selfPs[k] += self[i];
    (isStartup[i] ? startup : stats.waitPs)[k] += wait[i];
    stats.startPs[k] = Math.min(stats.startPs[k], start[i]);
    if (isBlocking[i]) stats.isBlocking[k] = 1;
  }
  if (stats.waitPs.every((ps) => ps === 0)) stats.waitPs.set(startup);
  return stats;
}

export function emptyStats(nNodes: number): NodeStats {
  const zeros = () => new Float64Array(nNodes);
  return {
    calls: zeros(),
    totalPs: zeros(),
    selfPs: zeros(),
    waitPs: zeros(),
    startPs: zeros().fill(Number.POSITIVE_INFINITY),
    isBlocking: new Uint8Array(nNodes),
  };
}

/** The rows of a pipeline's root calls that start in the range, longest first: its executions by rank. */
export function executions(calls: Table, pipeline: number, range: RangePs): number[] {
  const isIn = startsIn(calls, pipeline, range);
  const [root, start, duration] = columns(calls, "root", "start_ps", "duration_ps");
  const found: number[] = [];
  for (let i = 0; i < calls.n; i++) {
    if (root[i] === i && isIn(i)) found.push(i);
  }
  return found.sort((a, b) => duration[b] - duration[a] || start[a] - start[b]);
}

export interface Latency extends Readonly<Record<"nCalls" | "nSlow" | "min" | "max", number>> {
  /** ps; NaN without calls. */
  readonly avg: number;
}

export function latencyOf(calls: Table, ranked: readonly number[]): Latency {
  const duration = numbers(calls, "duration_ps");
  const times = ranked.map((row) => duration[row]);
  return {
    nCalls: times.length,
    nSlow: times.filter((ps) => ps > SLOW_CALL_PS).length,
    avg: times.reduce((sum, ps) => sum + ps, 0) / times.length,
    min: times[times.length - 1] ?? Number.NaN,
    max: times[0] ?? Number.NaN,
  };
}

/** When the first call of the root ended: what came before is start-up, not the cost of a batch. 0 when there is no call. */
export function firstCallEnd(calls: Table, pipeline: number, root: number): number {
  const [owner, node, start, duration] = columns(calls, "pipeline", "node", "start_ps", "duration_ps");
  let first = -1;
  for (let i = 0; i < calls.n; i++) {
    if (owner[i] === pipeline && node[i] === root && (first < 0 || start[i] < start[first])) first = i;
  }
  return first < 0 ? 0 : start[first] + duration[first];
}

/** The node of the critical path for whose own work was waited longest, or -1 where none was: what to speed up first. */
export function bottleneckOf(waitPs: ArrayLike<number>, isCritical: readonly boolean[]): number {
  let best = -1;
  for (let i = 0; i < waitPs.length; i++) {
    if (isCritical[i] && waitPs[i] > 0 && (best < 0 || waitPs[i] > waitPs[best])) best = i;
  }
  return best;
}

/** Steps from each node to its root; a cycle (a broken trace) ends where it began. */
export function depthsOf(parents: readonly number[]): number[] {
  return parents.map((_, i) => {
    let depth = 0;
    for (let at = parents[i]; at >= 0 && depth < parents.length; at = parents[at]) depth++;
    return depth;
  });
}

export interface InputOp extends Readonly<Record<"count" | "totalPs" | "waitPs", number>> {
  readonly name: string;
  readonly category: string;
  /** Without the iterators that it takes its elements from, for which it waits; NaN where that is not known. */
  readonly workPs: number;
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
    const waitPs = whole === undefined ? 0 : Math.max(0, totalPs - workPs);
    rows.push({ name, category, count, totalPs, workPs, waitPs });
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
