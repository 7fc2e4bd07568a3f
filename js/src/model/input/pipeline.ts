/** Calls of tf.data iterators and a time range or one execution -> what each node of a pipeline cost. */

import type { RangePs } from "../time/viewport";
import { columns, numbers } from "../wire/column";
import type { IteratorNode } from "../wire/meta";
import type { Table } from "../wire/wire";

/** What the events of an iterator are called, by which it is selected. */
export function namesOf(node: IteratorNode): readonly string[] {
  return node.event_names?.length ? node.event_names : [node.long_name];
}

/** A call longer than this keeps its consumer waiting, ps. */
const SLOW_CALL_PS = 50e6;

export interface NodeStats {
  readonly calls: Float64Array;
  readonly totalPs: Float64Array;
  readonly selfPs: Float64Array;
  /** The part of the self time for which the step waited; of first fetches nothing counts, unless there are only those. */
  readonly waitPs: Float64Array;
  /** When the first call began; Infinity without calls. */
  readonly startPs: Float64Array;
  /** Whether a step waited for a call. */
  readonly isBlocking: Uint8Array;
}

/** Sums per node over the calls that start in the range; a call is never split, so a batch keeps its whole cost. */
export function nodeStats(calls: Table, pipeline: number, nNodes: number, range: RangePs): NodeStats {
  return sumUp(calls, nNodes, startsIn(calls, pipeline, range));
}

/** Whether a call is of the pipeline and starts in the range. */
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

export interface Latency {
  readonly nCalls: number;
  /** Calls longer than `SLOW_CALL_PS`. */
  readonly nSlow: number;
  /** ps; NaN without calls. */
  readonly avg: number;
  readonly min: number;
  readonly max: number;
}

/** How long the executions in `ranked` (see `executions`) took. */
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
