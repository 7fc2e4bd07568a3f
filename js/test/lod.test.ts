import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gallop, lowerBound, lowerBoundNear, upperBound, zoomAt } from "../src/data/columns";
import { type Events, nextFrom } from "../src/data/events";
import type { TraceMeta } from "../src/data/meta";
import { ColorTimes, coveredTime, eventAt, layoutRow, RowLayouts, SliceBuffer, visibleFrom } from "../src/model/lod";
import { loading, packOfRows } from "./loading";

/** A single row of separate events. */
const singleRows = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 2000 })), {
    minLength: 1,
    maxLength: 300,
  })
  .map((steps) => {
    let at = 0;
    const rows = steps.map(([gap, duration]) => {
      at += gap;
      const row = [0, 0, at, duration] as const;
      at += duration;
      return row;
    });
    return loading(packOfRows(rows)).events;
  });

const windows = fc
  .tuple(fc.integer({ min: 0, max: 300_000 }), fc.integer({ min: 10, max: 600_000 }))
  .map(([t0, length]) => ({ t0, t1: t0 + length }));

function visible(events: Events, view: { t0: number; t1: number }): number[] {
  return [...events.start.keys()].filter((p) => events.start[p] < view.t1 && events.endOf(p) > view.t0);
}

/** Colours by position. */
function colored(events: Events, n = 1): ColorTimes {
  return new ColorTimes(events, n, () => (p) => p % n);
}

describe("level of detail", () => {
  it("draws no more than one item per pixel column", () => {
    fc.assert(
      fc.property(singleRows, windows, (events, view) => {
        const out = new SliceBuffer(200);
        layoutRow(events, 0, view, 200, colored(events), out);
        expect(out.n).toBeLessThanOrEqual(202);
      }),
    );
  });

  it("accounts for every visible event exactly once, in order", () => {
    fc.assert(
      fc.property(singleRows, windows, (events, view) => {
        const out = new SliceBuffer(200, 3);
        layoutRow(events, 0, view, 200, colored(events, 3), out);
        const seen: number[] = [];
        for (let k = 0; k < out.n; k++) for (let p = out.first[k]; p <= out.last[k]; p++) seen.push(p);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual([...seen].sort((a, b) => a - b));
        for (const p of visible(events, view)) expect(seen).toContain(p);
      }),
    );
  });

  it("keeps items in order and free of overlap", () => {
    fc.assert(
      fc.property(singleRows, windows, (events, view) => {
        const out = new SliceBuffer(200);
        layoutRow(events, 0, view, 200, colored(events), out);
        for (let k = 1; k < out.n; k++) expect(out.x0[k]).toBeGreaterThanOrEqual(out.x1[k - 1] - 0.01);
      }),
    );
  });

  it("leaves a slice of three pixels or more its exact edges", () => {
    const { events } = loading(packOfRows([[0, 0, 100, 50]]));
    const out = new SliceBuffer(200);
    layoutRow(events, 0, { t0: 0, t1: 1000 }, 200, colored(events), out);
    expect([out.n, out.x0[0], out.x1[0], out.isWide[0]]).toEqual([1, 20, 30, 1]);
  });

  it("makes at most one item a column of a hundred thousand events", () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => [0, 0, i * 10, 5] as const);
    const { events } = loading(packOfRows(rows));
    const out = new SliceBuffer(800);
    layoutRow(events, 0, { t0: 0, t1: 1_000_000 }, 800, colored(events), out);
    expect(out.n).toBeLessThanOrEqual(801);
    expect([out.first[0], out.last[out.n - 1]]).toEqual([0, 99_999]);
  });

  it("keeps the time under the cursor when it zooms, and the slice there", () => {
    fc.assert(
      fc.property(singleRows, windows, fc.double({ min: 0.05, max: 0.95, noNaN: true }), (events, view, at) => {
        const time = view.t0 + at * (view.t1 - view.t0);
        const bounds = { t0: -1e9, t1: 1e9 };
        const next = zoomAt(view, time, 0.5, bounds);
        expect((time - next.t0) / (next.t1 - next.t0)).toBeCloseTo(at, 6);
        expect(eventAt(events, 0, time, 0)).toBe(eventAt(events, 0, next.t0 + at * (next.t1 - next.t0), 0));
      }),
      { numRuns: 60 },
    );
  });

  it("moves the picture instead of reshuffling it when panned by whole pixels", () => {
    const starts = Array.from({ length: 500 }, (_, i) => [0, 0, i * 7 + (i % 3), 2] as const);
    const { events } = loading(packOfRows(starts));
    const [a, b] = [new SliceBuffer(100, 2), new SliceBuffer(100, 2)];
    layoutRow(events, 0, { t0: 1000, t1: 2000 }, 100, colored(events, 2), a);
    layoutRow(events, 0, { t0: 1010, t1: 2010 }, 100, colored(events, 2), b);
    const firsts = (out: SliceBuffer) => [...out.first.subarray(0, out.n)];
    expect(firsts(b).slice(1, -2)).toEqual(firsts(a).filter((p) => firsts(b).slice(1, -2).includes(p)));
  });
});

describe("the layouts of a view at rest", () => {
  const rows = Array.from({ length: 300 }, (_, i) => [0, i % 2, i * 10, 5] as const);
  const meta = { lines: [{ plane: 0 }], planes: [{ kind: "host" }] } as unknown as TraceMeta;
  const newColors = (of: (position: number) => number = () => 0) => ({ n: 2, of });
  const colors = newColors();
  const source = (change = {}) => ({
    events: loading(packOfRows(rows)).events,
    meta,
    view: { t0: 0, t1: 3000 },
    width: 100,
    colors,
    ...change,
  });

  it("are made once a row, and again when the view, the width, the colours or the events change", () => {
    const layouts = new RowLayouts(100);
    let n = 0;
    const counting = () => newColors(() => Math.min(1, n++));
    const first = source({ colors: counting() });
    const isNew = (next: ReturnType<typeof source>) => {
      n = 0;
      layouts.of(next, 0);
      return n > 0;
    };
    expect([isNew(first), isNew(first), isNew({ ...first, view: { t0: 0, t1: 3000 } })]).toEqual([true, false, false]);
    expect(isNew({ ...first, view: { t0: 0, t1: 2000 } })).toBe(true);
    expect(isNew(first)).toBe(true);
    expect(isNew({ ...first, width: 90 })).toBe(true);
    expect(isNew({ ...first, width: 90, colors: counting() })).toBe(true);
    expect(isNew(source({ colors: counting() }))).toBe(true);
    expect(isNew(first)).toBe(true);
    layouts.clear();
    expect(isNew(first)).toBe(true);
  });

  it("are those of their rows, however many rows there are", () => {
    const many = Array.from({ length: 600 }, (_, i) => [0, i, i, 5] as const);
    const layouts = new RowLayouts(100);
    const whole = source({ events: loading(packOfRows(many)).events });
    for (const round of [0, 1]) {
      const colors = newColors(() => round);
      for (let row = 0; row < 600; row++) {
        const slices = layouts.of({ ...whole, colors }, row);
        expect([slices.n, slices.color[0], whole.events.rowOf(slices.first[0])]).toEqual([1, round, row]);
      }
    }
  });
});

describe("a search over blocks of events", () => {
  const gaps = fc.array(fc.nat(40), { minLength: 1, maxLength: 500 });

  it("finds the first event from a moment on, as a look at all of them does", () => {
    fc.assert(
      fc.property(gaps, fc.nat(499), fc.nat(12_000), (list, at, time) => {
        let start = 0;
        const { events } = loading(
          packOfRows(
            list.map((gap) => {
              start += gap;
              return [0, 0, start, 0] as const;
            }),
          ),
        );
        const index = at % list.length;
        // It is asked for what comes after the event, whose own start lies before the moment.
        fc.pre(events.start[index] < time);
        const found = events.start.findIndex((own, k) => k >= index && own >= time);
        expect(nextFrom(events, time, index, events.n)).toBe(found < 0 ? events.n : found);
      }),
    );
  });

  it("gives the same from any guess", () => {
    fc.assert(
      fc.property(gaps, fc.nat(499), fc.nat(60), (list, at, value) => {
        const sorted = [...list].sort((a, b) => a - b);
        expect(lowerBoundNear(sorted, value, at % list.length, 0, list.length)).toBe(lowerBound(sorted, value));
      }),
    );
  });
});

describe("rows", () => {
  const { events } = loading(
    packOfRows([
      [0, 0, 0, 100],
      [0, 1, 10, 30],
      [0, 2, 12, 5],
      [0, 1, 50, 20],
      [0, 0, 200, 10],
      [2, 0, 5, 5],
    ]),
  );

  it("are one per line and depth, none for a line without events", () => {
    expect([...events.rows.firstRow]).toEqual([0, 3, 3, 4]);
    expect([...events.start]).toEqual([0, 200, 10, 50, 12, 5]);
    expect([0, 2, 4, 5].map((p) => [events.lineOf(p), events.depthOf(p)])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [2, 0],
    ]);
  });

  it("cut an event where the next of its row starts", () => {
    const rows = [
      [0, 0, 0, 100],
      [0, 0, 60, 100],
    ] as const;
    for (const nTiles of [1, 2]) {
      const crossing = loading(packOfRows(rows), { nTiles }).events;
      expect(coveredTime(crossing, 0, { t0: 0, t1: 1000 })).toBe(160);
      expect([59, 60, 159, 160].map((time) => eventAt(crossing, 0, time, 0))).toEqual([0, 1, 1, -1]);
    }
  });

  it("give the event under a point, the nearest long one within the tolerance, or none", () => {
    expect(eventAt(events, 1, 15, 0)).toBe(2);
    expect(eventAt(events, 1, 45, 2)).toBe(-1);
    expect(eventAt(events, 1, 48, 3)).toBe(3);
  });

  it("measure the time covered inside a window, cut at its edges", () => {
    expect(coveredTime(events, 0, { t0: 50, t1: 205 })).toBe(55);
    expect(coveredTime(events, 0, { t0: 100, t1: 200 })).toBe(0);
    expect(visibleFrom(events, 0, 100)).toBe(1);
    expect(visibleFrom(events, 0, 500)).toBe(-1);
  });
});

describe("search in sorted columns", () => {
  const sorted = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 }).map((v) => v.sort((a, b) => a - b));

  it("agrees with a linear search, galloping or not", () => {
    fc.assert(
      fc.property(sorted, fc.integer({ min: -1, max: 51 }), (values, value) => {
        const expected = values.filter((v) => v < value).length;
        expect(lowerBound(values, value)).toBe(expected);
        expect(gallop(values, value, 0, values.length)).toBe(expected);
        expect(upperBound(values, value)).toBe(values.filter((v) => v <= value).length);
      }),
    );
  });
});
