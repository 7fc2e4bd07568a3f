import { describe, expect, it } from "vitest";
import type { Span } from "../src/data/columns";
import { Aggregate, FlameBuilder, type NameTotals } from "../src/model/aggregate";
import { type Drawing, draw, randomSlices } from "./drawn_events";
import { loading, packOfRows } from "./loading";

interface Figures {
  count: number;
  total: number;
  self: number;
  min: number;
  max: number;
}

/** The same by brute force over all slices. */
function expected({ placed, events }: Drawing, span: Span, isHere = (_: number) => true): Map<number, Figures> {
  const found = new Map<number, Figures>();
  const ofChildren = new Float64Array(placed.length);
  const inside = (p: number) => {
    const { start, duration } = placed[p];
    return Math.max(0, Math.min(start + duration, span.t1) - Math.max(start, span.t0));
  };
  for (const [q, { parent }] of placed.entries()) if (parent >= 0) ofChildren[parent] += inside(q);
  for (const [p, slice] of placed.entries()) {
    if (!isHere(p) || !events.has(p)) continue;
    const isIn = inside(p) > 0 || (slice.duration === 0 && slice.start >= span.t0 && slice.start < span.t1);
    if (!isIn) continue;
    const figures = found.get(slice.name) ?? { count: 0, total: 0, self: 0, min: Infinity, max: 0 };
    figures.count += 1;
    figures.total += inside(p);
    figures.self += inside(p) - ofChildren[p];
    figures.min = Math.min(figures.min, slice.duration);
    figures.max = Math.max(figures.max, slice.duration);
    found.set(slice.name, figures);
  }
  return found;
}

function figuresOf(rows: readonly NameTotals[]): Map<number, Figures> {
  return new Map(
    rows.map(({ name, count, totalPs, selfPs, minPs, maxPs }) => [
      name,
      { count, total: totalPs, self: selfPs, min: minPs, max: maxPs },
    ]),
  );
}

function totals(drawing: Drawing, span: Span, isCounted = (_: number) => true): NameTotals[] {
  const aggregate = new Aggregate(drawing.events, 64, isCounted);
  aggregate.start(span);
  expect(aggregate.step()).toBe(true);
  return aggregate.rows();
}

const SPANS: readonly Span[] = [
  { t0: 0, t1: 2500 },
  { t0: 300, t1: 700 },
  { t0: 299, t1: 701 },
  { t0: 310, t1: 320 },
  { t0: 123, t1: 1777 },
  { t0: 700, t1: 1500 },
  { t0: 1999, t1: 2500 },
  { t0: -50, t1: 10 },
];

describe("totals by name of a span", () => {
  it("are those of the parts of all slices inside it, whatever the tiles", () => {
    for (let seed = 1; seed <= 3; seed++) {
      const slices = randomSlices(seed, 900, 2000);
      for (const edges of [[], [300, 700, 1500], [1000], [50, 51, 52, 1900]]) {
        const drawing = draw(slices, { edges });
        for (const span of SPANS) expect(figuresOf(totals(drawing, span))).toEqual(expected(drawing, span));
      }
    }
  });

  it("count a slice without length that lies in the span, and not one at its end", () => {
    const drawing = draw([
      { start: 10, duration: 0, name: 1 },
      { start: 20, duration: 0, name: 2 },
    ]);
    expect(figuresOf(totals(drawing, { t0: 10, t1: 20 }))).toEqual(
      new Map([[1, { count: 1, total: 0, self: 0, min: 0, max: 0 }]]),
    );
  });

  it("tell the longest slice of a name as a whole, though the span cuts it", () => {
    const drawing = draw([
      { start: 0, duration: 100, name: 1 },
      { start: 110, duration: 20, name: 1 },
    ]);
    const [row] = totals(drawing, { t0: 90, t1: 200 });
    expect(row).toEqual({ name: 1, count: 2, totalPs: 30, selfPs: 30, meanPs: 60, minPs: 20, maxPs: 100, longest: 0 });
  });

  it("leave out lines that repeat the work of others", () => {
    const drawing = draw(randomSlices(3, 300, 500), { edges: [200] });
    const span = { t0: 20, t1: 400 };
    const isHere = (p: number) => drawing.placed[p].line !== 1;
    expect(figuresOf(totals(drawing, span, (line) => line !== 1))).toEqual(expected(drawing, span, isHere));
  });

  it("come in steps, with progress, and a new span begins anew", () => {
    const drawing = draw(randomSlices(1, 900, 2000), { edges: [300, 700, 1500] });
    const aggregate = new Aggregate(drawing.events, 64, () => true);
    aggregate.start({ t0: 0, t1: 2500 });
    const seen: number[] = [];
    while (!aggregate.step(() => true)) seen.push(aggregate.progress);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    aggregate.start({ t0: 300, t1: 700 });
    aggregate.step();
    expect(figuresOf(aggregate.rows())).toEqual(expected(drawing, { t0: 300, t1: 700 }));
  });

  it("take the events of the span that had not arrived when they have", () => {
    const drawing = draw(randomSlices(2, 900, 2000), { edges: [700, 1400], arrived: [0, 2] });
    const aggregate = new Aggregate(drawing.events, 64, () => true);
    const span = { t0: 100, t1: 1800 };
    aggregate.start(span);
    aggregate.step();
    expect(drawing.events.hasAll(span)).toBe(false);
    drawing.arrive(1);
    aggregate.start(span);
    aggregate.step();
    expect(drawing.events.hasAll(span)).toBe(true);
    expect(figuresOf(aggregate.rows())).toEqual(expected(drawing, span));
  });

  it("are empty for a capture without events", () => {
    expect(totals(draw([]), { t0: 0, t1: 10 })).toEqual([]);
  });
});

describe("slices of one row that outlive each other", () => {
  const rows = [
    [0, 0, 0, 10],
    [0, 0, 5, 10],
    [0, 0, 20, 5],
  ] as const;

  it("take no more time together than the span has, whether it cuts them or not", () => {
    const { events } = loading(packOfRows(rows));
    for (let t0 = 0; t0 < 25; t0++) {
      for (let t1 = t0 + 1; t1 <= 26; t1++) {
        const aggregate = new Aggregate(events, 7, () => true);
        aggregate.start({ t0, t1 });
        aggregate.step();
        const inside = ([low, high]: readonly [number, number]) => Math.max(0, Math.min(high, t1) - Math.max(low, t0));
        const drawn = [[0, 5] as const, [5, 15] as const, [20, 25] as const].map(inside);
        const total = (name: number) => aggregate.of(name)?.totalPs ?? 0;
        expect([0, 1, 2].map(total)).toEqual(drawn);
        expect(aggregate.rows().length).toBe(drawn.filter((ps) => ps > 0).length);
        const flame = new FlameBuilder(events, { t0, t1 }, { groupOf: () => 0 });
        flame.step();
        const { tree } = flame;
        const byName = [0, 0, 0];
        for (let node = 0; node < tree.n; node++)
          if (tree.label[node] >= 0) byName[tree.label[node]] += tree.total[node];
        expect(byName).toEqual(drawn);
      }
    }
  });

  it("count as a whole for mean and longest", () => {
    const { events } = loading(packOfRows(rows));
    const aggregate = new Aggregate(events, 7, () => true);
    aggregate.start({ t0: 0, t1: 30 });
    aggregate.step();
    expect(aggregate.of(0)).toMatchObject({ count: 1, totalPs: 5, meanPs: 10, maxPs: 10 });
  });
});
