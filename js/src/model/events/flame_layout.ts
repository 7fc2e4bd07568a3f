/** Turns a flame's nodes into rectangles: what leads to a node above it, what is inside it below, the longest on the left. */
import { hierarchy, partition } from "d3-hierarchy";
import { type FlameTree, ROOT } from "./flame";

/** A flame that is complete: groups have sums, nodes their children and self times. */
export interface Flame {
  readonly tree: FlameTree;
  readonly self: Float64Array;
  /** Children of node k, longest first: children[offset[k] .. offset[k + 1]). */
  readonly offset: Int32Array;
  readonly children: Int32Array;
}

export function finishFlame(tree: FlameTree): Flame {
  // Slices of a node and of all inside it; a node comes after its parent.
  const slices = tree.count.slice(0, tree.n);
  for (let node = tree.n - 1; node > ROOT; node--) {
    const parent = tree.parent[node];
    slices[parent] += slices[node];
    if (tree.label[parent] < 0) tree.total[parent] += tree.total[node];
    if (tree.label[node] < 0) tree.count[node] = slices[node];
  }
  tree.count[ROOT] = slices[ROOT];
  const self = tree.total.slice(0, tree.n);
  const offset = new Int32Array(tree.n + 1);
  for (let node = 1; node < tree.n; node++) {
    self[tree.parent[node]] -= tree.total[node];
    offset[tree.parent[node] + 1] += 1;
  }
  for (let node = 0; node < tree.n; node++) {
    offset[node + 1] += offset[node];
    if (self[node] < 0) self[node] = 0;
  }
  const at = offset.slice();
  const children = new Int32Array(Math.max(0, tree.n - 1));
  for (let node = 1; node < tree.n; node++) children[at[tree.parent[node]]++] = node;
  for (let node = 0; node < tree.n; node++) {
    children.subarray(offset[node], offset[node + 1]).sort((a, b) => tree.total[b] - tree.total[a] || a - b);
  }
  return { tree, self, offset, children };
}

export interface FlameRect {
  /** Of a rest the node that it is inside. */
  readonly node: number;
  /** How many nodes are too narrow to be drawn one by one; 0 for a node itself. */
  readonly nRest: number;
  readonly ps: number;
  /** Row from the top. */
  readonly level: number;
  /** Fractions of the width. */
  readonly x0: number;
  readonly x1: number;
}

interface Draft {
  readonly node: number;
  readonly nRest: number;
  readonly ps: number;
  readonly children: Draft[];
}

/** Deeper ones appear as the reader zooms in. */
const MAX_LEVELS = 200;

/** Labels from the bottom up to a node, both ends included. */
export function pathTo(tree: FlameTree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > ROOT; at = tree.parent[at]) path.push(at);
  return path.reverse();
}

/**
 * The rectangles with `zoom` over the full width; what leads to it lies above it, over the full width too.
 * @param leastRatio what has a smaller share of the width is merged, so that the number of rectangles is bounded by the width
 */
export function layoutFlame(flame: Flame, zoom: number, leastRatio: number): FlameRect[] {
  const { tree } = flame;
  const whole = tree.total[zoom];
  if (!(whole > 0)) return [];
  const path = zoom === ROOT ? [] : [ROOT, ...pathTo(tree, zoom).slice(0, -1)];
  const above = path.map((node, level) => ({ node, nRest: 0, ps: tree.total[node], level, x0: 0, x1: 1 }));
  const root = draftOf(flame, zoom, whole * leastRatio, 0);
  const laid = partition<Draft>()(
    hierarchy(root, (draft) => draft.children).sum((draft) => draft.ps - sumOf(draft.children)),
  );
  const own = laid.descendants().map(({ data, depth, x0, x1 }) => {
    const { node, nRest, ps } = data;
    return { node, nRest, ps, level: path.length + depth, x0, x1 };
  });
  return [...above, ...own];
}

const sumOf = (drafts: readonly Draft[]) => drafts.reduce((sum, { ps }) => sum + ps, 0);

function draftOf(flame: Flame, node: number, leastPs: number, level: number): Draft {
  const { tree, offset, children } = flame;
  const drafts: Draft[] = [];
  let restPs = 0;
  let nRest = 0;
  for (let k = offset[node]; k < offset[node + 1]; k++) {
    const child = children[k];
    const ps = tree.total[child];
    if (ps >= leastPs && ps > 0 && level < MAX_LEVELS) drafts.push(draftOf(flame, child, leastPs, level + 1));
    else {
      restPs += ps;
      nRest += 1;
    }
  }
  if (restPs >= leastPs && restPs > 0) drafts.push({ node, nRest, ps: restPs, children: [] });
  // Slices that outlive the one around them must not make it narrower than they are.
  return { node, nRest: 0, ps: Math.max(tree.total[node], sumOf(drafts)), children: drafts };
}

export type FlameStep = "up" | "down" | "left" | "right";

/** Index of the rectangle that an arrow key leads to. */
export function flameNeighbour(rects: readonly FlameRect[], from: number, step: FlameStep): number {
  const now = rects[from];
  if (!now) return rects.length > 0 ? 0 : -1;
  const middle = (now.x0 + now.x1) / 2;
  const overlaps = ({ x0, x1 }: FlameRect) => x0 < now.x1 && x1 > now.x0;
  const holds = ({ x0, x1 }: FlameRect) => x0 <= middle && x1 >= middle;
  let best = from;
  for (const [k, rect] of rects.entries()) {
    const other = rects[best];
    if (step === "up" && rect.level === now.level - 1 && holds(rect)) return k;
    if (step === "down" && rect.level === now.level + 1 && overlaps(rect)) return k;
    if (rect.level !== now.level) continue;
    if (step === "right" && rect.x0 > now.x0 && (best === from || rect.x0 < other.x0)) best = k;
    if (step === "left" && rect.x0 < now.x0 && (best === from || rect.x0 > other.x0)) best = k;
  }
  return best;
}
