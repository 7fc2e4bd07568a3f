import { describe, expect, it } from "vitest";
import { filledRows } from "../src/core/bands";
import { buildPostings, buildRows, readEvents } from "../src/core/events";
import { SliceBuffer } from "../src/core/lod";
import type { TraceMeta } from "../src/core/meta";
import { RunBuffer } from "../src/core/pieces";
import { readSteps } from "../src/core/steps";
import { layoutTracks, newTrackState } from "../src/core/tracks";
import { xAt } from "../src/core/viewport";
import { drawFlows } from "../src/draw/arrows";
import type { Frame } from "../src/draw/frame";
import { drawSessionGaps } from "../src/draw/gaps";
import { drawRangeBracket, drawRuler, drawSteps } from "../src/draw/head";
import { LabelCache } from "../src/draw/label_cache";
import { markFound, outlineIds } from "../src/draw/outlines";
import type { Palette } from "../src/draw/palette";
import { drawTracks } from "../src/draw/slices";
import { trainingRun } from "./fixtures";

const run = trainingRun();
const meta = run.meta as unknown as TraceMeta;
const events = readEvents(run.tables.events, meta);
const rows = buildRows(events, meta.lines.length);
const steps = readSteps(run.tables.steps, run.tables.step_pieces, meta);
const CHAR_PX = 6;

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly fillStyle: unknown;
}

/** A context that measures text by its length and records what is called with which colour. */
function recorder(): { ctx: CanvasRenderingContext2D; calls: Call[] } {
  const calls: Call[] = [];
  const state: Record<string, unknown> = {};
  const ctx = new Proxy(state, {
    get(_, name: string) {
      if (name === "measureText") return (text: string) => ({ width: text.length * CHAR_PX });
      if (name in state) return state[name];
      return (...args: unknown[]) => void calls.push({ name, args, fillStyle: state.fillStyle });
    },
    set(_, name: string, value) {
      state[name] = value;
      return true;
    },
  });
  return { ctx: ctx as unknown as CanvasRenderingContext2D, calls };
}

const palette: Palette = {
  bg: "bg",
  bg2: "bg2",
  ink: "ink",
  ink2: "ink2",
  rule: "rule",
  rule2: "rule2",
  act: "act",
  actWash: "wash",
  sliceInk: "slice-ink",
  memoryHeap: "heap",
  categories: [...meta.categories],
  fills: ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"].map((f) => `fill ${f}`),
  edges: ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"].map((f) => `edge ${f}`),
  font: "sans-serif",
};

function frame(ctx: CanvasRenderingContext2D, change: Partial<Frame> = {}): Frame {
  const bounds = { t0: 0, t1: meta.duration_ps };
  return {
    ctx,
    palette,
    width: 850,
    labelWidth: 164,
    height: 332,
    view: { t0: steps.start[14], t1: steps.end[14] },
    bounds,
    uncaptured: [],
    meta,
    events,
    rows,
    steps,
    family: run.tables.names.columns.family as Uint8Array,
    labels: new LabelCache(meta.names),
    slices: new SliceBuffer(850),
    runs: new RunBuffer(850),
    layout: layoutTracks(meta, rows, filledRows(events, rows), newTrackState()),
    scrollTop: 0,
    tracksBottom: 332,
    range: null,
    rangeLabel: "",
    ...change,
  };
}

const texts = (calls: Call[]) => calls.filter((c) => c.name === "fillText").map((c) => String(c.args[0]));

describe("slices", () => {
  it("draws a wide slice as fill, edge and name, in the colours of its family", () => {
    const { ctx, calls } = recorder();
    drawTracks(frame(ctx));
    expect(texts(calls)).toContain("Iterator::Root::BatchV2");
    const fills = calls.filter((c) => c.name === "fillRect" && c.fillStyle === "fill tfdata");
    expect(fills.length).toBeGreaterThan(2);
    expect(calls.some((c) => c.name === "fillRect" && c.fillStyle === "edge tfdata" && c.args[2] === 1)).toBe(true);
  });

  it("draws children over the wrapper that they fill, in one band", () => {
    const { ctx, calls } = recorder();
    drawTracks(frame(ctx));
    const y = (color: string) => calls.find((c) => c.name === "fillRect" && c.fillStyle === color)?.args[1];
    expect(y("fill python")).toBe(y("fill runtime"));
    expect(texts(calls)).not.toContain("train");
  });

  it("cuts a name that does not fit to its informative part, then to its beginning", () => {
    const { ctx } = recorder();
    const labels = new LabelCache(["sequential/conv2d/Conv2DBackpropFilter:Conv2DBackpropFilter"]);
    expect(labels.fit(ctx, 0, 1000)).toBe(labels.names[0]);
    expect(labels.fit(ctx, 0, 200)).toBe("Conv2DBackpropFilter");
    expect(labels.fit(ctx, 0, 60)).toBe("Conv2DBa…");
    expect(labels.fit(ctx, 0, 20)).toBe("");
    expect(labels.fit(ctx, 0, 60)).toBe("Conv2DBa…");
  });

  it("labels the gaps of a device's main stream with their length", () => {
    const { ctx, calls } = recorder();
    const view = { t0: steps.start[12], t1: steps.end[14] };
    drawTracks(frame(ctx, { view, tracksBottom: 1000 }));
    expect(texts(calls).filter((t) => t.startsWith("idle 1"))).toHaveLength(2);
  });

  it("draws a whole capture with rectangles in proportion to pixels", () => {
    const { ctx, calls } = recorder();
    drawTracks(frame(ctx, { view: { t0: 0, t1: meta.duration_ps }, tracksBottom: 1000 }));
    const nRows = rows.offset.length - 1;
    expect(calls.filter((c) => c.name === "fillRect").length).toBeLessThan(nRows * 850 * 2);
    expect(calls.filter((c) => c.name === "fillRect").length).toBeGreaterThan(500);
  });

  it("skips tracks that are scrolled out of sight", () => {
    const { ctx, calls } = recorder();
    drawTracks(frame(ctx, { scrollTop: 10_000 }));
    expect(calls).toEqual([]);
  });
});

describe("outlines", () => {
  const byKey = buildPostings(events.key, meta.names.length);
  const id = meta.names.indexOf("Iterator::Root::BatchV2");

  it("marks every visible slice of an op on its place", () => {
    const { ctx, calls } = recorder();
    const view = { t0: steps.start[12], t1: steps.end[18] };
    outlineIds(frame(ctx, { view }), byKey, [id], "ink", 1);
    expect(calls.filter((c) => c.name === "stroke")).toHaveLength(7);
    const first = calls.find((c) => c.name === "lineTo");
    const event = [...byKey.order].find((e) => events.key[e] === id && events.step[e] === 12) ?? -1;
    expect(Number(first?.args[0])).toBeCloseTo(Math.round(xAt(view, 850, events.start[event])) + 0.5, 5);
  });

  it("draws one outline per pixel column, however many slices there are", () => {
    const { ctx, calls } = recorder();
    const map = meta.names.indexOf("Iterator::Root::BatchV2::Zip[0]::Map");
    outlineIds(frame(ctx, { view: { t0: 0, t1: 50 * meta.duration_ps } }), byKey, [map], "ink", 1);
    const strokes = calls.filter((c) => c.name === "stroke").length;
    expect(strokes).toBeGreaterThan(5);
    expect(strokes).toBeLessThan(20);
  });

  it("outlines found slices that are wide and ticks narrow ones at the bottom of their row, one per column", () => {
    const byName = buildPostings(events.name, meta.names.length);
    const long = new Set(Array.from(events.name).filter((_, e) => events.duration[e] > meta.duration_ps / 10));
    const found = [...meta.names.keys()].filter((name) => !long.has(name));
    const draw = (t0: number, t1: number) => {
      const { ctx, calls } = recorder();
      markFound(frame(ctx, { view: { t0, t1 } }), byName, found, "act");
      return { strokes: calls.filter((c) => c.name === "stroke"), ticks: calls.filter((c) => c.name === "fillRect") };
    };
    expect(draw(steps.start[14], steps.end[14]).strokes.length).toBeGreaterThan(0);
    const far = draw(0, 50 * meta.duration_ps);
    expect(far.strokes).toEqual([]);
    expect(far.ticks.length).toBeGreaterThan(5);
    expect(far.ticks.every((c) => c.fillStyle === "act" && c.args[2] === 2 && c.args[3] === 2)).toBe(true);
    expect(new Set(far.ticks.map((c) => `${c.args[0]} ${c.args[1]}`)).size).toBe(far.ticks.length);
  });
});

describe("arrows", () => {
  it("go from the launch to the start of its kernel", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = [2, 16].map((line) =>
      [...events.key.keys()].find(
        (e) =>
          events.line[e] === line && events.step[e] === 14 && meta.names[events.key[e]] === "sequential/conv2d/Relu",
      ),
    ) as [number, number];
    const shown = frame(ctx, { tracksBottom: 1000 });
    drawFlows(shown, kernel, { from: [launch], to: [] }, "ink");
    const tip = calls.filter((c) => c.name === "moveTo")[1];
    expect(Number(tip.args[0])).toBeCloseTo(xAt(shown.view, 850, events.start[kernel]), 5);
    expect(Number(calls[1].args[1])).toBeLessThan(Number(tip.args[1]));
  });
});

describe("head", () => {
  it("names the steps and draws their composition in category colours", () => {
    const { ctx, calls } = recorder();
    drawSteps(frame(ctx, { view: { t0: steps.start[14], t1: steps.end[15] } }), -1);
    expect(texts(calls).filter((t) => /^1[45] · 2\d\.\d ms$/.test(t))).toHaveLength(2);
    const colors = calls.filter((c) => c.name === "fillRect").map((c) => c.fillStyle);
    expect(colors).toEqual(expect.arrayContaining(["input", "host_compute", "device_compute"]));
  });

  it("says when steps are inferred", () => {
    const { ctx, calls } = recorder();
    drawSteps(frame(ctx, { steps: { ...steps, isInferred: true } }), -1);
    expect(texts(calls)).toContain("inferred");
  });

  it("writes the range on the ruler, with an arrow where it leaves the window, and moves ticks out of its way", () => {
    const { ctx, calls } = recorder();
    const range = { t0: steps.start[14], t1: steps.end[20] };
    const change = { range, rangeLabel: "steps 14–20 · 149 ms" };
    drawRuler(frame(ctx, change), 300);
    drawRangeBracket(frame(ctx, change), 300);
    expect(texts(calls)).toContain("steps 14–20 · 149 ms ▸");
    const label = calls.find((c) => c.name === "fillText" && String(c.args[0]).startsWith("steps"));
    for (const call of calls.filter((c) => c.name === "fillText" && /ms$/.test(String(c.args[0])))) {
      if (call !== label) expect(Math.abs(Number(call.args[1]) - Number(label?.args[1]))).toBeGreaterThan(60);
    }
  });

  it("marks the time between sessions as not captured", () => {
    const { ctx, calls } = recorder();
    const span = { t0: steps.start[14] + 5e9, t1: steps.end[14] - 5e9 };
    drawSessionGaps(frame(ctx, { uncaptured: [span] }), 47, 300);
    expect(texts(calls)[0]).toMatch(/^not captured, 1\d\.\d ms$/);
  });
});
