/** Calls of tf.data iterators and a time range -> calls, total and self time per node of one pipeline. */

import { numbers } from "./column";
import type { RangePs } from "./ops";
import type { Table } from "./wire";

export interface NodeStats {
  readonly calls: Float64Array;
  readonly totalPs: Float64Array;
  readonly selfPs: Float64Array;
}

/** Sums per node over the calls that start in the range; a call is never split, so a batch keeps its whole cost. */
export function nodeStats(calls: Table, pipeline: number, nNodes: number, range: RangePs): NodeStats {
  const stats = {
    calls: new Float64Array(nNodes),
    totalPs: new Float64Array(nNodes),
    selfPs: new Float64Array(nNodes),
  };
  const owner = numbers(calls, "pipeline");
  const node = numbers(calls, "node");
  const start = numbers(calls, "start_ps");
  const duration = numbers(calls, "duration_ps");
  const self = numbers(calls, "self_ps");
  for (let i = 0; i < calls.n; i++) {
    if (owner[i] !== pipeline) continue;
    if (range !== null && (start[i] < range[0] || start[i] >= range[1])) continue;
    stats.calls[node[i]] += 1;
    stats.totalPs[node[i]] += duration[i];
    stats.selfPs[node[i]] += self[i];
  }
  return stats;
}

/** When the first call of the root ended: what came before is start-up, not the cost of a batch. 0 when there is no call. */
export function firstCallEnd(calls: Table, pipeline: number, root: number): number {
  const owner = numbers(calls, "pipeline");
  const node = numbers(calls, "node");
  const start = numbers(calls, "start_ps");
  const duration = numbers(calls, "duration_ps");
  let first = -1;
  for (let i = 0; i < calls.n; i++) {
    if (owner[i] === pipeline && node[i] === root && (first < 0 || start[i] < start[first])) first = i;
  }
  return first < 0 ? 0 : start[first] + duration[first];
}

/** The node of the critical path with the most self time, or -1 where none has any: what to speed up first. */
export function bottleneckOf(selfPs: ArrayLike<number>, isCritical: readonly boolean[]): number {
  let best = -1;
  for (let i = 0; i < selfPs.length; i++) {
    if (isCritical[i] && selfPs[i] > 0 && (best < 0 || selfPs[i] > selfPs[best])) best = i;
  }
  return best;
}
