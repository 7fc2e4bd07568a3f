import { describe, expect, it } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import { Inside, KeyFigures, statsOfEvent, statText } from "../src/model/aggregate";
import { capturedPs, timeInside, uncapturedSpans } from "../src/model/range";
import { findGaps, gapsIn } from "../src/model/rows";
import { Marks } from "../src/model/search";
import { layoutPieces, RunBuffer, readSteps, stepAt } from "../src/model/steps";
import { flagsOfKeys } from "../src/views/timeline/state";
import { trainingRun } from "./fixtures";
import { loading, packOfRows } from "./loading";

const run = trainingRun();
const meta = run.meta as unknown as TraceMeta;
const { events } = loading(run, { nTiles: 3 });
const { rows } = events;
const steps = readSteps(run.tables.steps, run.tables.step_pieces, meta);
const idOf = (name: string) => meta.names.indexOf(name);
const BATCH = "Iterator::Root::BatchV2";

function marksOf(name: string): Marks {
  const marks = new Marks(events, flagsOfKeys(meta, [idOf(name)]));
  marks.advance();
  return marks;
}

function figuresOf(name: string, span: { t0: number; t1: number } | null = null, limit = 400): KeyFigures {
  const options = { span, nSteps: steps.n, counts: () => true, limit };
  const figures = new KeyFigures(events, marksOf(name), idOf(name), options);
  expect(figures.step()).toBe(true);
  return figures;
}

describe("details", () => {
  it("sums the slices of an op, all of them or those that overlap a range", () => {
    const all = figuresOf(BATCH);
    expect(all.count).toBe(40);
    const seven = figuresOf(BATCH, { t0: steps.start[12], t1: steps.end[18] });
    expect(seven.count).toBe(7);
    expect(seven.totalPs).toBeLessThan(all.totalPs);
    const first = marksOf(BATCH).next(0, events.n);
    const [start, duration] = [events.start[first], events.duration[first]];
    const part = figuresOf(BATCH, { t0: start + duration / 4, t1: start + duration / 2 });
    expect(part.count).toBe(1);
    expect(part.totalPs).toBeCloseTo(duration / 4, 0);
    const marks = marksOf(BATCH);
    const durations: number[] = [];
    for (let p = marks.next(0, events.n); p >= 0; p = marks.next(p + 1, events.n)) durations.push(events.duration[p]);
    expect(events.duration[all.longest]).toBe(Math.max(...durations));
    expect([all.minPs, all.maxPs]).toEqual([Math.min(...durations), Math.max(...durations)]);
    expect(all.durations).toHaveLength(40);
    expect(figuresOf(BATCH, null, 10).durations).toHaveLength(10);
  });

  it("splits a slice into the self times inside it, itself included, without losing any", () => {
    const batch = marksOf(BATCH).next(0, events.n);
    const job = new Inside(events, batch);
    job.step();
    const inside = job.rows();
    expect(inside.map((row) => meta.names[row.name])).toContain("DecodeJpeg:DecodeJpeg");
    expect(inside.find((row) => meta.names[row.name] === BATCH)?.count).toBe(1);
    expect(inside.reduce((sum, row) => sum + row.selfPs, 0)).toBeCloseTo(events.duration[batch], -2);
  });

  it("gives an op's time in each step, and nothing for events without steps", () => {
    const times = figuresOf(BATCH).perStep;
    expect(times).toHaveLength(40);
    expect(times.every((t) => t > 12e9 && t < 15e9)).toBe(true);
    expect(figuresOf(BATCH).hasSteps).toBe(true);
    expect(figuresOf("ThreadpoolListener::Record").hasSteps).toBe(false);
  });

  it("decodes stats exactly, 64-bit integers included", () => {
    const names = ["Relu"];
    const double = new BigUint64Array(Float64Array.of(0.1).buffer)[0];
    expect(statText(2, double, names)).toBe("0.100000");
    expect(statText(3, 2n ** 64n - 1n, names)).toBe("18446744073709551615");
    expect(statText(4, 2n ** 64n - 1n, names)).toBe("-1");
    expect(statText(5, 0n, names)).toBe("Relu");
    expect(statText(6, 2048n, names)).toBe("2.00 KiB of binary data");
    const table = {
      n: 2,
      columns: {
        key: Int32Array.of(1, 2),
        kind: Uint8Array.of(4, 3),
        bits: BigUint64Array.of(0n, 18446744073709551600n),
      },
    };
    expect(statsOfEvent(table, ["Relu", "group_id", "_c"])).toEqual([
      { key: "group_id", value: "0" },
      { key: "_c", value: "18446744073709551600" },
    ]);
    expect(statsOfEvent({ n: 0, columns: {} }, [])).toEqual([]);
  });
});

describe("steps and sessions", () => {
  it("knows the step at a time", () => {
    expect(stepAt(steps, steps.start[7] + 1)).toBe(7);
    expect(stepAt(steps, -1)).toBe(-1);
  });

  it("draws the composition of steps without gaps, with exact edges or as shares of a pixel", () => {
    const out = new RunBuffer(800);
    for (const view of [
      { t0: 0, t1: steps.end[39] },
      { t0: steps.start[5], t1: steps.end[6] },
    ]) {
      layoutPieces(steps.piece, view, 800, out);
      let covered = 0;
      for (let k = 0; k < out.n; k++) covered += (out.x1[k] - out.x0[k]) * (out.high[k] - out.low[k]);
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
    // Also before the first event and after the last one.
    expect(capturedPs({ sessions: twoHosts, duration_ps: 15 } as unknown as TraceMeta)).toBe(18);
    expect(capturedPs({ sessions: [] as object[], duration_ps: 15 } as unknown as TraceMeta)).toBe(15);
  });

  it("measures how long a stream waits", () => {
    const row = rows.firstRow[16];
    const gaps = findGaps(events, row, 1e9, []);
    expect(gaps.start).toHaveLength(39);
    const { count, meanPs } = gapsIn(gaps, { t0: steps.start[10], t1: steps.end[12] });
    expect([count, Math.round(meanPs / 1e9)]).toEqual([3, 15]);
    expect(findGaps(events, row, 1e9, [{ t0: 0, t1: 1e15 }]).start).toHaveLength(0);
  });

  it("finds the gaps of a long row that is busy nearly always", () => {
    const isLate = (i: number) => i % 700 === 650 || i === 1 || i === 127 || i === 128;
    let at = 0;
    const rows = Array.from({ length: 5000 }, (_, i) => {
      at += isLate(i) ? 100 : 10;
      return [0, 0, at, 9] as const;
    });
    const { events } = loading(packOfRows(rows));
    const late = rows.filter((_, i) => isLate(i)).map(([, , start]) => start);
    expect([...findGaps(events, 0, 50, []).end]).toEqual(late);
  });
});
