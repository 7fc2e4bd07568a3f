import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gallop, gallopIn, lowerBound, upperBound } from "../src/core/bisect";
import { buildPostings, buildRows, endOfSubtree, parentOf, type Rows, readEvents } from "../src/core/events";
import { coveredTime, eventAt, firstVisible, layoutRow, SliceBuffer } from "../src/core/lod";
import type { TraceMeta } from "../src/core/meta";
import type { Table } from "../src/core/wire";

const META = { op_name: [] as number[] } as unknown as TraceMeta;

/** Events of one row per line from (line, start, duration) triples, sorted. */
function eventsTable(
  rows: readonly (readonly [line: number, depth: number, start: number, duration: number])[],
): Table {
  const column = (k: number) => rows.map((row) => row[k]);
  return {
    n: rows.length,
    columns: {
      line: Int32Array.from(column(0)),
      depth: Uint16Array.from(column(1)),
      start_ps: Float64Array.from(column(2)),
      duration_ps: Float64Array.from(column(3)),
      name: Uint32Array.from(rows.map((_, i) => i % 7)),
    },
  };
}

/** A single row of separate events. */
const singleRows = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 2000 })), { maxLength: 300 })
  .map((steps) => {
    let at = 0;
    const rows = steps.map(([gap, duration]) => {
      at += gap;
      const row = [0, 0, at, duration] as const;
      at += duration;
      return row;
    });
    return buildRows(readEvents(eventsTable(rows), META), 1);
  })
  .filter((rows) => rows.event.length > 0);

const windows = fc
  .tuple(fc.integer({ min: 0, max: 300_000 }), fc.integer({ min: 10, max: 600_000 }))
  .map(([t0, length]) => ({ t0, t1: t0 + length }));

function visible(rows: Rows, view: { t0: number; t1: number }): number[] {
  return [...rows.event.keys()].filter((p) => rows.start[p] < view.t1 && rows.end[p] > view.t0);
}

describe("level of detail", () => {
  it("draws no more than one item per pixel column", () => {
    fc.assert(
      fc.property(singleRows, windows, (rows, view) => {
        const out = new SliceBuffer(200);
        layoutRow(rows, 0, view, 200, () => 0, out);
        expect(out.n).toBeLessThanOrEqual(202);
      }),
    );
  });

  it("accounts for every visible event exactly once, in order", () => {
    fc.assert(
      fc.property(singleRows, windows, (rows, view) => {
        const out = new SliceBuffer(200);
        layoutRow(rows, 0, view, 200, (p) => p % 3, out);
        const seen: number[] = [];
        for (let k = 0; k < out.n; k++) for (let p = out.first[k]; p <= out.last[k]; p++) seen.push(p);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual([...seen].sort((a, b) => a - b));
        for (const p of visible(rows, view)) expect(seen).toContain(p);
      }),
    );
  });

  it("keeps items in order and free of overlap", () => {
    fc.assert(
      fc.property(singleRows, windows, (rows, view) => {
        const out = new SliceBuffer(200);
        layoutRow(rows, 0, view, 200, () => 0, out);
        for (let k = 1; k < out.n; k++) expect(out.x0[k]).toBeGreaterThanOrEqual(out.x1[k - 1] - 0.01);
      }),
    );
  });

  it("leaves a slice of three pixels or more its exact edges", () => {
    const rows = buildRows(readEvents(eventsTable([[0, 0, 100, 50]]), META), 1);
    const out = new SliceBuffer(200);
    layoutRow(rows, 0, { t0: 0, t1: 1000 }, 200, () => 0, out);
    expect([out.n, out.x0[0], out.x1[0], out.shade[0]]).toEqual([1, 20, 30, 0]);
  });

  it("costs pixels, not events: a million events make at most one item a column", () => {
    const n = 1_000_000;
    const table = {
      n,
      columns: {
        start_ps: Float64Array.from({ length: n }, (_, i) => i * 10),
        duration_ps: new Float64Array(n).fill(5),
      },
    };
    const rows = buildRows(readEvents(table, META), 1);
    const out = new SliceBuffer(800);
    const started = performance.now();
    for (let k = 0; k < 100; k++) layoutRow(rows, 0, { t0: 0, t1: n * 10 }, 800, () => 0, out);
    expect((performance.now() - started) / 100).toBeLessThan(5);
    expect(out.n).toBeLessThanOrEqual(801);
  });

  it("moves the picture instead of reshuffling it when panned by whole pixels", () => {
    const starts = Array.from({ length: 500 }, (_, i) => [0, 0, i * 7 + (i % 3), 2] as const);
    const rows = buildRows(readEvents(eventsTable(starts), META), 1);
    const [a, b] = [new SliceBuffer(100), new SliceBuffer(100)];
    layoutRow(rows, 0, { t0: 1000, t1: 2000 }, 100, (p) => p % 2, a);
    layoutRow(rows, 0, { t0: 1010, t1: 2010 }, 100, (p) => p % 2, b);
    const firsts = (out: SliceBuffer) => [...out.first.subarray(0, out.n)];
    expect(firsts(b).slice(1, -2)).toEqual(firsts(a).filter((p) => firsts(b).slice(1, -2).includes(p)));
  });
});

describe("rows", () => {
  const table = eventsTable([
    [0, 0, 0, 100],
    [0, 1, 10, 30],
    [0, 2, 12, 5],
    [0, 1, 50, 20],
    [0, 0, 200, 10],
    [2, 0, 5, 5],
  ]);
  const events = readEvents(table, META);
  const rows = buildRows(events, 3);

  it("has one row per line and depth, none for a line without events", () => {
    expect([...rows.firstRow]).toEqual([0, 3, 3, 4]);
    expect([...rows.event]).toEqual([0, 4, 1, 3, 2, 5]);
  });

  it("cuts an event where the next of its row starts", () => {
    const crossing = buildRows(
      readEvents(
        eventsTable([
          [0, 0, 0, 100],
          [0, 0, 60, 100],
        ]),
        META,
      ),
      1,
    );
    expect([...crossing.end]).toEqual([60, 160]);
  });

  it("finds the event under a point, the nearest long one within the tolerance, or none", () => {
    expect(eventAt(rows, 1, 15, 0)).toBe(1);
    expect(eventAt(rows, 1, 45, 2)).toBe(-1);
    expect(eventAt(rows, 1, 48, 3)).toBe(3);
  });

  it("measures the time covered inside a window, cut at its edges", () => {
    expect(coveredTime(rows, 0, { t0: 50, t1: 205 })).toBe(55);
    expect(coveredTime(rows, 0, { t0: 100, t1: 200 })).toBe(0);
    expect(firstVisible(rows, 0, 100)).toBe(1);
  });

  it("knows descendants and parents", () => {
    expect(endOfSubtree(events, 0)).toBe(4);
    expect(endOfSubtree(events, 1)).toBe(3);
    expect([0, 1, 2, 3].map((i) => parentOf(events, i))).toEqual([-1, 0, 1, 0]);
  });

  it("lists events by an id column in order", () => {
    const postings = buildPostings([2, 0, 2, 1], 3);
    const of = (id: number) => [...postings.order.subarray(postings.offset[id], postings.offset[id + 1])];
    expect([of(0), of(1), of(2)]).toEqual([[1], [3], [0, 2]]);
  });
});

describe("search in sorted columns", () => {
  const sorted = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 }).map((v) => v.sort((a, b) => a - b));

  it("agrees with a linear search, galloping or not", () => {
    fc.assert(
      fc.property(sorted, fc.integer({ min: -1, max: 51 }), (values, value) => {
        const order = values.map((_, i) => i);
        const expected = values.filter((v) => v < value).length;
        expect(lowerBound(values, value)).toBe(expected);
        expect(gallop(values, value, 0, values.length)).toBe(expected);
        expect(gallopIn(values, order, value, 0, values.length)).toBe(expected);
        expect(upperBound(values, value)).toBe(values.filter((v) => v <= value).length);
      }),
    );
  });
});
