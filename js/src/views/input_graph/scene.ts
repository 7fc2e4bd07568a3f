/** What the panes of the input view are about: one pipeline, a time range, and one of its executions or their average. */

import type { InputWait } from "../../model/input/input_ops";
import type { NodeStats } from "../../model/input/pipeline";
import type { RangePs, Scope } from "../../model/time/viewport";
import type { PipelineMeta } from "../../model/wire/meta";

export interface InputScene {
  readonly index: number;
  readonly pipeline: PipelineMeta;
  /** The node that the training fetches from. */
  readonly root: number;
  readonly range: RangePs;
  /** Of figures that are not of batches. */
  readonly scope: Scope;
  /** Rows of the root calls of the range, longest first. */
  readonly ranked: readonly number[];
  /** Place in `ranked` of the execution shown; null for the average of all. */
  readonly rank: number | null;
  readonly stats: NodeStats;
  /** What the sums are divided by. */
  readonly nBatches: number;
  /** How long the first fetch took, where it is left out of the average. */
  readonly startupPs: number;
  readonly isCritical: readonly boolean[];
  /** The bottleneck of what is shown, -1 for none. */
  readonly slow: number;
  /** What the steps shown wait for data, where that is too little to matter; null where it matters or is not known. */
  readonly kept: InputWait | null;
}

/** Of what was waited for, the part of the bottleneck; 0 where nothing was. */
export function shareOfWait({ pipeline, range, rank, slow, stats }: InputScene): number {
  if (slow < 0) return 0;
  const isWhole = range === null && rank === null;
  const waits = isWhole ? pipeline.nodes.map((node) => node.wait_time_ms ?? 0) : stats.waitPs;
  let sum = 0;
  for (const wait of waits) sum += wait;
  return sum > 0 ? waits[slow] / sum : 0;
}
