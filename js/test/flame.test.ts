import { describe, expect, it } from "vitest";
import type { Span } from "../src/data/columns";
import {
  type Flame,
  FlameBuilder,
  type FlameOptions,
  FlameTree,
  finishFlame,
  layoutFlame,
  pathTo,
  ROOT,
} from "../src/model/aggregate";
import { neighbourOf } from "../src/model/scopes";
import { type Drawing, draw, randomSlices } from "./drawn_events";

const EACH_LINE: FlameOptions = { groupOf: (line) => line };

function flameOf(drawing: Drawing, span: Span, options: FlameOptions = EACH_LINE): Flame {
  const builder = new FlameBuilder(drawing.events, span, options);
  expect(builder.step()).toBe(true);
  return finishFlame(builder.tree);
}

/** "1/4/2" -> [count, total] of all paths. */
function paths({ tree }: Flame): Map<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  for (let node = 1; node < tree.n; node++) {
    if (tree.label[node] < 0) continue;
    const path = pathTo(tree, node).map((at) => tree.label[at]);
    found.set(path.join("/"), [tree.count[node], tree.total[node]]);
  }
  return found;
}

/** The same by brute force: each slice with the names around it. */
function expected({ placed }: Drawing, span: Span, groupOf = (line: number) => line): Map<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  for (const slice of placed) {
    if (slice.start >= span.t1 || slice.start + slice.duration <= span.t0) continue;
    let path = String(slice.name);
    for (let at = slice.parent; at >= 0; at = placed[at].parent) path = `${placed[at].name}/${path}`;
    path = `${-1 - 1 - groupOf(slice.line)}/${path}`;
    const [count, total] = found.get(path) ?? [0, 0];
    const inside = Math.min(slice.start + slice.duration, span.t1) - Math.max(slice.start, span.t0);
    found.set(path, [count + 1, total + inside]);
  }
  return found;
}

describe("a flame", () => {
  it("sums slices by the names that lead to them, as far as they lie in the span", () => {
    for (let seed = 1; seed <= 5; seed++) {
      const slices = randomSlices(seed, 900, 2000);
      for (const edges of [[], [300, 700, 1500]]) {
        const drawing = draw(slices, { edges });
        for (const span of [
          { t0: 0, t1: 3000 },
          { t0: 250, t1: 1200 },
          { t0: 701, t1: 702 },
        ]) {
          const together = { groupOf: () => 0 };
          expect(paths(flameOf(drawing, span))).toEqual(expected(drawing, span));
          expect(paths(flameOf(drawing, span, together))).toEqual(expected(drawing, span, () => 0));
        }
      }
    }
  });

  it("gives the whole span the sum of the lines, and each node what its children leave", () => {
    const drawing = draw(randomSlices(4, 600, 1000));
    const { tree, self } = flameOf(drawing, { t0: 0, t1: 2000 });
    const outermost = drawing.placed.filter(({ depth }) => depth === 0);
    expect(tree.total[ROOT]).toBe(outermost.reduce((sum, { duration }) => sum + duration, 0));
    expect(tree.count[ROOT]).toBe(drawing.placed.length);
    const selfSum = self.reduce((sum, ps) => sum + ps, 0);
    expect(selfSum).toBe(tree.total[ROOT]);
  });

  it("of a selection has only what lies in its slices, the outermost at the bottom", () => {
    const drawing = draw([
      { start: 0, duration: 100, name: 1 },
      { start: 10, duration: 50, name: 2 },
      { start: 20, duration: 20, name: 2 },
      { start: 70, duration: 10, name: 3 },
      { start: 200, duration: 30, name: 2 },
    ]);
    const isBase = (p: number) => drawing.placed[p].name === 2;
    const flame = flameOf(drawing, { t0: 0, t1: 300 }, { groupOf: () => 0, isBase });
    expect(paths(flame)).toEqual(
      new Map([
        ["-2/2", [2, 80]],
        ["-2/2/2", [1, 20]],
      ]),
    );
  });

  it("leaves lines out, keeps the longest slice of a node, and goes on where it stopped", () => {
    const drawing = draw(randomSlices(5, 600, 1000));
    const builder = new FlameBuilder(drawing.events, { t0: 0, t1: 2000 }, { groupOf: (line) => (line === 1 ? -1 : 0) });
    let steps = 0;
    while (!builder.step(() => true)) steps += 1;
    expect(steps).toBeGreaterThan(3);
    const { tree } = builder;
    for (let node = 1; node < tree.n; node++) {
      if (tree.label[node] < 0) continue;
      const longest = drawing.placed[tree.longest[node]];
      expect(longest.line).not.toBe(1);
      expect(longest.name).toBe(tree.label[node]);
    }
  });

  it("has what is around loaded slices though its own tile has not arrived", () => {
    const slices = [
      { start: 0, duration: 100, name: 1 },
      { start: 5, duration: 10, name: 2 },
      { start: 60, duration: 10, name: 3 },
    ];
    const drawing = draw(slices, { edges: [50], arrived: [1] });
    expect([...paths(flameOf(drawing, { t0: 0, t1: 200 })).keys()]).toEqual(["-2/1", "-2/1/3"]);
  });

  it("finds nodes again among very many", () => {
    const tree = new FlameTree();
    const nodes = Array.from({ length: 5000 }, (_, k) => tree.child(k % 7, k));
    for (const [k, node] of nodes.entries()) expect(tree.child(k % 7, k)).toBe(node);
    expect(tree.n).toBe(5001);
  });
});

describe("the rectangles of a flame", () => {
  const drawing = draw(randomSlices(2, 900, 2000));
  const flame = flameOf(drawing, { t0: 0, t1: 3000 });

  it("lie inside those around them, longest on the left, in proportion to their time", () => {
    const rects = layoutFlame(flame, ROOT, 0);
    const of = new Map(rects.filter(({ nRest }) => nRest === 0).map((rect) => [rect.node, rect]));
    expect(of.size).toBe(flame.tree.n);
    for (const rect of rects) {
      expect(rect.x1 - rect.x0).toBeCloseTo(rect.ps / flame.tree.total[ROOT], 9);
      const parent = of.get(flame.tree.parent[rect.node]);
      if (!parent) continue;
      expect(rect.level).toBe(parent.level + 1);
      expect(rect.x0).toBeGreaterThanOrEqual(parent.x0 - 1e-9);
      expect(rect.x1).toBeLessThanOrEqual(parent.x1 + 1e-9);
    }
  });

  it("are as many as the width has room for: what is narrower is merged", () => {
    const rects = layoutFlame(flame, ROOT, 0.02);
    for (const { x0, x1, nRest } of rects) expect(x1 - x0 >= 0.02 - 1e-9 || nRest > 0).toBe(true);
    expect(rects.length).toBeLessThan(layoutFlame(flame, ROOT, 0).length);
  });

  it("of a zoomed flame show the way back over the full width", () => {
    const { tree } = flame;
    const deep = Array.from({ length: tree.n }, (_, node) => node).reduce((a, b) =>
      pathTo(tree, b).length > pathTo(tree, a).length ? b : a,
    );
    const rects = layoutFlame(flame, deep, 0);
    const path = pathTo(tree, deep);
    for (const [level, node] of path.entries()) {
      expect(rects.find((rect) => rect.node === node)).toMatchObject({ level: level + 1, x0: 0, x1: 1 });
    }
  });

  it("can be walked by arrows: down and back up, right and back left", () => {
    const rects = layoutFlame(flame, ROOT, 0.001);
    const down = neighbourOf(rects, 0, "ArrowDown") ?? -1;
    expect(rects[down].level).toBe(1);
    expect(neighbourOf(rects, down, "ArrowUp")).toBe(0);
    const right = neighbourOf(rects, down, "ArrowRight") ?? -1;
    expect(rects[right].x0).toBeCloseTo(rects[down].x1, 9);
    expect(neighbourOf(rects, right, "ArrowLeft")).toBe(down);
    expect(neighbourOf(rects, 0, "ArrowUp")).toBe(0);
  });

  it("are none where nothing took time", () => {
    expect(layoutFlame(flameOf(draw([]), { t0: 0, t1: 10 }), ROOT, 0)).toEqual([]);
  });
});
