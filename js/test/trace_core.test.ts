import { describe, expect, it } from "vitest";
import { findSame, insideOf, summarizeKey, timePerStep } from "../src/core/event_summary";
import { buildPostings, buildRows, readEvents } from "../src/core/events";
import { flowsOf } from "../src/core/flows";
import { findGaps, gapsIn } from "../src/core/idle";
import type { TraceMeta } from "../src/core/meta";
import { layoutPieces, RunBuffer } from "../src/core/pieces";
import { eventsByTime, flagged, matchNames, neighbour } from "../src/core/search";
import { timeInside, uncapturedSpans } from "../src/core/sessions";
import { statsOfEvent, statText } from "../src/core/stats";
import { readSteps, stepAt, typicalSteps } from "../src/core/steps";
import { trainingRun } from "./fixtures";

const run = trainingRun();
const meta = run.meta as unknown as TraceMeta;
const events = readEvents(run.tables.events, meta);
const rows = buildRows(events, meta.lines.length);
const steps = readSteps(run.tables.steps, run.tables.step_pieces, meta);
const byKey = buildPostings(events.key, meta.names.length);
const idOf = (name: string) => meta.names.indexOf(name);
const BATCH = "Iterator::Root::BatchV2";

describe("search", () => {
  it("finds text in any case and regular expressions, nothing for nothing", () => {
    const names = ["Conv2D", "conv2d_1/Relu", "MatMul"];
    expect([...matchNames(names, { text: "CONV", isRegex: false })]).toEqual([1, 1, 0]);
    expect([...matchNames(names, { text: "^mat|Relu$", isRegex: true })]).toEqual([0, 1, 1]);
    expect([...matchNames(names, { text: "", isRegex: true })]).toEqual([0, 0, 0]);
    expect([...matchNames(names, { text: "2d.", isRegex: false })]).toEqual([0, 0, 0]);
    expect(() => matchNames(names, { text: "(", isRegex: true })).toThrow(SyntaxError);
    expect([...flagged(Uint8Array.of(0, 1, 0, 1))]).toEqual([1, 3]);
  });

  it("walks matches of several lines in the order of time and wraps around", () => {
    const byName = buildPostings(events.name, meta.names.length);
    const found = eventsByTime(
      events,
      byName,
      flagged(matchNames(meta.names, { text: "conv2d/Relu:Relu", isRegex: false })),
    );
    expect(found).toHaveLength(80);
    for (let i = 1; i < found.length; i++)
      expect(events.start[found[i]]).toBeGreaterThanOrEqual(events.start[found[i - 1]]);
    expect(neighbour(events, found, found[79], 1)).toBe(0);
    expect(neighbour(events, found, found[0], -1)).toBe(79);
    expect(neighbour(events, found, -1, 1, events.start[found[10]])).toBe(10);
    expect(neighbour(events, new Uint32Array(), -1, 1)).toBe(-1);
  });
});

describe("details", () => {
  it("sums the slices of an op, all of them or those that overlap a range", () => {
    const all = summarizeKey(events, byKey, idOf(BATCH), null);
    expect(all.count).toBe(40);
    const seven = summarizeKey(events, byKey, idOf(BATCH), { t0: steps.start[12], t1: steps.end[18] });
    expect(seven.count).toBe(7);
    expect(seven.totalPs).toBeLessThan(all.totalPs);
    const first = byKey.order[byKey.offset[idOf(BATCH)]];
    const [start, duration] = [events.start[first], events.duration[first]];
    const part = summarizeKey(events, byKey, idOf(BATCH), { t0: start + duration / 4, t1: start + duration / 2 });
    expect(part.count).toBe(1);
    expect(part.totalPs).toBeCloseTo(duration / 4, 0);
    const durations = [...byKey.order.subarray(byKey.offset[idOf(BATCH)], byKey.offset[idOf(BATCH) + 1])].map(
      (event) => events.duration[event],
    );
    expect(events.duration[all.longest]).toBe(Math.max(...durations));
  });

  it("splits a slice into the self times inside it, itself included, without losing any", () => {
    const batch = byKey.order[byKey.offset[idOf(BATCH)]];
    const inside = insideOf(events, batch);
    expect(inside.map((row) => meta.names[row.name])).toContain("DecodeJpeg:DecodeJpeg");
    expect(inside.find((row) => meta.names[row.name] === BATCH)?.count).toBe(1);
    expect(inside.reduce((sum, row) => sum + row.selfPs, 0)).toBeCloseTo(events.duration[batch], -2);
  });

  it("gives an op's time in each step, and nothing for events without steps", () => {
    const times = timePerStep(events, byKey, idOf(BATCH), steps.n);
    expect(times).toHaveLength(40);
    expect(times.every((t) => t > 12e9 && t < 15e9)).toBe(true);
    expect(timePerStep(events, byKey, idOf("ThreadpoolListener::Record"), steps.n)).toHaveLength(0);
  });

  it("finds a slice again in a larger table", () => {
    const k = 1234;
    const old = { line: events.line[k], start: events.start[k], name: events.name[k] };
    expect(findSame(events, old)).toBe(k);
    expect(findSame(events, { ...old, start: old.start + 1 })).toBe(-1);
  });

  it("decodes stats exactly, 64-bit integers included", () => {
    const names = ["Relu"];
    const double = new BigUint64Array(Float64Array.of(0.1).buffer)[0];
    expect(statText(2, double, names)).toBe("0.100000");
    expect(statText(3, 2n ** 64n - 1n, names)).toBe("18446744073709551615");
    expect(statText(4, 2n ** 64n - 1n, names)).toBe("-1");
    expect(statText(5, 0n, names)).toBe("Relu");
    expect(statText(6, 2048n, names)).toBe("2.00 KiB of binary data");
    const first = statsOfEvent(run.tables.stats, meta.names, events, 0);
    expect(first).toEqual([
      { key: "group_id", value: "0" },
      { key: "_c", value: "18446744073709551600" },
    ]);
    expect(statsOfEvent(undefined, meta.names, events, 0)).toEqual([]);
  });
});

describe("flows", () => {
  const windowed = trainingRun({ isWindowed: true, nSteps: 20 });
  const its = windowed.meta as unknown as TraceMeta;
  const all = readEvents(windowed.tables.events, its);
  const lineOf = (name: string) => its.lines.findIndex((line) => line.name === name);
  const onLine = (line: string, step: number) =>
    [...Array(all.n).keys()].filter(
      (e) => all.line[e] === lineOf(line) && all.step[e] === step && its.names[all.key[e]] === "sequential/conv2d/Relu",
    );

  it("leads from a launch to its kernel and back, within the session only", () => {
    for (const step of [2, 7, 17]) {
      const [launch] = onLine("tf_Compute/0", step);
      const [kernel] = onLine("Stream #13 Compute", step);
      expect(flowsOf(its, windowed.tables.stats, all, launch)).toEqual({ from: [], to: [kernel] });
      expect(flowsOf(its, windowed.tables.stats, all, kernel)).toEqual({ from: [launch], to: [] });
    }
  });

  it("leads from a producer to the consumers of its id and type", () => {
    const stat = (key: string, value: number) => [key, value] as const;
    const lists = [
      [stat("_pt", 1), stat("_p", 7)],
      [stat("_ct", 1), stat("_c", 7)],
      [stat("_ct", 2), stat("_c", 7)],
    ];
    const names = ["_pt", "_p", "_ct", "_c"];
    const flat = lists.flat();
    const stats = {
      n: flat.length,
      columns: {
        key: Int32Array.from(flat, ([key]) => names.indexOf(key)),
        kind: new Uint8Array(flat.length).fill(3),
        bits: BigUint64Array.from(flat, ([, value]) => BigInt(value)),
      },
    };
    const small = readEvents(
      { n: 3, columns: { start_ps: Float64Array.of(0, 5, 6), n_stats: Uint16Array.of(2, 2, 2) } },
      meta,
    );
    expect(flowsOf({ ...meta, names }, stats, small, 0)).toEqual({ from: [], to: [1] });
    expect(flowsOf({ ...meta, names }, stats, small, 1)).toEqual({ from: [0], to: [] });
    expect(flowsOf({ ...meta, names }, stats, small, 2)).toEqual({ from: [], to: [] });
    expect(flowsOf({ ...meta, names }, undefined, small, 0)).toEqual({ from: [], to: [] });
  });
});

describe("steps and sessions", () => {
  it("chooses usual steps in the middle for the first window", () => {
    const first = { ...steps, isAveraged: steps.isAveraged };
    expect(typicalSteps(first, 8)).toEqual([16, 23]);
    expect(typicalSteps({ ...first, n: 3 }, 8)).toEqual([1, 2]);
    expect(typicalSteps({ ...first, isAveraged: new Uint8Array(40) }, 8)).toBeNull();
    const oneOut = Uint8Array.from({ length: 40 }, (_, i) => (i === 20 ? 0 : 1));
    expect(typicalSteps({ ...first, isAveraged: oneOut }, 8)).toEqual([12, 19]);
    // A window over two sessions would show the time between them.
    const session = Int32Array.from({ length: 40 }, (_, i) => (i < 19 ? 0 : 1));
    expect(typicalSteps({ ...first, session }, 8)).toEqual([11, 18]);
  });

  it("knows the step at a time", () => {
    expect(stepAt(steps, steps.start[7] + 1)).toBe(7);
    expect(stepAt(steps, -1)).toBe(-1);
  });

  it("draws the composition of steps without gaps, exact or one category a pixel", () => {
    const out = new RunBuffer(800);
    for (const view of [
      { t0: 0, t1: steps.end[39] },
      { t0: steps.start[5], t1: steps.end[6] },
    ]) {
      layoutPieces(steps.piece, view, 800, out);
      let covered = 0;
      for (let k = 0; k < out.n; k++) covered += out.x1[k] - out.x0[k];
      expect(covered).toBeGreaterThan(795);
    }
  });

  it("finds the time in which nothing was captured", () => {
    const windowed = trainingRun({ isWindowed: true, nSteps: 20 }).meta as unknown as TraceMeta;
    const spans = uncapturedSpans(windowed.sessions);
    expect(spans).toHaveLength(3);
    expect(spans[0].t1 - spans[0].t0).toBeCloseTo(996e9, -6);
    expect(timeInside(spans, { t0: 0, t1: spans[0].t0 + 5 })).toBe(5);
    const twoHosts = [
      { start_ps: 0, stop_ps: 10, host: "a" },
      { start_ps: 2, stop_ps: 5, host: "b" },
      { start_ps: 12, stop_ps: 20, host: "b" },
    ];
    expect(uncapturedSpans(twoHosts)).toEqual([{ t0: 10, t1: 12 }]);
  });

  it("measures how long a stream waits", () => {
    const row = rows.firstRow[16];
    const gaps = findGaps(rows, row, 1e9, []);
    expect(gaps.start).toHaveLength(39);
    const { count, meanPs } = gapsIn(gaps, { t0: steps.start[10], t1: steps.end[12] });
    expect([count, Math.round(meanPs / 1e9)]).toEqual([3, 15]);
    expect(findGaps(rows, row, 1e9, [{ t0: 0, t1: 1e15 }]).start).toHaveLength(0);
  });
});
