import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rangeInPs } from "../src/data/columns";
import type { SessionMeta, TraceMeta } from "../src/data/meta";
import type { Table } from "../src/data/pack";
import { bottleneckOf, depthsOf, firstCallEnd, nodeStats } from "../src/model/input";
import { cutNames } from "../src/model/names";
import { formatPart, formatShare } from "../src/model/overview";
import { describeRange, keepTogether, stepLabel, stepsOfRange, stepWords } from "../src/model/range";
import { barOf, chartTop, niceTicks, stepBars, stepToBarAxis, timeOfSteps, timeToStepAxis } from "../src/model/steps";
import { toCsv } from "../src/model/text";

describe("cutNames", () => {
  const part = fc.constantFrom(
    "gradient_tape",
    "sequential",
    "conv2d",
    "conv2d_1",
    "Relu",
    "MatMul",
    "a",
    "StatefulPartitionedCall",
  );
  const names = fc.array(
    fc.array(part, { minLength: 1, maxLength: 7 }).map((parts) => parts.join("/")),
    { maxLength: 30 },
  );

  it("never makes two names equal, and keeps names that fit", () => {
    fc.assert(
      fc.property(names, fc.integer({ min: 12, max: 60 }), (list, width) => {
        const cuts = cutNames(list, (text) => text.length <= width);
        const distinct = new Set(list);
        expect(new Set([...distinct].map((name) => cuts.get(name))).size).toBe(distinct.size);
        for (const name of distinct) if (name.length <= width) expect(cuts.get(name)).toBe(name);
      }),
    );
  });

  it("makes names as short as asked where that tells them apart", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 7 }), fc.integer({ min: 12, max: 60 }), (parts, width) => {
        const cut = cutNames([parts.join("/")], (text) => text.length <= width).get(parts.join("/")) as string;
        expect(cut.length).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("keeps root, layer and leaf of a path, and drops the wrapper call first", () => {
    const fits = (text: string) => text.length <= 50;
    const long = "gradient_tape/sequential/conv2d_1/convolution/Conv2DBackpropFilter";
    expect(cutNames([long], fits).get(long)).toBe("gradient_tape/…/conv2d_1/…/Conv2DBackpropFilter");
    const wrapped = "StatefulPartitionedCall/sequential/max_pooling2d/MaxPool2d";
    expect(cutNames([wrapped], fits).get(wrapped)).toBe("…/sequential/max_pooling2d/MaxPool2d");
  });

  it("keeps the part that the fewest names have, such as the layer of ops that all layers have", () => {
    const names = ["conv1_bn", "conv2_block1_bn", "conv2_block2_bn"].map((layer) => `net/${layer}/moments/group/mean`);
    const at = (width: number) => [...cutNames(names, (text) => text.length <= width).values()];
    expect(at(24)).toEqual(["…/conv1_bn/…/mean", "…/conv2_block1_bn/…/mean", "…/conv2_block2_bn/…/mean"]);
    expect(at(14)).toEqual(["conv1_…n/mean", "conv2_b…n/mean", "conv…2_bn/mean"]);
  });
});

function stepTable(ms: readonly number[], isAveraged: readonly number[] = ms.map(() => 1)): Table {
  const start = ms.map((_, i) => ms.slice(0, i).reduce((sum, length) => sum + length, 0));
  return {
    n: ms.length,
    columns: {
      start_ps: Float64Array.from(start, (t) => t * 1e9),
      duration_ps: Float64Array.from(ms, (t) => t * 1e9),
      is_averaged: Uint8Array.from(isAveraged),
      input_ms: Float64Array.from(ms, (t) => t / 4),
      other_ms: Float64Array.from(ms, (t) => (t * 3) / 4),
    },
  };
}

const stepLists = fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 300 });

describe("stepBars", () => {
  it("puts each step into one bar, in order, and keeps the mean and the extremes", () => {
    fc.assert(
      fc.property(stepLists, fc.integer({ min: 1, max: 250 }), (ms, maxBars) => {
        const bars = stepBars(stepTable(ms), ["input", "other"], maxBars);
        expect(bars.n).toBe(Math.min(ms.length, maxBars));
        expect([bars.first[0], bars.first[bars.n]]).toEqual([0, ms.length]);
        for (let i = 0; i < bars.n; i++) {
          const own = ms.slice(bars.first[i], bars.first[i + 1]);
          expect(own.length).toBeGreaterThan(0);
          expect([bars.low[i], bars.high[i]]).toEqual([Math.min(...own), Math.max(...own)]);
          expect(bars.stack[0][i] + bars.stack[1][i]).toBeCloseTo(bars.mean[i], 9);
          for (let row = bars.first[i]; row < bars.first[i + 1]; row++) expect(barOf(bars, row)).toBe(i);
        }
      }),
    );
  });

  it("maps the borders of steps to places inside their bars", () => {
    fc.assert(
      fc.property(stepLists, fc.integer({ min: 1, max: 250 }), fc.nat(), (ms, maxBars, pick) => {
        const bars = stepBars(stepTable(ms), ["input", "other"], maxBars);
        const row = pick % ms.length;
        const at = stepToBarAxis(bars, row);
        expect(Math.floor(at)).toBe(barOf(bars, row));
        expect(stepToBarAxis(bars, ms.length)).toBe(bars.n);
      }),
    );
  });

  it("breaks the bar of a step that the averages leave out, and no other", () => {
    expect(chartTop(stepTable([212, 20, 22], [0, 1, 1]))).toBeLessThan(30);
    expect(chartTop(stepTable([23, 20, 22], [0, 1, 1]))).toBeGreaterThan(23);
    expect(chartTop(stepTable([90, 20, 22]))).toBeGreaterThan(90);
  });

  it("chooses round ticks that reach from 0 towards the top", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), fc.integer({ min: 2, max: 12 }), (top, most) => {
        const ticks = niceTicks(top, most);
        expect(ticks[0]).toBe(0);
        expect(ticks.length).toBeLessThanOrEqual(Math.max(3, most) + 1);
        expect(ticks.length).toBeGreaterThan(1);
        expect(ticks[ticks.length - 1]).toBeLessThanOrEqual(top * 1.000001);
      }),
    );
  });
});

describe("time and steps", () => {
  it("names a range by the steps it covers, and comes back from a click unharmed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9e6 }), { minLength: 1, maxLength: 30 }),
        fc.nat(),
        fc.nat(),
        (ps, a, b) => {
          const steps = stepTable(ps.map((length) => length / 1e3));
          const [first, last] = [a % ps.length, b % ps.length].sort((x, y) => x - y);
          const range = rangeInPs(timeOfSteps(steps, first, last), steps);
          expect(stepsOfRange(steps, range)).toEqual([first, last]);
        },
      ),
    );
  });

  it("says what a view is about in words", () => {
    const steps = stepTable([10, 20, 30]);
    const names = ["train 7", "train 8", "train 9"];
    const trace = { duration_ps: 60e9, step_names: names, sessions: [] as SessionMeta[] } as unknown as TraceMeta;
    expect(describeRange(trace, steps, null)).toBe("whole capture · 3 steps · 60.0 ms");
    expect(describeRange(trace, steps, [10e9, 60e9])).toBe("steps 8–9 · 50.0 ms");
    expect(describeRange(trace, steps, [0, 10e9])).toBe("step 7 · 10.0 ms");
    expect(describeRange(trace, steps, [1e9, 15e9])).toBe("1.0–15.0 ms · 14.0 ms");
    expect(stepLabel(["train 1", "test 1"], 1)).toBe("test 1");
    expect(stepWords(["train 1", "test 1"], 1)).toBe("test 1");
    const epochs = { ...trace, step_names: ["train 1·0", "train 1·1", "train 2·0"] };
    expect(stepWords(epochs.step_names, 2)).toBe("epoch 2, step 0");
    expect(describeRange(epochs, steps, [0, 60e9])).toBe("steps 1·0–2·0 · 60.0 ms");
    expect(describeRange(epochs, steps, [0, 10e9])).toBe("epoch 1, step 0 · 10.0 ms");
    const twice = { ...trace, step_names: ["train 8", "train 0", "train 1"] };
    expect(describeRange(twice, steps, [0, 60e9])).toBe("3 steps, 8 to 1 · 60.0 ms");
    // Time between sessions was not captured.
    trace.sessions.push({ start_ps: 0, stop_ps: 10e9, host: "" }, { start_ps: 50e9, stop_ps: 60e9, host: "" });
    expect(describeRange(trace, steps, null)).toBe("whole capture · 3 steps · 20.0 ms");
  });

  it("keeps a number and its unit together", () => {
    const sentence = "Input-bound: the GPU waits 13.1 of 21.3 ms a step for data (62 %).";
    expect(keepTogether(sentence).filter((_, i) => i % 2)).toEqual(["21.3 ms", "(62 %)."]);
    expect(keepTogether(sentence).join("")).toBe(sentence);
  });

  it("places times on the axis of steps in order", () => {
    const steps = stepTable([10, 20, 30]);
    expect([0, 5, 10, 20, 60, 99].map((ms) => timeToStepAxis(steps, ms * 1e9))).toEqual([0, 0.5, 1, 1.5, 3, 3]);
  });
});

describe("the way to the root", () => {
  it("survives a cycle", () => {
    expect(depthsOf([1, 0])).toEqual([2, 2]);
  });
});

describe("pipeline statistics", () => {
  const calls: Table = {
    n: 4,
    columns: {
      pipeline: Int32Array.of(0, 0, 1, 0),
      node: Int32Array.of(0, 1, 0, 0),
      start_ps: Float64Array.of(0, 5, 5, 10),
      duration_ps: Float64Array.of(4, 3, 9, 6),
      self_ps: Float64Array.of(1, 3, 9, 6),
      wait_ps: Float64Array.of(1, 0, 9, 6),
      root: Int32Array.of(0, 0, 2, 3),
      is_blocking: Uint8Array.of(1, 0, 1, 1),
      is_startup: Uint8Array.of(1, 1, 0, 0),
    },
  };

  it("adds the calls that start in the range, of one pipeline", () => {
    const stats = nodeStats(calls, 0, 2, [5, 11]);
    expect([[...stats.calls], [...stats.totalPs], [...stats.selfPs]]).toEqual([
      [1, 1],
      [6, 3],
      [6, 3],
    ]);
    expect(firstCallEnd(calls, 0, 0)).toBe(4);
  });

  it("finds the slowest node of the critical path", () => {
    expect(bottleneckOf([5, 9, 7], [true, false, true])).toBe(2);
    expect(bottleneckOf([0, 0], [true, true])).toBe(-1);
  });
});

describe("words and files", () => {
  it("never rounds a part that is there to nothing", () => {
    expect([formatPart(0, 1), formatPart(0.01, 1), formatPart(13.14, 1)]).toEqual(["0", "<0.1", "13.1"]);
    expect([formatShare(0), formatShare(0.001), formatShare(0.624)]).toEqual(["0", "<1", "62"]);
  });

  it("quotes what would break a CSV row", () => {
    expect(
      toCsv(
        ["a", "b"],
        [
          ['x"y', 1.5],
          ["p,q\n", true],
        ],
      ),
    ).toBe('a,b\r\n"x""y",1.5\r\n"p,q\n",true\r\n');
  });
});
