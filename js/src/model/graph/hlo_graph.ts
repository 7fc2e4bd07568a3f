/** Graphs of HLO ops as they travel -> the one that is meant, its boxes and arrows, and what each box says. */

import type { HloGraphMeta } from "../wire/hlo_graph_meta";
import type { Coded } from "../wire/structure_meta";
import type { OpGraphCut } from "./op_graph";

/** Of these the name says more than the opcode. */
const NAMED = new Set(["parameter", "fusion", "custom-call", "call", "async-start"]);

/** An instruction of a graph. */
export interface HloNode {
  readonly name: string;
  readonly opcode: string;
  readonly shape: string;
  /** The framework op, "" for none. */
  readonly op: string;
  readonly value: number;
  readonly label: string;
}

export const isInside = (graph: HloGraphMeta): boolean => graph.centre < 0;

/** How much of what is selected a graph is of: all of it and nothing else, else the time that it counts for. */
function affinity(graph: HloGraphMeta, selected: ReadonlySet<string>): number {
  const ratio = graph.ops.reduce((sum, op, i) => (selected.has(op) ? sum + graph.ratios[i] : sum), 0);
  const isExact = graph.ops.length === selected.size && graph.ops.every((op) => selected.has(op));
  return isExact ? Infinity : ratio * graph.self_us;
}

/** The first graph that stands for exactly the selected ops, else the one that most of their time is in; -1 for none. */
export function graphOfOps(graphs: readonly HloGraphMeta[], selected: ReadonlySet<string>): number {
  let [best, most] = [-1, 0];
  graphs.forEach((graph, i) => {
    const value = affinity(graph, selected);
    if (value > most) [best, most] = [i, value];
  });
  return best;
}

export function hloNode(graph: HloGraphMeta, i: number): HloNode {
  const of = ({ texts, codes }: Coded) => texts[codes[i]] ?? "";
  const [name, opcode] = [graph.names[i], of(graph.opcodes)];
  const label = NAMED.has(opcode) ? name : opcode;
  return { name, opcode, shape: of(graph.shapes), op: of(graph.node_ops), value: graph.values[i], label };
}

/** One box per instruction: node `i` is box `i + 1`. What a fusion reads is drawn as what is not part of it. */
export function hloBoxes(graph: HloGraphMeta): OpGraphCut {
  const boxes = graph.names.map((_, i) => {
    const { opcode, value } = hloNode(graph, i);
    const kind = opcode === "parameter" ? ("rest" as const) : ("op" as const);
    return { id: i + 1, kind, inside: 0, isOpen: false, chain: [], value, nOps: 1 };
  });
  const arrows = graph.from.map((from, i) => ({ from: from + 1, to: graph.to[i] + 1, n: 1, isControl: false }));
  return { boxes, arrows, nMerged: 0, nArrows: arrows.length };
}
