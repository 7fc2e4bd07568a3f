/** The boxes and arrows of a cut graph -> where they are, sources on the left, open scopes around what is inside them. */

import { layout as dagreLayout, Graph } from "@dagrejs/dagre";
import type { GraphArrow, GraphBox, OpGraphCut } from "./op_graph";

export interface PlacedBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

type Point = readonly [number, number];

export interface PlacedArrow {
  readonly arrow: GraphArrow;
  /** Two points, or more where the way leads around boxes. */
  readonly points: readonly Point[];
}

export interface PlacedGraph {
  /** As `boxes` of the cut. */
  readonly boxes: readonly PlacedBox[];
  readonly arrows: readonly PlacedArrow[];
  readonly width: number;
  readonly height: number;
}

export const BOX = { width: 150, height: 40 } as const;
/** Room for the title of an open scope. */
export const TITLE_PX = 20;
const PAD_PX = 10;
/** Boxes that nothing joins stand in a block of about this shape. */
const LOOSE_RATIO = 2;
const GAP = { x: 36, y: 12 } as const;

interface Inner {
  readonly width: number;
  readonly height: number;
  /** By box, from the top left corner of the scope's inside. */
  readonly places: ReadonlyMap<number, PlacedBox>;
  readonly ways: ReadonlyMap<GraphArrow, readonly Point[]>;
}

/** Places everything, scope by scope from the innermost: each open scope is one box for the scope around it. */
export function placeOpGraph({ boxes, arrows }: OpGraphCut): PlacedGraph {
  const layout = new Layout(boxes, arrows);
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

  /** The size of a box, with what is inside it where it is open. */
  #size({ id, isOpen }: GraphBox): { width: number; height: number } {
    if (!isOpen) return { ...BOX };
    const { width, height } = this.inside(id);
    return { width: Math.max(BOX.width, width + 2 * PAD_PX), height: height + PAD_PX + TITLE_PX + 4 };
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
    const size = extent(places);
    block(
      children.filter(({ id }) => !joined.has(id)),
      sizes,
      places,
      size.height > 0 ? size.height + GAP.y : 0,
      size.width,
    );
    return { ...extent(places), places, ways };
  }

  /** Sets the places of all boxes in a scope whose inside begins at a point. */
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

/** By what feeds what, from left to right. */
function layered(
  ids: readonly number[],
  sizes: ReadonlyMap<number, { width: number; height: number }>,
  edges: readonly { from: number; to: number; arrows: readonly GraphArrow[] }[],
) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP.y, ranksep: GAP.x, edgesep: 8, marginx: 0, marginy: 0 });
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
  sizes: ReadonlyMap<number, { width: number; height: number }>,
  places: Map<number, PlacedBox>,
  top: number,
  width: number,
): void {
  const of = (box: GraphBox) => sizes.get(box.id) ?? BOX;
  const area = boxes.reduce((sum, box) => sum + (of(box).width + GAP.y) * (of(box).height + GAP.y), 0);
  const room = Math.max(width, Math.sqrt(area * LOOSE_RATIO), ...boxes.map((box) => of(box).width));
  let [x, y, rowHeight] = [0, top, 0];
  for (const box of boxes) {
    const size = of(box);
    if (x > 0 && x + size.width > room) [x, y, rowHeight] = [0, y + rowHeight + GAP.y, 0];
    places.set(box.id, { x, y, ...size });
    x += size.width + GAP.y;
    rowHeight = Math.max(rowHeight, size.height);
  }
}

function extent(places: ReadonlyMap<number, PlacedBox>): { width: number; height: number } {
  let [width, height] = [0, 0];
  for (const box of places.values()) {
    width = Math.max(width, box.x + box.width);
    height = Math.max(height, box.y + box.height);
  }
  return { width, height };
}
