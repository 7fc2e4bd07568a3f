import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childrenOf, type Events, intervals, parentOf, subtreeOf } from "../src/data/events";
import { ColorTimes, coveredTime, eventAt, layoutRow, SliceBuffer, visibleFrom } from "../src/model/lod";
import { loading, packOfRows, type Row } from "./loading";

/** Slices that nest: each level splits the room of the one around it. */
function nested(seeds: readonly number[], line: number): Row[] {
  const rows: Row[] = [];
  let at = 0;
  const fill = (depth: number, from: number, to: number, k: number) => {
    let time = from;
    for (let i = 0; i < (seeds[k % seeds.length] % 4) + 1 && to - time > 3; i++) {
      const gap = seeds[(k + i) % seeds.length] % 5;
      const duration = Math.min(to - time - gap, 1 + (seeds[(k * 7 + i * 3) % seeds.length] % 60));
      if (duration <= 0) break;
      rows.push([line, depth, time + gap, duration]);
      if (depth < 3) fill(depth + 1, time + gap, time + gap + duration, k + i + 1);
      time += gap + duration;
    }
  };
  for (let k = 0; k < seeds.length; k++) {
    const length = 5 + (seeds[k] % 200);
    fill(0, at, at + length, k);
    at += length;
  }
  return rows;
}

const traces = fc
  .array(fc.array(fc.nat(1000), { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 3 })
  .map((lines) => packOfRows(lines.flatMap((seeds, line) => nested(seeds, line))));
const nTiles = fc.integer({ min: 1, max: 9 });
const views = fc
  .tuple(fc.integer({ min: -100, max: 4000 }), fc.integer({ min: 5, max: 4000 }))
  .map(([t0, length]) => ({ t0, t1: t0 + length }));

function layouts(events: Events, view: { t0: number; t1: number }) {
  const out = new SliceBuffer(120, 10);
  const colors = new ColorTimes(events, 10, () => (p) => events.name[p]);
  return Array.from({ length: events.rows.n }, (_, row) => {
    layoutRow(events, row, view, 120, colors, out);
    const columns = [out.x0, out.x1, out.first, out.last, out.busy, out.isWide, out.color];
    return columns.map((column) => [...column.subarray(0, out.n)]);
  });
}

function shuffled(n: number, seed: number): number[] {
  const order = Array.from({ length: n }, (_, k) => k);
  return order.sort((a, b) => ((a * 7919 + seed) % 101) - ((b * 7919 + seed) % 101) || a - b);
}

describe("events by tile", () => {
  it("end as one run with the same columns, whatever order the tiles came in", () => {
    fc.assert(
      fc.property(traces, nTiles, fc.nat(100), views, (pack, n, seed, view) => {
        const whole = loading(pack);
        const cut = loading(pack, { nTiles: n, arrived: [] });
        for (const tile of shuffled(cut.events.tiles.n, seed)) cut.arrive(tile);
        expect(cut.events.runs).toHaveLength(1);
        expect(cut.events.nLoaded).toBe(cut.events.n);
        expect(cut.events.start).toEqual(whole.events.start);
        expect(cut.events.name).toEqual(whole.events.name);
        expect(layouts(cut.events, view)).toEqual(layouts(whole.events, view));
      }),
    );
  });

  it("tell the same time covered, tile by tile or at once", () => {
    fc.assert(
      fc.property(traces, nTiles, fc.nat(100), views, (pack, n, seed, view) => {
        const whole = loading(pack);
        const cut = loading(pack, { nTiles: n, arrived: [] });
        for (const tile of shuffled(cut.events.tiles.n, seed)) cut.arrive(tile);
        for (let row = 0; row < whole.events.rows.n; row++) {
          expect(coveredTime(cut.events, row, view)).toBeCloseTo(coveredTime(whole.events, row, view), 6);
        }
      }),
    );
  });

  it("are covered by runs that touch, loaded ones apart from sampled ones", () => {
    fc.assert(
      fc.property(traces, nTiles, fc.nat(511), (pack, n, chosen) => {
        const { events } = loading(pack, { nTiles: n, arrived: [...Array(n).keys()].filter((k) => (chosen >> k) & 1) });
        const { runs } = events;
        expect(runs[0].span.t0).toBe(Number.NEGATIVE_INFINITY);
        expect(runs[runs.length - 1].span.t1).toBe(Number.POSITIVE_INFINITY);
        for (let k = 1; k < runs.length; k++) {
          expect(runs[k].span.t0).toBe(runs[k - 1].span.t1);
          expect(runs[k].isSample).not.toBe(runs[k - 1].isSample);
        }
        let n_ = 0;
        for (const run of runs) {
          for (let row = 0; row < events.rows.n; row++) {
            for (let i = run.low[row]; i < run.high[row]; i++) {
              const p = run.positionOf(i);
              expect([events.has(p), events.rowOf(p), run.times.start[i]]).toEqual([true, row, events.start[p]]);
              if (!run.isSample) n_ += 1;
            }
          }
        }
        expect(n_).toBe(events.nLoaded);
      }),
    );
  });

  it("draw what is loaded as if all were, and what began before a loaded tile is carried into it", () => {
    fc.assert(
      fc.property(traces, nTiles, fc.nat(8), (pack, n, chosen) => {
        const whole = loading(pack).events;
        const { events } = loading(pack, { nTiles: n, arrived: [chosen % n] });
        const tile = Math.min(chosen % n, events.tiles.n - 1);
        if (!events.isLoaded(tile) || events.tiles.end[tile] - events.tiles.start[tile] < 2) return;
        const view = { t0: events.tiles.start[tile] + 0.5, t1: events.tiles.end[tile] - 0.5 };
        for (let row = 0; row < events.rows.n; row++) {
          const middle = (view.t0 + view.t1) / 2;
          expect(eventAt(events, row, middle, 0)).toBe(eventAt(whole, row, middle, 0));
          expect(coveredTime(events, row, view)).toBeCloseTo(coveredTime(whole, row, view), 6);
          const next = visibleFrom(whole, row, view.t0);
          if (next >= 0 && whole.start[next] < view.t1) expect(visibleFrom(events, row, view.t0)).toBe(next);
        }
      }),
    );
  });

  it("lists every loaded event that overlaps a span once", () => {
    fc.assert(
      fc.property(traces, nTiles, fc.nat(511), views, (pack, n, chosen, view) => {
        const { events } = loading(pack, { nTiles: n, arrived: [...Array(n).keys()].filter((k) => (chosen >> k) & 1) });
        const listed = intervals(events, view).flatMap(({ row, low, high }) =>
          Array.from({ length: high - low }, (_, k) => [row, low + k] as const),
        );
        const expected = [...Array(events.n).keys()].filter(
          (p) =>
            events.has(p) &&
            events.isLoaded(events.tileOf(p)) &&
            events.start[p] < view.t1 &&
            (events.endOf(p) > view.t0 || events.start[p] > view.t0),
        );
        expect(listed.map(([, p]) => p).sort((a, b) => a - b)).toEqual(expected);
        for (const [row, p] of listed) expect(events.rowOf(p)).toBe(row);
      }),
    );
  });

  it("know parents, children and descendants, by searching", () => {
    fc.assert(
      fc.property(traces, nTiles, (pack, n) => {
        const { events } = loading(pack, { nTiles: n });
        for (let p = 0; p < events.n; p++) {
          const parent = parentOf(events, p);
          expect(parent >= 0).toBe(events.depthOf(p) > 0);
          if (parent >= 0) {
            const [low, high] = childrenOf(events, parent);
            expect(p >= low && p < high).toBe(true);
            expect(events.start[parent] <= events.start[p] && events.endOf(parent) >= events.endOf(p)).toBe(true);
          }
        }
        const nInside = (p: number): number => {
          const [low, high] = childrenOf(events, p);
          let sum = 1;
          for (let child = low; child < high; child++) sum += nInside(child);
          return sum;
        };
        for (let p = 0; p < events.n; p += 5) {
          expect(subtreeOf(events, p).reduce((sum, { low, high }) => sum + high - low, 0)).toBe(nInside(p));
        }
      }),
    );
  });

  it("take a tile once, and know their place in it", () => {
    fc.assert(
      fc.property(traces, nTiles, (pack, n) => {
        const { events, arrive, parts } = loading(pack, { nTiles: n });
        const before = events.generation;
        arrive(0);
        expect(events.generation).toBe(before);
        for (let tile = 0; tile < events.tiles.n; tile++) {
          const runs = parts.get(`events:${tile}`)?.tables.runs;
          let ordinal = 0;
          for (let k = 0; k < (runs?.n ?? 0); k++) {
            const [first, count] = [Number(runs?.columns.first[k]), Number(runs?.columns.n[k])];
            for (let p = first; p < first + count; p++) {
              expect([events.tileOf(p), events.ordinalOf(tile, p)]).toEqual([tile, ordinal++]);
            }
          }
        }
      }),
    );
  });

  it("keep the flows of a tile by their ends", () => {
    const pack = packOfRows(Array.from({ length: 40 }, (_, i) => [0, 0, i * 10, 5] as const));
    const flows = [
      [3, 30, 1],
      [3, 12, 0],
      [20, 30, 2],
    ] as const;
    const { events } = loading(pack, { nTiles: 4, flows });
    expect(events.flowsFrom(3)).toEqual([
      { other: 30, kind: 1 },
      { other: 12, kind: 0 },
    ]);
    expect(events.flowsTo(30).map(({ other }) => other)).toEqual([3, 20]);
    expect(events.flowsFrom(4)).toEqual([]);
  });

  it("hold nothing, in one run, when the capture has no events", () => {
    const { events } = loading(packOfRows([]));
    expect([events.n, events.isComplete, events.runs.length]).toEqual([0, true, 1]);
    expect(intervals(events, { t0: 0, t1: 10 })).toEqual([]);
  });
});
