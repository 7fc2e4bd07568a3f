import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leafOf } from "../src/model/names";
import {
  CUT_LIMITS,
  cutGraph,
  firstOpen,
  heatMarks,
  heatOf,
  heatPercent,
  opCounts,
  placeOpGraph,
  TITLE_PX,
} from "../src/model/op_graph";
import { type ScopeTree, scopeTree } from "../src/model/scopes";
import {
  around,
  FIGURES,
  findNodes,
  formatFigure,
  largestPath,
  nodeFigures,
  nodeOfOp,
  openRows,
  opsOfNode,
  Structure,
  type TreeKind,
} from "../src/model/structure";
import { structureMeta } from "./structure_scene";

const OPS = [
  ["net/dense/MatMul", "MatMul", 500],
  ["net/dense/BiasAdd", "BiasAdd", 20],
  ["net/dense/Relu", "Relu", 30],
  ["net/out/MatMul", "MatMul", 200],
  ["loss/Sum", "Sum", 10],
] as const;
const STRUCTURE = new Structure(structureMeta({ ops: OPS }));

/** Scopes below each other at random, ops in them, and edges between the ops. */
const GRAPHS = fc
  .record({
    parents: fc.array(fc.nat(), { maxLength: 25 }),
    ops: fc.array(fc.record({ at: fc.nat(), value: fc.nat(1000) }), { minLength: 1, maxLength: 60 }),
    edges: fc.array(fc.record({ a: fc.nat(), b: fc.nat(), n: fc.nat(3) }), { maxLength: 80 }),
    open: fc.array(fc.nat(), { maxLength: 20 }),
  })
  .map(({ parents, ops, edges, open }) => {
    const entries = [{ name: "", parent: -1 }, ...parents.map((at, i) => ({ name: `s${i}`, parent: at % (i + 1) }))];
    const tree = scopeTree(
      entries,
      ops.map(({ at }) => at % entries.length),
    );
    const values = Float64Array.from(ops, ({ value }) => value);
    const pairs = edges.map(({ a, b, n }) => ({ source: a % ops.length, op: b % ops.length, n }));
    return {
      tree,
      values,
      figures: nodeFigures(tree, values),
      edges: { source: pairs.map((e) => e.source), op: pairs.map((e) => e.op), n: pairs.map((e) => e.n) },
      open: new Set(open.map((at) => at % entries.length)),
    };
  });

const byTotal = (total: Float64Array) => (a: number, b: number) => total[b] - total[a] || a - b;

describe("structure", () => {
  it("says the same total whatever the ops are cut by", () => {
    for (const kind of ["scope", "op", "code"] satisfies TreeKind[]) {
      for (const { key } of STRUCTURE.figures) {
        const values = STRUCTURE.values(key);
        const { total } = nodeFigures(STRUCTURE.tree(kind), values);
        expect(total[0]).toBe(values.reduce((a, b) => a + b, 0));
      }
    }
  });

  it("offers only figures that say anything", () => {
    const keys = STRUCTURE.figures.map(({ key }) => key);
    expect(keys).toEqual(["micros", "accelerator_micros", "cpu_micros", "bytes", "occurrence", "run_count"]);
  });

  it("ranks op types by the sum of their own ops", () => {
    const tree = STRUCTURE.tree("op");
    const { total } = nodeFigures(tree, STRUCTURE.values("micros"));
    const rows = openRows(tree, new Set(), byTotal(total));
    expect(rows.map(({ node }) => [tree.entries[node].name, total[node]])).toEqual([
      ["MatMul", 700],
      ["Relu", 30],
      ["BiasAdd", 20],
      ["Sum", 10],
    ]);
  });

  it("keeps ops whose call is unknown together", () => {
    const meta = structureMeta({ ops: OPS });
    const tree = new Structure({ ...meta, frame: [0, 3, 4, 5, 0] }).tree("code");
    const unknown = tree.entries.findIndex(({ name }) => name === "call unknown");
    expect(opsOfNode(tree, unknown)).toEqual([0, 4]);
  });

  it("writes figures in their units", () => {
    const text = (key: string, value: number) =>
      formatFigure(FIGURES.find((one) => one.key === key) ?? FIGURES[0], value);
    expect(text("micros", 4720)).toBe("4.72 ms");
    expect(text("bytes", 385 * 2 ** 20)).toBe("385 MiB");
    expect(text("params", 6_922)).toBe("6,922");
    expect(text("float_ops", 12_300_000_000)).toBe("12.3 G");
  });

  it("takes the last part of a name, or all of it where nothing would be left", () => {
    expect(["a/b/c", "Iterator::Root", "a/", "x"].map(leafOf)).toEqual(["c", "Root", "a/", "x"]);
  });
});

describe("rows of a tree", () => {
  it("show every node once when all is open, and none that is not inside an open one", () => {
    fc.assert(
      fc.property(GRAPHS, ({ tree, figures, open }) => {
        const order = byTotal(figures.total);
        const all = openRows(tree, new Set(tree.entries.keys()), order);
        const shown = all.flatMap(({ chain }) => chain);
        expect(shown.toSorted((a, b) => a - b)).toEqual(
          Array.from({ length: figures.total.length - 1 }, (_, k) => k + 1),
        );
        for (const { node } of openRows(tree, open, order)) expect(shown).toContain(node);
      }),
    );
  });

  it("stand in order among their siblings, and one entry inside another and nothing else is one row", () => {
    const tree = scopeTree(
      [
        { name: "", parent: -1 },
        { name: "a", parent: 0 },
        { name: "b", parent: 1 },
        { name: "c", parent: 0 },
      ],
      [2, 2, 3],
    );
    const { total } = nodeFigures(tree, Float64Array.of(1, 2, 9));
    const rows = openRows(tree, new Set([2]), byTotal(total));
    expect(rows.map(({ chain, depth, isOpen }) => [chain, depth, isOpen])).toEqual([
      [[3], 0, false],
      [[1, 2], 0, true],
      [[nodeOfOp(tree, 1)], 1, false],
      [[nodeOfOp(tree, 0)], 1, false],
    ]);
  });

  it("begin with the path along which most of the cost goes", () => {
    const tree = STRUCTURE.tree("scope");
    const open = largestPath(tree, nodeFigures(tree, STRUCTURE.values("micros")).total);
    expect([...open].map((row) => tree.entries[row].name)).toEqual(["net", "dense"]);
  });
});

describe("a search", () => {
  const find = (text: string, isPath = false) => {
    const tree = STRUCTURE.tree("scope");
    const { total } = nodeFigures(tree, STRUCTURE.values("micros"));
    const about = { names: STRUCTURE.meta.names, typeOf: (op: number) => STRUCTURE.typeOf(op) };
    const nodes = findNodes(tree, about, (value) => value.toLowerCase().includes(text), { isPath, total });
    const n = tree.entries.length;
    return nodes.map((node) => (node < n ? tree.entries[node].name : STRUCTURE.meta.names[node - n]));
  };

  it("finds names and types, the largest first", () => {
    expect(find("matmul")).toEqual(["net/dense/MatMul", "net/out/MatMul"]);
    expect(find("dense")).toEqual(["dense"]);
  });

  it("of a path finds all below it", () => {
    expect(find("net/dense", true)).toEqual(["dense", "net/dense/MatMul", "net/dense/Relu", "net/dense/BiasAdd"]);
  });
});

describe("heat", () => {
  it("is in proportion, and what has any can be told from what has none", () => {
    expect(heatOf(5, 10)).toBe(0.5);
    expect([heatOf(0, 10), heatOf(3, 0), heatOf(Number.NaN, 1)]).toEqual([0, 0, 0]);
    expect([heatPercent(0), heatPercent(1e-9), heatPercent(1)]).toEqual([0, 8, 100]);
    expect(heatMarks(8)).toEqual([0, 4, 8]);
  });
});

describe("the drawn graph", () => {
  it("has every op in one box, and every edge between two boxes in one arrow", () => {
    fc.assert(
      fc.property(GRAPHS, ({ tree, figures, edges, open }) => {
        const cut = cutGraph(tree, figures, edges, open, { ...CUT_LIMITS, arrows: 1e6 });
        const closed = cut.boxes.filter(({ isOpen }) => !isOpen);
        expect(closed.reduce((sum, { nOps }) => sum + nOps, 0)).toBe(opCounts(tree)[0]);
        expect(closed.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(figures.total[0], 6);
        const ids = new Set(closed.map(({ id }) => id));
        const keys = cut.arrows.map(({ from, to }) => `${from} ${to}`);
        expect(new Set(keys).size).toBe(keys.length);
        for (const { from, to } of cut.arrows)
          expect([ids.has(from), ids.has(to), from === to]).toEqual([true, true, false]);
      }),
    );
  });

  it("stays within its limits and says what it merged", () => {
    const entries = [{ name: "", parent: -1 }];
    const tree = scopeTree(entries, new Array(5000).fill(0));
    const cut = cutGraph(
      tree,
      nodeFigures(tree, new Float64Array(5000).fill(1)),
      { source: [], op: [], n: [] },
      new Set(),
    );
    expect(cut.boxes.length).toBeLessThanOrEqual(CUT_LIMITS.perScope);
    expect(cut.nMerged + cut.boxes.filter(({ kind }) => kind === "op").length).toBe(5000);
    const more = cutGraph(
      tree,
      nodeFigures(tree, new Float64Array(5000).fill(1)),
      { source: [], op: [], n: [] },
      new Set(),
      {
        ...CUT_LIMITS,
        more: new Map([[0, 16]]),
      },
    );
    expect(more.boxes.length).toBeGreaterThan(cut.boxes.length);
  });

  it("opens what costs most at first, and few boxes", () => {
    const tree = STRUCTURE.tree("scope");
    const { total } = nodeFigures(tree, STRUCTURE.values("micros"));
    const names = (open: Set<number>) => [...open].map((row) => tree.entries[row].name);
    expect(names(firstOpen(tree, total, 3))).toEqual(["", "net"]);
    expect(names(firstOpen(tree, total, 9))).toEqual(["", "net", "dense", "out", "loss"]);
  });

  it("is laid out without a box over another, and open scopes hold what is inside them below their title", () => {
    fc.assert(
      fc.property(GRAPHS, ({ tree, figures, edges, open }) => {
        const cut = cutGraph(tree, figures, edges, open);
        const { boxes, width, height } = placeOpGraph(cut);
        cut.boxes.forEach((box, i) => {
          const a = boxes[i];
          expect(a.x >= 0 && a.y >= 0 && a.x + a.width <= width + 1e-6 && a.y + a.height <= height + 1e-6).toBe(true);
          const outer = cut.boxes.findIndex(({ id }) => id === box.inside && box.inside !== 0);
          if (outer >= 0) {
            const b = boxes[outer];
            expect(a.x >= b.x && a.y >= b.y + TITLE_PX && a.x + a.width <= b.x + b.width + 1e-6).toBe(true);
            expect(a.y + a.height).toBeLessThanOrEqual(b.y + b.height + 1e-6);
          }
          cut.boxes.slice(i + 1).forEach((other, k) => {
            const b = boxes[i + 1 + k];
            if (other.inside !== box.inside) return;
            const isApart =
              a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
            expect(isApart).toBe(true);
          });
        });
      }),
      { numRuns: 40 },
    );
  }, 30_000);

  it("is laid out where edges weigh differently, and nothing went along some", () => {
    const tree = scopeTree([{ name: "", parent: -1 }], new Array(6).fill(0));
    const edges = { source: [3, 3, 5, 0], op: [4, 4, 4, 1], n: [2, 3, 0, 0] };
    const cut = cutGraph(tree, nodeFigures(tree, new Float64Array(6)), edges, new Set());
    const { arrows } = placeOpGraph(cut);
    expect(arrows.map(({ points }) => points.length >= 2)).toEqual([true, true, true]);
  });
});

describe("the way to a node", () => {
  it("leaves the root out", () => {
    const tree: ScopeTree = STRUCTURE.tree("scope");
    expect(around(tree, 2).map((row) => tree.entries[row].name)).toEqual(["net", "dense"]);
    expect(around(tree, 0)).toEqual([]);
  });
});
