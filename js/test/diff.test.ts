// @vitest-environment jsdom
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectLink } from "../src/data/link";
import {
  countWords,
  type DiffTable,
  largestChanges,
  Partners,
  passing,
  ratioMarks,
  rowsOf,
  SharedSelection,
  signed,
  stateMark,
  times,
  valueText,
} from "../src/views/diff_panel/comparison";
import { FakeModel } from "./fake_host";

function table(states: readonly string[], more: Partial<DiffTable> = {}): DiffTable {
  const n = states.length;
  const of = <T>(value: (i: number) => T) => Array.from({ length: n }, (_, i) => value(i));
  const columns = {
    ...{ name: of((i) => `op${i}`), detail: of(() => "MatMul"), place: of(() => ""), where: of(() => "host") },
    ...{ unit: of(() => "ms"), a: of(() => 1), b: of((i) => 3 - i), change: of((i) => 2 - i), noise: of(() => 0.5) },
    ...{ ratio: of((i) => 3 - i), state: states, ops: of((i) => [[`op${i}`], [`op${i}`]] as const) },
  };
  const nChanged = states.filter((state) => state !== "same").length;
  return { id: "ops", n_rows: n, n_changed: nChanged, is_noise_known: true, columns, ...more };
}

describe("the axis of a ratio", () => {
  it("shows 1, the ratio and its interval, in order", () => {
    const ratios = fc.double({ min: 0.01, max: 100, noNaN: true });
    fc.assert(
      fc.property(ratios, fc.double({ min: 1.001, max: 3, noNaN: true }), (ratio, width) => {
        const marks = ratioMarks(ratio, [ratio / width, ratio * width]);
        if (marks === null) throw new Error("no marks");
        expect(marks.low).toBeGreaterThanOrEqual(-1e-9);
        expect(marks.high).toBeLessThanOrEqual(1 + 1e-9);
        expect(marks.low).toBeLessThan(marks.ratio);
        expect(marks.ratio).toBeLessThan(marks.high);
        expect(marks.one).toBeGreaterThanOrEqual(0);
        expect(marks.one).toBeLessThanOrEqual(1);
        expect(marks.ticks.map((tick) => tick.ratio)).toContain(1);
      }),
    );
  });

  it("is not there where the interval is not known", () => {
    expect(ratioMarks(1.2, [null, null])).toBeNull();
    expect(ratioMarks(null, [1, 2])).toBeNull();
  });

  it("does not draw a narrow interval as a wide one", () => {
    const marks = ratioMarks(1, [0.999, 1.001]);
    expect((marks?.high ?? 1) - (marks?.low ?? 0)).toBeLessThan(0.05);
  });
});

describe("partners", () => {
  const partners = new Partners([["dense_1/MatMul", "dense/MatMul"]], [["gone"], ["new"]]);
  it("have their own names, or the same", () => {
    expect(partners.of(["dense_1/MatMul", "conv"], 0)).toEqual(["dense/MatMul", "conv"]);
    expect(partners.of(["dense/MatMul", "conv"], 1)).toEqual(["dense_1/MatMul", "conv"]);
  });
  it("are none for what only one run has", () => {
    expect(partners.of(["gone"], 0)).toEqual([]);
    expect(partners.of(["new"], 1)).toEqual([]);
  });
});

describe("a selection of two runs", () => {
  async function selection(isOneRun = false) {
    const models = [new FakeModel({ time_range: [], selection: [], step: -1 })];
    models.push(isOneRun ? models[0] : new FakeModel({ time_range: [], selection: [], step: -1 }));
    const { signal } = new AbortController();
    const host = {
      getModel: async (ref: string) => models[Number(ref.slice(-1))],
      getWidget: async () => null as never,
    };
    const id = Math.random();
    const links = [await connectLink(host, `${id}-0`, signal), await connectLink(host, `${id}-1`, signal)] as const;
    const partners = new Partners([["dense_1", "dense"]], [["gone"], []]);
    return { models, links, shared: new SharedSelection([links[0], links[1]], partners, signal) };
  }

  it("follows either run, under the names of the other", async () => {
    const { links } = await selection();
    links[0].setSelection(["dense_1"]);
    expect(links[1].selection).toEqual(["dense"]);
    links[1].setSelection(["conv"]);
    expect(links[0].selection).toEqual(["conv"]);
    links[0].setSelection(["gone"]);
    expect(links[1].selection).toEqual([]);
    expect(links[0].selection).toEqual(["gone"]);
  });

  it("is taken and let go by the same click", async () => {
    const { links, shared } = await selection();
    shared.toggle([["a"], ["b"]]);
    expect([links[0].selection, links[1].selection]).toEqual([["a"], ["b"]]);
    shared.toggle([["a"], ["b"]]);
    expect([shared.of(0), shared.of(1)]).toEqual([[], []]);
  });

  it("is one where a run is compared with itself", async () => {
    const { links, shared } = await selection(true);
    shared.toggle([["a"], ["a"]]);
    expect(links[0].selection).toEqual(["a"]);
    links[1].setSelection(["b"]);
    expect(links[0].selection).toEqual(["b"]);
  });

  it("follows the pointer, and no answer to it", async () => {
    const { links } = await selection();
    links[0].setHover("dense_1");
    expect(links[1].hover).toBe("dense");
    expect(links[0].hover).toBe("dense_1");
    links[0].setHover("");
    expect(links[1].hover).toBe("");
  });
});

describe("rows", () => {
  it("pass by state and by text", () => {
    const rows = rowsOf(table(["slower", "same", "added"]));
    expect(passing(rows, true, () => true).map((row) => row.name)).toEqual(["op0", "op2"]);
    expect(passing(rows, false, (text) => text === "op1").map((row) => row.name)).toEqual(["op1"]);
  });

  it("are counted, also those that are not here", () => {
    const small = table(["slower", "same"]);
    expect(countWords(small, 1, true, false)).toBe("1 of 2 ops · 1 within noise not shown");
    expect(countWords(small, 2, false, false)).toBe("2 of 2 ops");
    expect(countWords(table(["same"]), 1, false, false)).toBe("1 of 1 ops · none changed beyond noise");
    const cut = table(["slower", "same"], { n_rows: 5000 });
    expect(countWords(cut, 2, false, false)).toBe("2 of 5,000 ops · the first 2 by change are here");
    expect(countWords(cut, 1, false, true)).toContain("searched in the first 2");
  });

  it("have a scale for each unit", () => {
    const rows = rowsOf(table(["slower", "same"])).map((row, i) => ({
      ...row,
      unit: i ? "bytes" : "ms",
      change: -7 - i,
    }));
    expect([...largestChanges(rows)]).toEqual([
      ["ms", 7],
      ["bytes", 8],
    ]);
    expect(valueText(rows[1], 2 ** 20)).toBe("1.00 MiB");
  });
});

describe("words", () => {
  it("have a sign and a mark besides any colour", () => {
    expect([signed(1.234), signed(-0.5), signed(0), signed(null)]).toEqual(["+1.23", "−0.500", "0", "–"]);
    expect([times(1.75), times(null)]).toEqual(["×1.75", "–"]);
    expect(stateMark("slower").textContent).toBe("▲slower");
  });
});
