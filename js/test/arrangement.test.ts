import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CATEGORIES, type CounterMeta, FAMILIES, type TraceMeta } from "../src/data/meta";
import {
  arrangementToJson,
  bookmarkOf,
  bookmarksToJson,
  newArrangement,
  nextBookmark,
  readArrangement,
  readBookmarks,
  showAll,
  spanOf,
  togglePin,
  withBookmark,
} from "../src/model/arrangement";
import { legendOf, nameCategories, newColorScheme, readFamilies } from "../src/model/colors";
import { extremeInSpan, formatValue, newCounter, readCounters, spliceWindow, valueAt } from "../src/model/lod";
import { describeMeasure, snapped, stepEdges, stepsInside } from "../src/model/range";

describe("arrangement", () => {
  it("comes back from its JSON as it was", () => {
    const own = newArrangement(["c0"]);
    own.closedPlanes.add(1);
    own.deepLines.add(7);
    own.flatLines.add(3);
    own.openLevels.set(8, 2);
    own.openFolds.add(0);
    own.hidden.add("l9").add("c2");
    own.colorBy = "step";
    togglePin(own, "l5");
    const back = newArrangement(["c0"]);
    readArrangement(arrangementToJson(own, newArrangement(["c0"])), back, newArrangement(["c0"]));
    expect(back).toEqual(own);
  });

  it("writes nothing for what nobody touched", () => {
    expect(arrangementToJson(newArrangement(["c0"]), newArrangement(["c0"]))).toBe("{}");
  });

  it("remembers that the reader unpinned what is pinned at first", () => {
    const own = newArrangement(["c0"]);
    togglePin(own, "c0");
    const back = newArrangement(["c0"]);
    readArrangement(arrangementToJson(own, newArrangement(["c0"])), back, newArrangement(["c0"]));
    expect(back.pinned).toEqual([]);
  });

  it.each(["", "[", "null", "3", '{"pinned": 7, "hidden": [1, "<b>"], "color": "rainbow", "deep": ["x"]}'])(
    "is untouched after the text %s",
    (text) => {
      const own = newArrangement();
      readArrangement(text, own);
      expect({ ...own, pinned: [] }).toEqual(newArrangement());
    },
  );

  it("shows everything again with one call", () => {
    const own = newArrangement();
    own.hidden.add("l1");
    own.filter = "x";
    showAll(own);
    expect([own.hidden.size, own.filter]).toEqual([0, ""]);
  });
});

describe("bookmarks", () => {
  it("keep their order in time when one is added, and say where it is", () => {
    const first = withBookmark([], bookmarkOf({ t0: 5e6, t1: 5e6 }, "b"));
    const second = withBookmark(first.all, bookmarkOf({ t0: 1e6, t1: 2e6 }, "a"));
    expect([second.index, second.all.map((b) => b.text)]).toEqual([0, ["a", "b"]]);
    expect(readBookmarks(bookmarksToJson(second.all))).toEqual(second.all);
    expect(spanOf(second.all[0])).toEqual({ t0: 1e6, t1: 2e6 });
  });

  it.each(["", "{", "7", '[null, 3, {"start_ns": "x"}]'])("are none in %s", (text) => {
    expect(readBookmarks(text)).toEqual([]);
  });

  it("are walked in both directions, round the ends", () => {
    const all = [1, 2, 3].map((us) => bookmarkOf({ t0: us * 1e6, t1: us * 1e6 }, ""));
    expect(nextBookmark(all, 1e6, 1)).toBe(1);
    expect(nextBookmark(all, 3e6, 1)).toBe(0);
    expect(nextBookmark(all, 1e6, -1)).toBe(2);
    expect(nextBookmark([], 0, 1)).toBe(-1);
  });
});

describe("colours", () => {
  const family = Uint8Array.of(FAMILIES.indexOf("tfdata"), FAMILIES.indexOf("conv"), 7, 7, 7);
  const names = ["Iterator::Root", "MatMul", "cuLaunchKernel", "MemcpyDtoH", "ExecutorState::Process"];
  const opFamily = [FAMILIES.indexOf("runtime"), 0, 0, FAMILIES.indexOf("conv")];
  const ops = [-1, 3, -1, -1, 0];
  const events = { name: [0, 1, 2, 3, 4], op: ops, unit: ops, step: [0, 1, 5, -1, 2] };
  const categories = nameCategories(names, family);
  const scheme = (by: "family" | "step" | "category") =>
    newColorScheme(by, events, readFamilies(names, family, opFamily), categories);

  it("mean the category of the dashboard where asked for it", () => {
    const own = scheme("category");
    const words = [0, 1, 2, 3, 4].map((p) => CATEGORIES[own.of(p, false)]);
    expect(words).toEqual(["input", "host_compute", "kernel_launch", "output", "host_compute"]);
    expect(CATEGORIES[own.of(1, true)]).toBe("device_compute");
    expect(CATEGORIES[own.of(3, true)]).toBe("output");
  });

  it("say what the op of an event does, whatever its kernel is called; copies and compiled ops say it themselves", () => {
    const [conv, elem, move] = ["conv", "elem", "move"].map((name) => FAMILIES.indexOf(name as "conv"));
    const kernels = ["sgemm_conv2d", "MemcpyD2D", "fusion_3"];
    const own = { name: [0, 1, 2], op: [0, 0, 0], unit: [0, 0, 5], step: [0, 0, 0] };
    const families = readFamilies(kernels, [conv, move, conv], [elem]);
    const scheme = newColorScheme("family", own, families, []);
    expect([0, 1, 2].map((p) => scheme.of(p, true))).toEqual([elem, move, conv]);
  });

  it("mean a copy by any name that CUPTI gives copies", () => {
    const copies = ["MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "MemcpyP2P", "MemcpyOther"];
    const words = [...nameCategories(copies, new Uint8Array(5).fill(7))].map((category) => CATEGORIES[category]);
    expect(words).toEqual(["copy_to_device", "output", "device_to_device", "device_to_device", "device_to_device"]);
  });

  it("differ between neighbouring steps and set events of no step apart", () => {
    const own = scheme("step");
    expect(own.of(0, false)).not.toBe(own.of(1, false));
    expect(own.of(1, false)).toBe(own.of(2, false));
    expect(own.of(3, false)).toBe(own.n - 1);
  });

  it("are named each, and none that is not shown", () => {
    for (const by of ["family", "step", "category"] as const) {
      const own = scheme(by);
      const shown = new Uint8Array(own.n);
      for (let p = 0; p < 5; p++) shown[own.of(p, false)] = 1;
      const legend = legendOf(by, shown);
      expect(legend.map((entry) => entry.color)).toEqual([...shown.keys()].filter((color) => shown[color]));
      expect(new Set(legend.map((entry) => entry.text)).size).toBe(legend.length);
      expect(legend.every((entry) => entry.text.length > 2)).toBe(true);
    }
  });
});

describe("counters", () => {
  const meta: CounterMeta = { name: "bfc", unit: "bytes", kind: "memory", min: 0, max: 999, before: 7 };

  it("give the extremes of a column, with what they had before it", () => {
    // More than the largest blocks but one hold.
    const n = 9000;
    const time = Float64Array.from({ length: n }, (_, i) => i * 10);
    const value = Float64Array.from({ length: n }, (_, i) => (i * 7919) % 1000);
    const counter = newCounter(meta, time, value);
    fc.assert(
      fc.property(fc.nat(n - 1), fc.nat(n), (from, length) => {
        const to = Math.min(n, from + Math.max(1, length));
        expect(extremeInSpan(counter, "max", from * 10, to * 10)).toBe(Math.max(...value.subarray(from, to)));
        expect(extremeInSpan(counter, "min", from * 10 + 5, to * 10)).toBe(Math.min(...value.subarray(from, to)));
      }),
    );
    expect(extremeInSpan(counter, "max", -20, -10)).toBe(7);
  });

  it("give the same column by column from the left as each for itself", () => {
    const times = fc.array(fc.nat(500), { maxLength: 80 }).map((list) => list.sort((x, y) => x - y));
    fc.assert(
      fc.property(times, fc.integer({ min: -50, max: 300 }), fc.integer({ min: 1, max: 40 }), (list, t0, column) => {
        const counter = newCounter(
          meta,
          Float64Array.from(list),
          Float64Array.from(list, (_, i) => (i * 7919) % 97),
        );
        const cursor = { index: 0 };
        for (let t = t0; t < t0 + 20 * column; t += column) {
          const alone = extremeInSpan(counter, "max", t, t + column);
          expect(extremeInSpan(counter, "max", t, t + column, cursor)).toBe(alone);
        }
      }),
    );
  });

  it("hold a value until the next one, and are unknown before the first of a sampled one", () => {
    const counter = newCounter({ ...meta, before: null }, Float64Array.of(10, 20), Float64Array.of(3, 5));
    expect([9, 10, 19, 20, 99].map((t) => valueAt(counter, t))).toEqual([Number.NaN, 3, 3, 5, 5]);
    expect(extremeInSpan(counter, "max", 0, 5)).toBeNaN();
    expect(extremeInSpan(counter, "max", 0, 15)).toBe(3);
  });

  it("are read one by one from a table", () => {
    const table = {
      n: 3,
      columns: { counter: Uint16Array.of(0, 1, 1), time_ps: Float64Array.of(1, 2, 3), value: Float64Array.of(4, 5, 6) },
    };
    const both = { counters: [meta, { ...meta, name: "other" }] } as unknown as TraceMeta;
    expect(readCounters(table, both).map((c) => [...c.value])).toEqual([[4], [5, 6]]);
    expect(readCounters(undefined, both).map((c) => c.value.length)).toEqual([0, 0]);
  });

  it("have every value in the window of a page that holds no more, and the outline around it", () => {
    const table = (times: number[]) => ({
      n: times.length,
      columns: {
        counter: new Uint16Array(times.length),
        time_ps: Float64Array.from(times),
        value: Float64Array.from(times),
      },
    });
    const spliced = spliceWindow(table([0, 10, 20, 30]), table([8, 10, 12, 14, 22]), { t0: 9, t1: 20 });
    expect([...(spliced.columns.time_ps as Float64Array)]).toEqual([0, 10, 12, 14, 20, 30]);
  });

  it("have a unit in words", () => {
    expect(["bytes", "bytes/s", "%", "elements", "", "MB"].map((unit) => formatValue(2048, unit))).toEqual([
      "2.00 KiB",
      "2.00 KiB/s",
      "2,048 %",
      "2,048 elements",
      "2,048",
      "1.91 GiB",
    ]);
  });
});

describe("measuring", () => {
  const steps = { n: 3, start: Float64Array.of(0, 10e9, 20e9), end: Float64Array.of(10e9, 20e9, 30e9) };

  it("snaps to the nearest edge within reach, else stays", () => {
    expect(snapped(103, [90, 100, 108], 5)).toBe(100);
    expect(snapped(103, [90, 110], 5)).toBe(103);
    expect(stepEdges(steps, 12e9)).toContain(10e9);
    expect(stepEdges(steps, 12e9)).toContain(20e9);
  });

  it("counts whole steps and tells length, start and end", () => {
    expect(stepsInside(steps, { t0: 10e9, t1: 30e9 })).toBe(2);
    expect(stepsInside(steps, { t0: 11e9, t1: 29e9 })).toBe(0);
    expect(describeMeasure({ t0: 10e9, t1: 30e9 }, steps)).toBe("Δ 20.0 ms · 10.0 to 30.0 ms · 2 whole steps");
  });
});
