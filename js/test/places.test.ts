import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { selfByPhase, sumByEntry } from "../src/model/ops";
import {
  type Charges,
  codeLines,
  coverage,
  hottestLine,
  knownRatio,
  LINE_PHASES,
  sourceHeat,
} from "../src/model/source";

const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
const totalsOf = (ps: readonly number[]) => ({
  selfPs: Float64Array.from(ps),
  totalPs: Float64Array.from(ps, (value) => value * 2),
  occurrences: Float64Array.from(ps, (_, op) => op + 1),
});
/** Ops with an entry below 5, a phase and a self time. */
const OPS = fc.array(fc.record({ entry: fc.nat(4), phase: fc.nat(2), ps: fc.nat(1e12) }), { maxLength: 40 });

describe("sums by entry", () => {
  it("charge all time, once, and by phase the same", () => {
    fc.assert(
      fc.property(OPS, (ops) => {
        const totals = totalsOf(ops.map(({ ps }) => ps));
        const entries = ops.map(({ entry }) => entry);
        const sums = sumByEntry(entries, totals, 5);
        expect(sum(sums.selfPs)).toBe(sum(totals.selfPs));
        expect(sum(sums.nOps)).toBe(ops.length);
        const phases = selfByPhase(
          entries,
          ops.map(({ phase }) => phase),
          totals,
          5,
        );
        for (let entry = 0; entry < 5; entry++) expect(sum(phases.map((one) => one[entry]))).toBe(sums.selfPs[entry]);
      }),
    );
  });

  it("leave out ops that did not run, that have no entry, or that were not asked for", () => {
    const totals = { ...totalsOf([5, 7, 11, 13]), occurrences: Float64Array.of(1, 0, 1, 1) };
    expect([...sumByEntry([0, 0, -1, 1], totals, 2).selfPs]).toEqual([5, 13]);
    expect([...sumByEntry([0, 0, -1, 1], totals, 2, (op) => op === 0).selfPs]).toEqual([5, 0]);
  });
});

const ENTRIES = [
  { file: 0, line: 3, function: "f", code: "a()", bucket: "" },
  { file: 0, line: 3, function: "<lambda>", code: "a()", bucket: "" },
  { file: 0, line: 9, function: "f", code: "b()", bucket: "" },
  { file: 1, line: 1, function: "", code: "c()", bucket: "" },
  { file: -1, line: 0, function: "", code: "", bucket: "tf.data" },
];
const charges = (line: readonly number[], phase: readonly number[]): Charges => ({
  entries: ENTRIES,
  line,
  phase,
  categoryOf: (op) => (op % 2 ? "input" : "host_compute"),
});

describe("heat of source lines", () => {
  it("of lines and buckets adds up to all op time, in parts as in phases", () => {
    fc.assert(
      fc.property(OPS, (ops) => {
        const places = charges(
          ops.map(({ entry }) => entry),
          ops.map(({ phase }) => phase),
        );
        const heat = sourceHeat(places, totalsOf(ops.map(({ ps }) => ps)));
        const all = [...heat.files.flatMap(({ lines }) => [...lines.values()]), ...heat.buckets];
        expect(heat.wholePs).toBe(sum(ops.map(({ ps }) => ps)));
        expect(sum(all.map(({ selfPs }) => selfPs))).toBe(heat.wholePs);
        for (const one of all) {
          expect(one.forwardPs + one.backwardPs + one.otherPs).toBe(one.selfPs);
          expect(sum(one.parts.map(({ ps }) => ps))).toBe(one.selfPs);
          expect(sum(one.ops.map(({ ps }) => ps))).toBe(one.selfPs);
        }
      }),
    );
  });

  it("takes functions of one line for one line, and sorts files by time", () => {
    const backward = LINE_PHASES.indexOf("backward");
    const heat = sourceHeat(charges([0, 1, 2, 3, 4], [0, backward, 0, 0, 0]), totalsOf([10, 20, 5, 50, 15]));
    expect(heat.files.map(({ file, selfPs }) => [file, selfPs])).toEqual([
      [1, 50],
      [0, 35],
    ]);
    const line = heat.files[1].lines.get(3);
    expect(line).toMatchObject({ selfPs: 30, forwardPs: 10, backwardPs: 20, functions: ["f", "<lambda>"] });
    expect(line?.parts).toEqual([
      { category: "input", isBackward: true, ps: 20 },
      { category: "host_compute", isBackward: false, ps: 10 },
    ]);
    expect(hottestLine(heat.files[1])?.line).toBe(3);
    expect(coverage(heat)).toBe("85 % of op time is charged to 3 lines of your code");
    const unknown = heat.buckets.map((bucket) => ({ ...bucket, bucket: "not in a traced graph" }));
    expect(knownRatio({ ...heat, buckets: unknown })).toBeCloseTo(0.85, 2);
    expect(knownRatio({ ...heat, buckets: [] })).toBe(1);
  });

  it("shows lines of code that are not in the text of their file", () => {
    const heat = sourceHeat(charges([0, 2], [0, 0]), totalsOf([1, 1]));
    const file = { file: "a.py", title: "a.py", text: "one\r\ntwo\r\n" };
    expect([...codeLines(file, heat.files[0])]).toEqual([
      [1, "one"],
      [2, "two"],
      [3, "a()"],
      [9, "b()"],
    ]);
    expect([...codeLines({ ...file, text: "" }, heat.files[0]).keys()]).toEqual([3, 9]);
  });
});
