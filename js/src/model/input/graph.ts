/** The iterators of a pipeline -> places of boxes and arrows, sources on the left, the root on the right. */

import { layout as dagreLayout, Graph } from "@dagrejs/dagre";

export interface PlacedNode {
  /** Top left corner, px. */
  readonly x: number;
  readonly y: number;
}

export interface Placed {
  readonly nodes: readonly PlacedNode[];
  /** Per node the arrow to its parent as points of a path with right angles; null for a root. */
  readonly arrows: readonly (readonly (readonly [number, number])[] | null)[];
  readonly nodeWidth: number;
  readonly width: number;
  readonly height: number;
}

export interface GraphSize {
  readonly width: number;
  readonly nodeHeight: number;
  readonly gap: number;
  readonly rowGap: number;
  readonly minNodeWidth: number;
  readonly maxNodeWidth: number;
}

/** Places the nodes; `parents[i]` is the node that consumes node i, -1 for a root. Wider than `size.width` only when it must be. */
export function placeGraph(parents: readonly number[], size: GraphSize): Placed {
  const depth = depthsOf(parents);
  const nColumns = depth.reduce((most, value) => Math.max(most, value + 1), 1);
  const room = (size.width - (nColumns - 1) * size.gap - 4) / nColumns;
  const nodeWidth = Math.max(size.minNodeWidth, Math.min(size.maxNodeWidth, room));
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: size.rowGap, ranksep: size.gap, marginx: 2, marginy: 2 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const i of parents.keys()) graph.setNode(String(i), { width: nodeWidth, height: size.nodeHeight });
  parents.forEach((parent, i) => {
    if (parent >= 0) graph.setEdge(String(i), String(parent));
  });
  dagreLayout(graph);
  const nodes = parents.map((_, i) => {
    const node = graph.node(String(i)) as { x: number; y: number };
    // Columns by distance from the root, so that every arrow spans one gap.
    return { x: 2 + (nColumns - 1 - depth[i]) * (nodeWidth + size.gap), y: node.y - size.nodeHeight / 2 };
  });
  const top = nodes.reduce((least, node) => Math.min(least, node.y), Infinity);
  const placed = nodes.map((node) => ({ x: node.x, y: node.y - top + 2 }));
  return {
    nodes: placed,
    arrows: parents.map((parent, i) => (parent < 0 ? null : arrow(placed, parents, i, nodeWidth, size))),
    nodeWidth,
    width: 4 + nColumns * nodeWidth + (nColumns - 1) * size.gap,
    height: placed.reduce((most, node) => Math.max(most, node.y), 0) + size.nodeHeight + 2,
  };
}

/** Steps from each node to its root; a cycle (a broken trace) ends where it began. */
export function depthsOf(parents: readonly number[]): number[] {
  return parents.map((_, i) => {
    let depth = 0;
    for (let at = parents[i]; at >= 0 && depth < parents.length; at = parents[at]) depth++;
    return depth;
  });
}

function arrow(
  nodes: readonly PlacedNode[],
  parents: readonly number[],
  i: number,
  nodeWidth: number,
  size: GraphSize,
) {
  const from = nodes[i];
  const to = nodes[parents[i]];
  const siblings = parents.map((parent, k) => (parent === parents[i] ? k : -1)).filter((k) => k >= 0);
  siblings.sort((a, b) => nodes[a].y - nodes[b].y);
  const middle = size.nodeHeight / 2;
  const y0 = from.y + middle;
  // Arrows into one box arrive side by side.
  const offset =
    (siblings.indexOf(i) - (siblings.length - 1) / 2) * Math.min(14, size.nodeHeight / (siblings.length + 1));
  const y1 = to.y + middle + offset;
  const x0 = from.x + nodeWidth;
  const bend = to.x - size.gap / 2;
  return Math.abs(y0 - y1) < 0.5
    ? ([
        [x0, y0],
        [to.x, y0],
      ] as const)
    : ([
        [x0, y0],
        [bend, y0],
        [bend, y1],
        [to.x, y1],
      ] as const);
}
