import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layoutScopes, opsUnder, pathOf, scopeFigures, scopePath, scopeTimes, scopeTree } from "../src/model/scopes";

/** A tree of up to 60 scopes, each below an earlier one, and up to 80 ops in them. */
const TREES = fc
  .record({
    parents: fc.array(fc.nat(), { maxLength: 59 }),
    ops: fc.array(fc.record({ at: fc.nat(), ps: fc.nat(1e9) }), { maxLength: 80 }),
  })
  .map(({ parents, ops }) => {
    const entries = [{ name: "", parent: -1 }, ...parents.map((at, i) => ({ name: `s${i}`, parent: at % (i + 1) }))];
    return { entries, places: ops.map(({ at }) => at % entries.length), ps: ops.map(({ ps }) => ps) };
  });

describe("scopes", () => {
  it("add up to the root", () => {
    fc.assert(
      fc.property(TREES, ({ entries, places, ps }) => {
        const tree = scopeTree(entries, places);
        const times = scopeTimes(tree, (op) => ps[op]);
        expect(times.totalPs[0]).toBe(ps.reduce((a, b) => a + b, 0));
        expect(opsUnder(tree, 0).length).toBe(places.length);
        for (let row = 0; row < entries.length; row++) {
          const under = opsUnder(tree, row).reduce((sum, op) => sum + ps[op], 0);
          expect(times.totalPs[row]).toBe(under);
        }
      }),
    );
  });

  it("whose parents run in a circle, or are not there, are still all there", () => {
    const entries = [
      { name: "a", parent: 2 },
      { name: "b", parent: 0 },
      { name: "c", parent: 1 },
      { name: "d", parent: 99 },
      { name: "e", parent: 4 },
    ];
    const tree = scopeTree(entries, [0, 1, 2, 3, 4, -1]);
    expect([...tree.order].sort()).toEqual([0, 1, 2, 3, 4]);
    expect(pathOf(tree, 2)).toEqual([0, 1, 2]);
    expect(scopePath(tree, 2)).toBe("a/b/c");
  });
});

describe("icicle", () => {
  it("puts every rectangle inside one above it, none over another, as wide as its time", () => {
    fc.assert(
      fc.property(TREES, fc.constantFrom(0, 0.01, 0.2), ({ entries, places, ps }, least) => {
        const tree = scopeTree(entries, places);
        const times = scopeTimes(tree, (op) => ps[op]);
        const rects = layoutScopes(tree, times, (op) => ps[op], 0, least);
        for (const rect of rects) {
          expect(rect.x1 - rect.x0).toBeCloseTo(rect.cell.ps / times.totalPs[0], 9);
          if (rect.level === 0) continue;
          const above = rects.filter(({ level }) => level === rect.level - 1);
          expect(above.some(({ x0, x1 }) => x0 <= rect.x0 + 1e-9 && x1 >= rect.x1 - 1e-9)).toBe(true);
        }
        for (const level of new Set(rects.map((rect) => rect.level))) {
          const row = rects.filter((rect) => rect.level === level).sort((a, b) => a.x0 - b.x0);
          for (let i = 1; i < row.length; i++) expect(row[i].x0).toBeGreaterThanOrEqual(row[i - 1].x1 - 1e-9);
        }
      }),
    );
  });

  it("draws few rectangles of ten thousand scopes, and counts those it merged", () => {
    const n = 10_000;
    const entries = [{ name: "", parent: -1 }];
    for (let i = 0; i < n; i++) entries.push({ name: `layer_${i}`, parent: i % 3 === 0 ? 0 : i });
    const tree = scopeTree(
      entries,
      entries.map((_, row) => row),
    );
    const times = scopeTimes(tree, () => 1);
    const rects = layoutScopes(tree, times, () => 1, 0, 2 / 1000);
    expect(rects.length).toBeLessThan(1500);
    const merged = rects.reduce((sum, { cell }) => sum + (cell.kind === "rest" ? cell.n : 0), 0);
    expect(merged).toBeGreaterThan(3000);
    expect(Math.max(...rects.filter(({ level }) => level === 1).map(({ x1 }) => x1))).toBeCloseTo(1, 9);
  });

  it("folds scopes that hold one scope and nothing else into one row, but never the one on top", () => {
    const entries = [
      { name: "", parent: -1 },
      { name: "model", parent: 0 },
      { name: "block", parent: 1 },
      { name: "dense", parent: 2 },
      { name: "other", parent: 0 },
    ];
    const tree = scopeTree(entries, [3, 3, 4]);
    const times = scopeTimes(tree, () => 10);
    const shown = (zoom: number) =>
      layoutScopes(tree, times, () => 10, zoom, 0).map(({ cell, level }) => [
        level,
        cell.kind === "scope" ? cell.chain : cell.kind,
      ]);
    expect(shown(0)).toEqual([
      [0, [0]],
      [1, [1, 2, 3]],
      [1, [4]],
      [2, "op"],
      [2, "op"],
      [2, "op"],
    ]);
    expect(shown(1)[0]).toEqual([0, [1]]);
    expect(shown(1)[1]).toEqual([1, [2, 3]]);
  });

  it("of a range without ops is empty", () => {
    const tree = scopeTree([{ name: "", parent: -1 }], [0]);
    const none = scopeTimes(tree, () => 0);
    expect(layoutScopes(tree, none, () => 0, 0, 0)).toEqual([]);
  });
});

describe("figures of scopes", () => {
  it("take the family with the most time, and count what is below", () => {
    const tree = scopeTree(
      [
        { name: "", parent: -1 },
        { name: "a", parent: 0 },
        { name: "b", parent: 1 },
      ],
      [1, 2, 2, 2],
    );
    const figures = scopeFigures(tree, {
      ps: (op) => [50, 20, 40, 0][op],
      isSelected: (op) => op === 1,
      family: (op) => [2, 3, 3, 0][op],
    });
    expect([...figures.family]).toEqual([3, 3, 3]);
    expect([...figures.nOps]).toEqual([3, 3, 2]);
    expect([...figures.nSelected]).toEqual([1, 1, 1]);
  });
});
