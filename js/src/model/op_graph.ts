/** The drawn graph of ops: boxes and arrows that stay readable, where they are, and how hot. */

import { layout as dagreLayout, Graph } from "@dagrejs/dagre";
import type { Coded, HloGraphMeta } from "../data/meta";
import { chainFrom, type ScopeTree, scopeTimes } from "./scopes";
import { type NodeFigures, nodeOfOp } from "./structure";

/** From 0 to 1, in proportion to the largest; 0 where nothing has the figure. */
export function heatOf(value: number, largest: number): number {
  if (!(largest > 0) || !(value > 0)) return 0;
  return Math.min(1, value / largest);
}

/** The least heat that can be told from none. */
const FAINTEST_PERCENT = 8;

/** Of the hot colour in a mix with the ground. What has any of the figure can be told from what has none. */
export function heatPercent(heat: number): number {
  return heat > 0 ? Math.round(FAINTEST_PERCENT + (100 - FAINTEST_PERCENT) * heat) : 0;
}

export function heatMarks(largest: number): readonly number[] {
  return largest > 0 ? [0, largest / 2, largest] : [0];
}

type OpEdges = Readonly<Record<"source" | "op" | "n", ArrayLike<number>>>;

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
  readonly nArrows: number;
}

interface CutLimits extends Readonly<Record<"perScope" | "always" | "boxes" | "arrows", number>> {
  /** Of the whole figure: what has less is merged with its like, but for the few largest. */
  readonly leastRatio: number;
  /** How many more boxes than that are wanted in a scope. */
  readonly more?: ReadonlyMap<number, number>;
}

export const CUT_LIMITS: CutLimits = { perScope: 16, leastRatio: 0.004, always: 5, boxes: 120, arrows: 260 };

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

type Size = Readonly<Record<"width" | "height", number>>;
export type PlacedBox = Readonly<Record<"x" | "y" | "width" | "height", number>>;

type Point = readonly [number, number];

export interface PlacedArrow {
  readonly arrow: GraphArrow;
  readonly points: readonly Point[];
}

export interface PlacedGraph {
  /** As `boxes` of the cut. */
  readonly boxes: readonly PlacedBox[];
  readonly arrows: readonly PlacedArrow[];
  readonly width: number;
  readonly height: number;
}

export const TITLE_PX = 20;
const PAD_PX = 10;
/** Boxes that nothing joins stand in a block of about this shape. */
const LOOSE_RATIO = 2;

/** Of a closed box, and between boxes. */
export type GraphSize = Readonly<Record<"width" | "height" | "gapX" | "gapY", number>>;
const SIZE: GraphSize = { width: 150, height: 40, gapX: 36, gapY: 12 };

interface Inner {
  readonly width: number;
  readonly height: number;
  /** By box, from the top left corner of the scope's inside. */
  readonly places: ReadonlyMap<number, PlacedBox>;
  readonly ways: ReadonlyMap<GraphArrow, readonly Point[]>;
}

/** Places everything, scope by scope from the innermost: each open scope is one box for the scope around it. */
export function placeOpGraph({ boxes, arrows }: OpGraphCut, size = SIZE): PlacedGraph {
  const layout = new Layout(boxes, arrows, size);
  const whole = layout.inside(0);
  const placed = new Map<number, PlacedBox>();
  const ways = new Map<GraphArrow, readonly Point[]>();
  layout.spread(0, [0, 0], placed, ways);
  const drawn = arrows.map((arrow) => ({ arrow, points: ways.get(arrow) ?? straight(placed, arrow) }));
  const nowhere = { x: 0, y: 0, width: 0, height: 0 };
  return {
    boxes: boxes.map(({ id }) => placed.get(id) ?? nowhere),
    arrows: drawn,
    width: whole.width,
    height: whole.height,
  };
}

/** From the right side of one box to the left side of another. */
function straight(placed: ReadonlyMap<number, PlacedBox>, { from, to }: GraphArrow): Point[] {
  const [a, b] = [placed.get(from), placed.get(to)];
  if (a === undefined || b === undefined) return [];
  return [
    [a.x + a.width, a.y + a.height / 2],
    [b.x, b.y + b.height / 2],
  ];
}

class Layout {
  readonly #inner = new Map<number, Inner>();
  readonly #children = new Map<number, GraphBox[]>();
  /** For each scope the arrows between what is directly in it, whichever boxes deeper inside they join. */
  readonly #between = new Map<number, Map<string, { from: number; to: number; arrows: GraphArrow[] }>>();

  constructor(
    readonly boxes: readonly GraphBox[],
    arrows: readonly GraphArrow[],
    readonly size: GraphSize,
  ) {
    for (const box of boxes) this.#children.set(box.inside, [...(this.#children.get(box.inside) ?? []), box]);
    const insideOf = new Map(boxes.map(({ id, inside }) => [id, inside]));
    for (const arrow of arrows) this.#lift(arrow, insideOf);
  }

  /** Finds the scope in which both ends of an arrow are, and what of its boxes they are in. */
  #lift(arrow: GraphArrow, insideOf: ReadonlyMap<number, number>): void {
    const path = (id: number) => {
      const found = [id];
      for (let at = insideOf.get(id) ?? 0; at !== 0; at = insideOf.get(at) ?? 0) found.push(at);
      return [...found, 0].reverse();
    };
    const [from, to] = [path(arrow.from), path(arrow.to)];
    let k = 0;
    while (from[k + 1] === to[k + 1] && k + 1 < Math.min(from.length, to.length)) k += 1;
    if (from[k + 1] === undefined || to[k + 1] === undefined) return;
    const scope = this.#between.get(from[k]) ?? new Map();
    this.#between.set(from[k], scope);
    const key = `${from[k + 1]} ${to[k + 1]}`;
    const known = scope.get(key) ?? { from: from[k + 1], to: to[k + 1], arrows: [] };
    known.arrows.push(arrow);
    scope.set(key, known);
  }

  #size({ id, isOpen }: GraphBox): Size {
    if (!isOpen) return { width: this.size.width, height: this.size.height };
    const { width, height } = this.inside(id);
    return { width: Math.max(this.size.width, width + 2 * PAD_PX), height: height + PAD_PX + TITLE_PX + 4 };
  }

  inside(scope: number): Inner {
    const known = this.#inner.get(scope);
    if (known !== undefined) return known;
    const made = this.#place(scope);
    this.#inner.set(scope, made);
    return made;
  }

  #place(scope: number): Inner {
    const children = this.#children.get(scope) ?? [];
    const edges = [...(this.#between.get(scope)?.values() ?? [])];
    const joined = new Set(edges.flatMap(({ from, to }) => [from, to]));
    const sizes = new Map(children.map((box) => [box.id, this.#size(box)]));
    const places = new Map<number, PlacedBox>();
    const ways = new Map<GraphArrow, readonly Point[]>();
    const graph = layered(
      children.filter(({ id }) => joined.has(id)).map(({ id }) => id),
      sizes,
      edges,
      this.size,
    );
    for (const id of graph.nodes()) {
      const { x, y, width, height } = graph.node(id) as PlacedBox;
      places.set(Number(id), { x: x - width / 2, y: y - height / 2, width, height });
    }
    for (const { from, to, arrows } of edges) {
      const { points = [] } = graph.edge(String(from), String(to)) as { points?: { x: number; y: number }[] };
      for (const arrow of arrows) {
        if (arrow.from === from && arrow.to === to) ways.set(arrow, fromSideToSide(points, places, from, to));
      }
    }
    const loose = children.filter(({ id }) => !joined.has(id));
    block(loose, sizes, places, this.size.gapY);
    return { ...extent(places), places, ways };
  }

  spread(
    scope: number,
    [x0, y0]: Point,
    placed: Map<number, PlacedBox>,
    ways: Map<GraphArrow, readonly Point[]>,
  ): void {
    const inner = this.inside(scope);
    for (const box of this.#children.get(scope) ?? []) {
      const place = inner.places.get(box.id);
      if (place === undefined) continue;
      const [x, y] = [place.x + x0, place.y + y0];
      placed.set(box.id, { ...place, x, y });
      if (box.isOpen) this.spread(box.id, [x + PAD_PX, y + TITLE_PX + 4], placed, ways);
    }
    for (const [arrow, points] of inner.ways)
      ways.set(
        arrow,
        points.map(([x, y]) => [x + x0, y + y0]),
      );
  }
}

/** Arrows that go on to the right begin and end in the middle of a side, not at the corner that is nearest. */
function fromSideToSide(
  points: readonly { x: number; y: number }[],
  places: ReadonlyMap<number, PlacedBox>,
  from: number,
  to: number,
): Point[] {
  const way = points.map(({ x, y }) => [x, y] as const);
  const [a, b] = [places.get(from), places.get(to)];
  if (a === undefined || b === undefined || way.length < 2 || b.x < a.x + a.width) return way;
  const start = [a.x + a.width, a.y + a.height / 2] as const;
  const end = [b.x, b.y + b.height / 2] as const;
  // Level where the layout made a bend only to leave room.
  const inner = Math.abs(start[1] - end[1]) < 1 && way.length === 3 ? [] : way.slice(1, -1);
  return [start, ...inner.filter(([x]) => x > start[0] && x < end[0]), end];
}

function layered(
  ids: readonly number[],
  sizes: ReadonlyMap<number, Size>,
  edges: readonly { from: number; to: number; arrows: readonly GraphArrow[] }[],
  { gapX, gapY }: GraphSize,
) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: gapY, ranksep: gapX, edgesep: 8, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(String(id), { ...sizes.get(id) });
  for (const { from, to, arrows } of edges) {
    const n = arrows.reduce((sum, arrow) => sum + arrow.n, 0);
    // Whole weights: with others dagre's sums are rounded, and it looks for a better edge where there is none.
    graph.setEdge(String(from), String(to), { weight: Math.min(4, 1 + Math.round(Math.log2(Math.max(1, n)))) });
  }
  if (ids.length > 0) dagreLayout(graph);
  return graph;
}

/** Puts boxes that nothing joins below the others, row by row, so that they do not make one long column. */
function block(
  boxes: readonly GraphBox[],
  sizes: ReadonlyMap<number, Size>,
  places: Map<number, PlacedBox>,
  gap: number,
): void {
  const { width, height } = extent(places);
  const of = (box: GraphBox) => sizes.get(box.id) as Size;
  const area = boxes.reduce((sum, box) => sum + (of(box).width + gap) * (of(box).height + gap), 0);
  const room = Math.max(width, Math.sqrt(area * LOOSE_RATIO), ...boxes.map((box) => of(box).width));
  let [x, y, rowHeight] = [0, height > 0 ? height + gap : 0, 0];
  for (const box of boxes) {
    const size = of(box);
    if (x > 0 && x + size.width > room) [x, y, rowHeight] = [0, y + rowHeight + gap, 0];
    places.set(box.id, { x, y, ...size });
    x += size.width + gap;
    rowHeight = Math.max(rowHeight, size.height);
  }
}

function extent(places: ReadonlyMap<number, PlacedBox>): Size {
  let [width, height] = [0, 0];
  for (const box of places.values()) {
    width = Math.max(width, box.x + box.width);
    height = Math.max(height, box.y + box.height);
  }
  return { width, height };
}

/** Of these the name says more than the opcode. */
const NAMED = new Set(["parameter", "fusion", "custom-call", "call", "async-start"]);

export interface HloNode extends Readonly<Record<"name" | "opcode" | "shape" | "label", string>> {
  readonly op: string;
  readonly value: number;
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
