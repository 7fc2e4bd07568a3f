/** Types of the graphs of HLO ops as they travel: what `views/payload/hlo_graph_list.py` writes. */

import type { Coded } from "./structure_meta";

/** An HLO op, and the instructions to draw of it. */
export interface HloGraphMeta {
  readonly name: string;
  readonly module: string;
  readonly category: string;
  /** Of the whole capture. */
  readonly self_us: number;
  /** The framework ops that it stands for, and in which proportion. */
  readonly ops: readonly string[];
  readonly ratios: readonly number[];
  /** Of each node; that of a fusion's parameter is the operand outside. */
  readonly names: readonly string[];
  readonly opcodes: Coded;
  readonly shapes: Coded;
  /** The framework op of each node, "" for none. */
  readonly node_ops: Coded;
  /** Inside a fusion the share of its work, else self time in µs. */
  readonly values: readonly number[];
  /** Nodes: one entry per arrow. */
  readonly from: readonly number[];
  readonly to: readonly number[];
  /** How many nodes there are, with those that are left out. */
  readonly n_nodes: number;
  /** The node that all others are around; -1 inside a fusion. */
  readonly centre: number;
}
