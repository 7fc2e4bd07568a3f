import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RangePs } from "../src/data/columns";
import type { Table } from "../src/data/pack";
import { opCategory } from "../src/model/colors";
import { type OpNames, opRows, opTotals, shareTotals, textFilter } from "../src/model/ops";

interface Span {
  readonly op: number;
  readonly line: number;
  readonly start: number;
  readonly duration: number;
  readonly children: readonly Span[];
}

const N_OPS = 4;
const NAMES: OpNames = {
  names: ["a", "b", "c", "d", "MatMul", "Dataset"],
  op_name: [0, 1, 2, 3],
  op_type: [4, 4, 5, 4],
  op_device: [0, 0, 0, 1],
  op_eager: [0, 1, 0, 0],
};

/** Nested spans of whole ps: children lie inside their parent and do not overlap. */
function spans(depth: number, line: number, from: number, to: number): fc.Arbitrary<Span[]> {
  return fc.uniqueArray(fc.integer({ min: from, max: to }), { minLength: 0, maxLength: 6 }).chain((cuts) => {
    const edges = [...cuts].sort((a, b) => a - b);
    const pairs: [number, number][] = [];
    for (let i = 0; i + 1 < edges.length; i += 2) pairs.push([edges[i], edges[i + 1]]);
    return fc.tuple(
      ...pairs.map(([start, end]) =>
        fc
          .tuple(
            fc.integer({ min: 0, max: N_OPS - 1 }),
            depth > 0 ? spans(depth - 1, line, start, end) : fc.constant([] as Span[]),
          )
          .map(([op, children]): Span => ({ op, line, start, duration: end - start, children })),
      ),
    );
  });
}

const forest = fc.tuple(spans(2, 0, 0, 60), spans(1, 1, 0, 60)).map(([a, b]) => [...a, ...b]);
const ranges = fc
  .tuple(fc.integer({ min: -5, max: 65 }), fc.integer({ min: 0, max: 40 }))
  .map(([from, length]): RangePs => [from, from + length]);

function toTable(roots: readonly Span[]): Table {
  const rows: { span: Span; parent: number }[] = [];
  const add = (span: Span, parent: number) => {
    const row = rows.push({ span, parent }) - 1;
    for (const child of span.children) add(child, row);
  };
  for (const span of roots) add(span, -1);
  const f8 = (value: (span: Span) => number) => Float64Array.from(rows, ({ span }) => value(span));
  return {
    n: rows.length,
    columns: {
      op: Int32Array.from(rows, ({ span }) => span.op),
      line: Int32Array.from(rows, ({ span }) => span.line),
      start_ps: f8((span) => span.start),
      duration_ps: f8((span) => span.duration),
      span_ps: f8((span) => span.duration),
      parent: Int32Array.from(rows, ({ parent }) => parent),
    },
  };
}

/** Self time by looking at every whole ps: the innermost span is charged. */
function selfByClock(roots: readonly Span[], range: RangePs): number[] {
  const self = new Array<number>(N_OPS).fill(0);
  const charge = (spansHere: readonly Span[], t: number): boolean => {
    const at = spansHere.find((span) => span.start <= t && t < span.start + span.duration);
    if (!at) return false;
    if (!charge(at.children, t)) self[at.op] += 1;
    return true;
  };
  for (const line of [0, 1]) {
    const own = roots.filter((span) => span.line === line);
    for (let t = 0; t < 60; t++) if (range === null || (t >= range[0] && t < range[1])) charge(own, t);
  }
  return self;
}

/** For each of N_OPS units how much of it each of three framework ops gets; at least one gets some. */
const shareTables = fc
  .array(fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 3, maxLength: 3 }), {
    minLength: N_OPS,
    maxLength: N_OPS,
  })
  .map((weights): Table => {
    const rows = weights.flatMap((row, unit) => {
      const sum = row[0] + row[1] + row[2] || 1;
      const pairs = row.map((weight, op) => ({ unit, op, ratio: weight / sum })).filter((pair) => pair.ratio > 0);
      return pairs.length > 0 ? pairs : [{ unit, op: unit % 3, ratio: 1 }];
    });
    const columns = {
      unit: Int32Array.from(rows, (row) => row.unit),
      op: Int32Array.from(rows, (row) => row.op),
      ratio: Float64Array.from(rows, (row) => row.ratio),
    };
    return { n: rows.length, columns };
  });

describe("shareTotals", () => {
  it("gives away all time of every unit, whatever the range", () => {
    fc.assert(
      fc.property(forest, shareTables, fc.option(ranges, { nil: null }), (roots, shares, range) => {
        const units = opTotals(toTable(roots), undefined, N_OPS, range);
        const ops = shareTotals(units, shares, 3);
        const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
        expect(sum(ops.selfPs)).toBeCloseTo(sum(units.selfPs), 6);
        expect(sum(ops.totalPs)).toBeCloseTo(sum(units.totalPs), 6);
      }),
    );
  });

  it("charges a fusion to its ops by share and counts the most frequent of the units of an op", () => {
    const at = (op: number, start: number, duration: number): Span => ({ op, line: 0, start, duration, children: [] });
    const units = opTotals(toTable([at(0, 0, 8), at(1, 10, 4), at(1, 20, 4)]), undefined, 2, null);
    const columns = {
      unit: Int32Array.of(0, 0, 1),
      op: Int32Array.of(0, 1, 1),
      ratio: Float64Array.of(0.25, 0.75, 1),
    };
    const ops = shareTotals(units, { n: 3, columns }, 2);
    expect([...ops.selfPs]).toEqual([2, 14]);
    expect([...ops.occurrences]).toEqual([1, 2]);
  });

  it("leaves totals alone where every unit is an op", () => {
    const units = opTotals(toTable([]), undefined, N_OPS, null);
    expect(shareTotals(units, undefined, N_OPS)).toBe(units);
  });
});

describe("opTotals", () => {
  it("counts an op of a device once for all kernels of an execution", () => {
    const at = (start: number): Span => ({ op: 3, line: 0, start, duration: 5, children: [] });
    const table = toTable([at(0), at(10), at(20), at(30), at(40)]);
    const kernels = { n: table.n, columns: { ...table.columns, execution: Int32Array.of(7, 7, 9, 9, 9) } };
    expect(opTotals(kernels, undefined, N_OPS, null).occurrences[3]).toBe(2);
    expect(opTotals(kernels, undefined, N_OPS, [8, 12]).occurrences[3]).toBe(1);
    expect(opTotals(table, undefined, N_OPS, null).occurrences[3]).toBe(5);
  });

  it("charges every instant of a range to the innermost op, as counting instants does", () => {
    fc.assert(
      fc.property(forest, fc.option(ranges, { nil: null }), (roots, range) => {
        const totals = opTotals(toTable(roots), undefined, N_OPS, range);
        expect([...totals.selfPs]).toEqual(selfByClock(roots, range));
      }),
    );
  });

  it("splits self and total time over adjoining ranges without loss", () => {
    fc.assert(
      fc.property(forest, fc.integer({ min: 0, max: 60 }), (roots, cut) => {
        const table = toTable(roots);
        const whole = opTotals(table, undefined, N_OPS, null);
        const parts = [opTotals(table, undefined, N_OPS, [-1, cut]), opTotals(table, undefined, N_OPS, [cut, 61])];
        for (let op = 0; op < N_OPS; op++) {
          expect(parts[0].selfPs[op] + parts[1].selfPs[op]).toBe(whole.selfPs[op]);
          expect(parts[0].totalPs[op] + parts[1].totalPs[op]).toBe(whole.totalPs[op]);
        }
      }),
    );
  });

  it("counts occurrences that overlap the range, and those without length inside it", () => {
    const at = (start: number, duration: number): Span => ({ op: 0, line: 0, start, duration, children: [] });
    const table = toTable([at(0, 10), at(10, 0), at(10, 5), at(20, 0)]);
    expect(opTotals(table, undefined, N_OPS, [10, 20]).occurrences[0]).toBe(2);
    expect(opTotals(table, undefined, N_OPS, [20, 30]).occurrences[0]).toBe(1);
    expect(opTotals(table, undefined, N_OPS, null).occurrences[0]).toBe(4);
  });

  it("gives idle time as what a line was observed less what its ops took, never negative", () => {
    const lines: Table = {
      n: 2,
      columns: {
        line: Int32Array.of(0, 1),
        device: Uint8Array.of(0, 1),
        first_ps: Float64Array.of(0, 0),
        last_ps: Float64Array.of(60, 60),
      },
    };
    fc.assert(
      fc.property(forest, ranges, (roots, range) => {
        const { idlePs } = opTotals(toTable(roots), lines, N_OPS, range);
        const [from, to] = range as [number, number];
        const observed = Math.max(0, Math.min(60, to) - Math.max(0, from));
        for (const line of [0, 1]) {
          const own = roots.filter((span) => span.line === line);
          const busy = selfByClock(own, range).reduce((a, b) => a + b, 0);
          expect(idlePs[line]).toBe(observed - busy);
        }
      }),
    );
  });
});

describe("opRows", () => {
  const totals = {
    totalPs: Float64Array.of(10, 20, 30, 40),
    selfPs: Float64Array.of(10, 5, 30, 40),
    occurrences: Float64Array.of(1, 2, 3, 0),
    idlePs: [7, 0] as const,
  };

  it("leaves out ops that do not occur and sorts by self time", () => {
    expect(opRows(NAMES, totals).map((row) => row.name)).toEqual(["c", "a", "b"]);
  });

  it("adds the shares of all rows up to 1", () => {
    const rows = opRows(NAMES, totals, { withIdle: true });
    expect(rows.map((row) => row.name)).toContain("IDLE");
    expect(rows[rows.length - 1].cumulativeRatio).toBeCloseTo(1, 12);
  });

  it("adds ops of one type up, and keeps host and device apart", () => {
    const all = { ...totals, occurrences: Float64Array.of(1, 2, 3, 4) };
    const rows = opRows(NAMES, all, { byType: true });
    expect(rows.map((row) => [row.type, row.device, row.nOps, row.selfPs])).toEqual([
      ["MatMul", 1, 1, 40],
      ["Dataset", 0, 1, 30],
      ["MatMul", 0, 2, 15],
    ]);
  });

  it("gives each side shares of its own time, as Profile.ops does", () => {
    const rows = opRows(NAMES, { ...totals, occurrences: Float64Array.of(1, 2, 3, 4) });
    for (const side of [0, 1]) {
      const own = rows.filter(({ device }) => device === side);
      expect(own.reduce((sum, row) => sum + row.selfRatio, 0)).toBeCloseTo(1, 12);
      expect(own[own.length - 1].cumulativeRatio).toBeCloseTo(1, 12);
    }
  });

  it("keeps shares relative to all ops when only some are kept", () => {
    const rows = opRows(NAMES, totals, { keep: (name) => name === "a" });
    expect(rows.map((row) => row.selfRatio)).toEqual([10 / 45]);
  });

  it("colours tf.data and image ops as input, device ops as device compute", () => {
    expect(opCategory({ device: 0, type: "Dataset", isIdle: false }, "runtime")).toBe("input");
    expect(opCategory({ device: 0, type: "DecodeJpeg", isIdle: false }, "image")).toBe("input");
    expect(opCategory({ device: 0, type: "MatMul", isIdle: false }, "conv")).toBe("host_compute");
    expect(opCategory({ device: 1, type: "MatMul", isIdle: false }, "conv")).toBe("device_compute");
  });

  it("colours what a device moves or converts in its own memory as compute, and copies and talk between devices as such", () => {
    const of = (type: string) => opCategory({ device: 1, type, isIdle: false }, "move");
    const types = ["Cast", "ConcatV2", "Transpose", "MemcpyDToD", "MemcpyHToD", "NcclAllReduce", "CollectiveReduceV2"];
    expect(types.map(of)).toEqual([
      ...Array(3).fill("device_compute"),
      ...["device_to_device", "copy_to_device", "device_collectives", "device_collectives"],
    ]);
  });
});

describe("textFilter", () => {
  it("finds all words in any case, and slashes make a regular expression", () => {
    expect(textFilter("conv RELU").test("a/Relu/conv2d")).toBe(true);
    expect(textFilter("conv relu").test("conv2d")).toBe(false);
    expect(textFilter("/^conv/i").test("Conv2D")).toBe(true);
    expect(textFilter("/^conv/").test("Conv2D")).toBe(false);
  });

  it("keeps everything and says why when a pattern does not compile", () => {
    const filter = textFilter("/(/");
    expect(filter.test("anything")).toBe(true);
    expect(filter.error).not.toBe("");
  });
});
