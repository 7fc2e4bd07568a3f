import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import type { Table, TypedArray } from "../src/data/pack";
import { Shares } from "../src/model/ops";
import { countFlagged, Marks, matchNames, nextMarked, placeOf } from "../src/model/search";
import { PatternMatcher } from "../src/views/timeline/search";
import { SearchTexts, type TimelineState } from "../src/views/timeline/state";
import { type Drawing, draw, randomSlices } from "./drawn_events";

const ALL = { time: Number.NEGATIVE_INFINITY, position: -1 };

function marksOf(drawing: Drawing, names: readonly number[]): Marks {
  const flags = new Uint8Array(64);
  for (const name of names) flags[name] = 1;
  const marks = new Marks(drawing.events, { names: flags, ops: null });
  marks.advance();
  return marks;
}

/** Positions of slices of these names that are here, in the order of time. */
function byTime({ placed, events }: Drawing, names: readonly number[]): number[] {
  const found = placed.flatMap((slice, p) => (names.includes(slice.name) && events.has(p) ? [p] : []));
  return found.sort((a, b) => placed[a].start - placed[b].start || a - b);
}

function walk(drawing: Drawing, marks: Marks, n: number, direction: 1 | -1): number[] {
  const found: number[] = [];
  let from = direction === 1 ? ALL : { time: Number.POSITIVE_INFINITY, position: -1 };
  for (let k = 0; k < n; k++) {
    const position = nextMarked(drawing.events, marks, from, direction);
    found.push(position);
    from = { time: drawing.events.start[position], position };
  }
  return found;
}

const drawings = [1, 2, 3, 4, 5].map((seed) => randomSlices(seed, 1500, 2000));

describe("marks", () => {
  it("say of any stretch of positions how many marked events lie in it", () => {
    for (const slices of drawings) {
      const drawing = draw(slices, { edges: [300, 700, 1500] });
      const marks = marksOf(drawing, [2, 7]);
      const isMarked = drawing.placed.map(({ name }) => name === 2 || name === 7);
      for (let low = 0; low < drawing.events.n; low += 37) {
        for (const high of [low, low + 1, low + 40, low + 700]) {
          const stop = Math.min(high, drawing.events.n);
          const expected = isMarked.slice(low, stop).filter(Boolean).length;
          expect(marks.count(low, stop)).toBe(expected);
          if (stop > low) expect(marks.any(low, stop - 1)).toBe(expected > 0);
          expect(marks.next(low, stop)).toBe(expected > 0 ? isMarked.indexOf(true, low) : -1);
          expect(marks.previous(low, stop)).toBe(expected > 0 ? isMarked.lastIndexOf(true, stop - 1) : -1);
        }
      }
    }
  });

  it("find what is rare past long stretches without any", () => {
    const slices = Array.from({ length: 5000 }, (_, k) => ({ start: k, duration: 1, name: k === 4200 ? 1 : 0 }));
    const marks = marksOf(draw(slices), [1]);
    expect([marks.next(3, 5000), marks.previous(0, 5000), marks.next(4201, 5000)]).toEqual([4200, 4200, -1]);
  });

  it("take events by the name of their op where they have one", () => {
    const drawing = draw([
      { start: 0, duration: 1, name: 1, op: 5 },
      { start: 2, duration: 1, name: 1 },
    ]);
    const ops = new Uint8Array(64);
    ops[5] = 1;
    const marks = new Marks(drawing.events, { names: new Uint8Array(64), ops });
    marks.advance();
    expect([marks.has(0), marks.has(1)]).toEqual([true, false]);
  });

  it("mark tiles one by one until the time is over", () => {
    const drawing = draw(drawings[0], { edges: [300, 700, 1500] });
    const marks = new Marks(drawing.events, { names: new Uint8Array(64).fill(1), ops: null });
    const counts: number[] = [];
    while (marks.advance(() => true)) counts.push(marks.n);
    expect(counts).toHaveLength(4);
    expect(counts.at(-1)).toBe(drawing.events.n);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
  });

  it("take events of tiles that arrive later", () => {
    const drawing = draw(drawings[1], { edges: [600, 1200], arrived: [2] });
    const marks = marksOf(drawing, [4]);
    expect(marks.n).toBe(byTime(drawing, [4]).length);
    drawing.arrive(0);
    drawing.arrive(1);
    expect(marks.isUpToDate).toBe(false);
    marks.advance();
    expect(marks.n).toBe(drawing.placed.filter(({ name }) => name === 4).length);
  });
});

describe("walking matches", () => {
  it("goes through all of them in the order of time, both ways, and begins again", () => {
    for (const slices of drawings) {
      for (const arrived of [[0, 1, 2, 3], [1, 3], [2], []]) {
        const drawing = draw(slices, { edges: [300, 700, 1500], arrived });
        const names = [1, 3, 8];
        const expected = byTime(drawing, names);
        const marks = marksOf(drawing, names);
        const n = expected.length;
        if (n === 0) continue;
        expect(walk(drawing, marks, n + 1, 1)).toEqual([...expected, expected[0]]);
        expect(walk(drawing, marks, n + 1, -1)).toEqual([...expected.toReversed(), expected[n - 1]]);
      }
    }
  });

  it("finds nothing where nothing is marked", () => {
    const drawing = draw(drawings[0], { edges: [700] });
    expect(nextMarked(drawing.events, marksOf(drawing, [40]), ALL, 1)).toBe(-1);
  });

  it("tells which of all matches one is", () => {
    const drawing = draw(drawings[2], { edges: [300, 700] });
    const names = [0, 5];
    const marks = marksOf(drawing, names);
    const ordered = byTime(drawing, names);
    for (const [place, position] of ordered.entries()) expect(placeOf(drawing.events, marks, position)).toBe(place);
  });
});

describe("matching names", () => {
  const names = ["MatMul", "BiasAdd", "gradient_tape/MatMul", ""];
  it("takes text in either case, and expressions", () => {
    expect([...matchNames(names, { text: "matmul", isRegex: false })]).toEqual([1, 0, 1, 0]);
    expect([...matchNames(names, { text: "^mat", isRegex: true })]).toEqual([1, 0, 0, 0]);
    expect([...matchNames(names, { text: "", isRegex: false })]).toEqual([0, 0, 0, 0]);
    expect(() => matchNames(names, { text: "(", isRegex: true })).toThrow(SyntaxError);
  });
  it("counts matches in the whole capture", () => {
    expect(countFlagged(matchNames(names, { text: "matmul", isRegex: false }), [3, 9, 4, 1])).toBe(7);
  });
});

describe("a search by op, layer and line", () => {
  const names = [
    "dense_8/MatMul",
    "MatMul",
    "sgemm_128",
    "softmax_warp",
    "head/Softmax",
    "Softmax",
    "fusion_3",
    "ampere",
  ];
  const table = (columns: Record<string, TypedArray>) => ({ n: 2, columns }) as Table;
  const tables: Record<string, Table> = {
    op_places: table({ layer: Int32Array.of(0, -1), line: Int32Array.of(1, 0) }),
    // Unit 2 is an HLO op that stands for both.
    op_shares: table({ unit: Int32Array.of(2, 2), op: Int32Array.of(0, 1), ratio: Float64Array.of(0.9, 0.1) }),
  };
  const meta = {
    ...{ names, op_name: [0, 4], op_type: [1, 5], n_units: 4 },
    layers: [{ kind: "layer", layer: "encoder" }],
    source_files: [{ title: "train.py" }],
    source_lines: [
      { file: 0, line: 7, code: "  logits = head(x)" },
      { file: 0, line: 42, code: "x = self.dense(x)" },
    ],
  } as unknown as TraceMeta;
  const data = { namesGeneration: 0, table: (name: string) => tables[name] };
  const state = { meta, shares: new Shares(tables.op_shares, meta), trace: { data } };
  const texts = new SearchTexts(state as unknown as TimelineState);
  const found = (text: string, isWhole = false) => {
    const flags = matchNames(texts.texts, { text, isRegex: false, isWhole });
    return [...(texts.units(flags) ?? [])].flatMap((flag, unit) => (flag ? [unit] : []));
  };

  it("finds what the ops launched, compiled together with others or not", () => {
    expect(found("matmul")).toEqual([0, 2]);
    expect(found("MatMul", true)).toEqual([0, 2]);
    expect(found("dense_8")).toEqual([0, 2]);
    expect(found("softmax")).toEqual([1, 2]);
    expect(found("encoder")).toEqual([0, 2]);
    expect(found("train.py:42")).toEqual([0, 2]);
    expect(found("logits")).toEqual([1, 2]);
    expect(found("sgemm")).toEqual([]);
  });

  it("marks device slices by the op that launched them, and others by their own names", () => {
    const drawing = draw([
      { start: 0, duration: 1, name: 2, op: 0 },
      { start: 2, duration: 1, name: 3, op: 1 },
      { start: 4, duration: 1, name: 7 },
      { start: 6, duration: 1, name: 1 },
    ]);
    const flags = matchNames(texts.texts, { text: "matmul", isRegex: false });
    const marks = new Marks(drawing.events, { names: flags, ops: null, units: texts.units(flags) });
    marks.advance();
    expect([0, 1, 2, 3].map((p) => marks.has(p))).toEqual([true, false, false, true]);
  });
});

/** A worker that answers when it is told to. */
class FakeWorker {
  static all: FakeWorker[] = [];
  onmessage: ((event: { data: Uint8Array }) => void) | null = null;
  onerror: (() => void) | null = null;
  isOver = false;
  constructor() {
    FakeWorker.all.push(this);
  }
  postMessage() {}
  terminate() {
    this.isOver = true;
  }
}

const NAMES = ["MatMul", "Relu"];

describe("a regular expression", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    FakeWorker.all = [];
    vi.stubGlobal("Worker", FakeWorker);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const newMatcher = () => new PatternMatcher(new AbortController().signal);

  it("is matched outside the page", () => {
    const done = vi.fn();
    const matcher = newMatcher();
    matcher.run(NAMES, "mat", done);
    expect([matcher.isRunning, done.mock.calls.length]).toEqual([true, 0]);
    FakeWorker.all[0].onmessage?.({ data: Uint8Array.of(1, 0) });
    expect(done).toHaveBeenCalledExactlyOnceWith(Uint8Array.of(1, 0));
    expect([matcher.isRunning, FakeWorker.all[0].isOver]).toEqual([false, true]);
  });

  it("that takes too long is stopped and said to be so", () => {
    const done = vi.fn();
    newMatcher().run(NAMES, "(a+)+$", done);
    vi.advanceTimersByTime(2500);
    expect(done).toHaveBeenCalledExactlyOnceWith(null);
    expect(FakeWorker.all[0].isOver).toBe(true);
  });

  it("gives way to the next one", () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const matcher = newMatcher();
    matcher.run(NAMES, "a", first);
    matcher.run(NAMES, "b", second);
    FakeWorker.all[0].onmessage?.({ data: Uint8Array.of(1, 1) });
    FakeWorker.all[1].onmessage?.({ data: Uint8Array.of(0, 0) });
    expect(first).not.toHaveBeenCalled();
    expect(second).toHaveBeenCalledExactlyOnceWith(Uint8Array.of(0, 0));
  });

  it("is matched in the page where workers are forbidden, and refused where it is none", () => {
    const done = vi.fn();
    const matcher = newMatcher();
    matcher.run(NAMES, "mat", done);
    FakeWorker.all[0].onerror?.();
    vi.stubGlobal("Worker", undefined);
    matcher.run(NAMES, "relu", done);
    expect(done.mock.calls).toEqual([[Uint8Array.of(1, 0)], [Uint8Array.of(0, 1)]]);
    expect(() => matcher.run(NAMES, "(", done)).toThrow(SyntaxError);
  });
});
