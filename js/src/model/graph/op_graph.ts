/** Ops, what feeds them and the scopes that are open -> the boxes and arrows of a drawing that stays readable. */

import { type NodeFigures, nodeOfOp } from "./cost_tree";
import { chainFrom, type ScopeTree, scopeTimes } from "./scopes";

export interface OpEdges {
  readonly source: ArrayLike<number>;
  readonly op: ArrayLike<number>;
  readonly n: ArrayLike<number>;
}

export interface GraphBox {
  /** A node of the tree; of what is left out `-1 - scope`. */
  readonly id: number;
  readonly kind: "scope" | "op" | "rest";
  /** The open scope around it; 0 for none. */
  readonly inside: number;
  readonly isOpen: boolean;
  /** Scopes that hold nothing but each other, from the outermost to this one. */
  readonly chain: readonly number[];
  readonly value: number;
  /** Ops in it. */
  readonly nOps: number;
}

export interface GraphArrow {
  readonly from: number;
  readonly to: number;
  /** Edges between ops that it stands for. */
  readonly n: number;
  /** It carries no tensor. */
  readonly isControl: boolean;
}

export interface OpGraphCut {
  readonly boxes: readonly GraphBox[];
  readonly arrows: readonly GraphArrow[];
  /** Ops in boxes that stand for what was left out. */
  readonly nMerged: number;
  /** Arrows there would be, where not all are drawn. */
  readonly nArrows: number;
}

export interface CutLimits {
  /** Boxes directly in one scope. */
  readonly perScope: number;
  /** Of the whole figure: what has less is merged with its like, but for the few largest. */
  readonly leastRatio: number;
  readonly always: number;
  /** How many more boxes than that are wanted in a scope. */
  readonly more?: ReadonlyMap<number, number>;
  readonly boxes: number;
  readonly arrows: number;
}

export const CUT_LIMITS: CutLimits = { perScope: 16, leastRatio: 0.004, always: 5, boxes: 120, arrows: 260 };

/** Ops below each entry. */
export function opCounts(tree: ScopeTree): Float64Array {
  return scopeTimes(tree, () => 1).totalPs;
}

/** From a scope down, for as long as there is one scope inside that has ops, and no op. */
function folded(tree: ScopeTree, row: number, counts: Float64Array): number[] {
  const inside = (at: number) => tree.children[at].filter((inner) => counts[inner] > 0);
  return chainFrom(row, inside, (at) => tree.ops[at].length > 0);
}

/** What is open at first: the largest scopes, as long as few boxes are drawn. */
export function firstOpen(tree: ScopeTree, total: Float64Array, mostBoxes: number): Set<number> {
  const counts = opCounts(tree);
  const open = new Set<number>();
  const size = (row: number) => tree.children[row].filter((at) => counts[at] > 0).length + tree.ops[row].length;
  const start = folded(tree, 0, counts);
  for (const row of start) open.add(row);
  const end = start[start.length - 1];
  const waiting = [...tree.children[end]];
  let nBoxes = size(end);
  for (;;) {
    waiting.sort((a, b) => total[a] - total[b]);
    const row = waiting.pop();
    if (row === undefined || counts[row] === 0) return open;
    const chain = folded(tree, row, counts);
    const last = chain[chain.length - 1];
    if (nBoxes + size(last) - 1 > mostBoxes) return open;
    nBoxes += size(last) - 1;
    for (const at of chain) open.add(at);
    waiting.push(...tree.children[last]);
  }
}

/** The boxes and arrows to draw. */
export function cutGraph(
  tree: ScopeTree,
  figures: NodeFigures,
  edges: OpEdges,
  open: ReadonlySet<number>,
  limits: CutLimits = CUT_LIMITS,
): OpGraphCut {
  const cut = new Cutter(tree, figures.total, open, limits);
  cut.lay();
  const arrows = cut.arrows(edges);
  const drawn = arrows.length > limits.arrows ? arrows.slice(0, limits.arrows) : arrows;
  return { boxes: cut.boxes, arrows: drawn, nMerged: cut.nMerged, nArrows: arrows.length };
}

class Cutter {
  readonly boxes: GraphBox[] = [];
  nMerged = 0;
  readonly #counts: Float64Array;
  /** For each entry and op the box that stands for it; NaN for none of its own. */
  readonly #boxOf: Float64Array;

  constructor(
    readonly tree: ScopeTree,
    readonly total: Float64Array,
    readonly open: ReadonlySet<number>,
    readonly limits: CutLimits,
  ) {
    this.#counts = opCounts(tree);
    this.#boxOf = new Float64Array(total.length).fill(Number.NaN);
  }

  /** Scope by scope from the outermost on, so that a limit is felt inside first. */
  lay(): void {
    const { tree } = this;
    const waiting: { scope: number; inside: number }[] = [{ scope: 0, inside: 0 }];
    for (let k = 0; k < waiting.length; k++) {
      const { scope, inside } = waiting[k];
      const nodes = [
        ...tree.children[scope].filter((at) => this.#counts[at] > 0),
        ...tree.ops[scope].map((op) => nodeOfOp(tree, op)),
      ].sort((a, b) => this.total[b] - this.total[a] || a - b);
      const more = this.limits.more?.get(scope) ?? 0;
      const room = Math.max(1, Math.min(this.limits.perScope + more, this.limits.boxes - this.boxes.length));
      const kept = this.#kept(nodes, room, more);
      for (const node of kept) {
        const opened = this.#add(node, inside);
        if (opened !== null) waiting.push({ scope: opened, inside: opened });
      }
      if (kept.length < nodes.length) this.#merge(nodes.slice(kept.length), scope, inside);
    }
  }

  #kept(nodes: readonly number[], room: number, more: number): readonly number[] {
    const least = this.total[0] * this.limits.leastRatio;
    const nLarge = Math.max(this.limits.always, nodes.filter((node) => this.total[node] >= least).length) + more;
    // One box in place of one box says less.
    const most = nodes.length <= nLarge + 1 ? nodes.length : nLarge;
    return most > room || nodes.length > room
      ? nodes.slice(0, Math.max(0, Math.min(most, room - 1)))
      : nodes.slice(0, most);
  }

  /** Adds a box; the scope to go on with where it is open. */
  #add(node: number, inside: number): number | null {
    const { tree } = this;
    if (node >= tree.entries.length) {
      this.#boxOf[node] = node;
      const value = this.total[node];
      this.boxes.push({ id: node, kind: "op", inside, isOpen: false, chain: [], value, nOps: 1 });
      return null;
    }
    const chain = folded(tree, node, this.#counts);
    const id = chain[chain.length - 1];
    const isOpen = this.open.has(id) && this.boxes.length < this.limits.boxes;
    const box = { id, kind: "scope", inside, isOpen, chain, value: this.total[id], nOps: this.#counts[id] } as const;
    this.boxes.push(box);
    if (!isOpen) for (const row of chain) this.#boxOf[row] = id;
    return isOpen ? id : null;
  }

  #merge(nodes: readonly number[], scope: number, inside: number): void {
    const id = -1 - scope;
    const isOp = (node: number) => node >= this.tree.entries.length;
    const nOps = nodes.reduce((sum, node) => sum + (isOp(node) ? 1 : this.#counts[node]), 0);
    const value = nodes.reduce((sum, node) => sum + this.total[node], 0);
    for (const node of nodes) this.#boxOf[node] = id;
    this.nMerged += nOps;
    this.boxes.push({ id, kind: "rest", inside, isOpen: false, chain: [], value, nOps });
  }

  /** Between boxes, those that stand for most edges first. */
  arrows(edges: OpEdges): GraphArrow[] {
    const ofOp = this.#boxOfOps();
    const found = new Map<string, { from: number; to: number; n: number; isControl: boolean }>();
    for (let i = 0; i < edges.op.length; i++) {
      const [from, to] = [ofOp[edges.source[i]], ofOp[edges.op[i]]];
      if (from === to || !Number.isFinite(from) || !Number.isFinite(to)) continue;
      const key = `${from} ${to}`;
      const known = found.get(key);
      const n = Math.max(1, edges.n[i]);
      if (known === undefined) found.set(key, { from, to, n, isControl: edges.n[i] === 0 });
      else {
        known.n += n;
        known.isControl &&= edges.n[i] === 0;
      }
    }
    return [...found.values()].sort((a, b) => Number(a.isControl) - Number(b.isControl) || b.n - a.n);
  }

  #boxOfOps(): Float64Array {
    const { tree } = this;
    const ofEntry = new Float64Array(tree.entries.length).fill(Number.NaN);
    for (const row of tree.order) {
      const above = tree.parent[row] >= 0 ? ofEntry[tree.parent[row]] : Number.NaN;
      ofEntry[row] = Number.isNaN(above) ? this.#boxOf[row] : above;
    }
    const ofOp = new Float64Array(this.#boxOf.length - tree.entries.length).fill(Number.NaN);
    tree.ops.forEach((ops, row) => {
      for (const op of ops) {
        ofOp[op] = Number.isNaN(ofEntry[row]) ? this.#boxOf[nodeOfOp(tree, op)] : ofEntry[row];
      }
    });
    return ofOp;
  }
}
