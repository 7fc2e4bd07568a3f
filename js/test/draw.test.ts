import { describe, expect, it } from "vitest";
import { newArrangement } from "../src/core/arrangement";
import { newColorScheme } from "../src/core/colors";
import { Marks } from "../src/core/marks";
import type { TraceMeta } from "../src/core/meta";
import { RunBuffer } from "../src/core/pieces";
import { RowLayouts } from "../src/core/row_layouts";
import { readSteps } from "../src/core/steps";
import { layoutTracks } from "../src/core/tracks";
import { xAt } from "../src/core/viewport";
import { drawArrows } from "../src/draw/arrows";
import { type Frame, TRACKS_TOP_PX } from "../src/draw/frame";
import { drawSampled, drawSessionGaps, nameSampled } from "../src/draw/gaps";
import { drawRangeBracket, drawRuler, drawSteps, rangeLabelSpan } from "../src/draw/head";
import { LabelCache } from "../src/draw/label_cache";
import { markFound, outlineHovered, outlineMarked } from "../src/draw/outlines";
import type { Palette } from "../src/draw/palette";
import { drawTracks } from "../src/draw/slices";
import { flagsOfKeys } from "../src/timeline/chosen";
import { trainingRun } from "./fixtures";
import { loading } from "./loading";

const run = trainingRun();
const meta = run.meta as unknown as TraceMeta;
const { events } = loading(run, { nTiles: 4 });
const { rows } = events;
const family = run.tables.names.columns.family as Uint8Array;
const lineNames = meta.lines.map((line) => line.name);
const work = (line: number) => meta.lines[line].busy_ps;
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
  categoryFills: [...meta.categories],
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
    steps,
    colors: newColorScheme("family", events, family, new Uint8Array(meta.names.length)),
    fills: palette.fills,
    edges: palette.edges,
    shownColors: new Uint8Array(16),
    counters: [],
    yOf: (y) => TRACKS_TOP_PX + y - (change.scrollTop ?? 0),
    tracksTop: TRACKS_TOP_PX,
    only: null,
    hoveredIds: new Int32Array(),
    hovered: [],
    labels: new LabelCache(meta.names),
    layouts: new RowLayouts(850),
    runs: new RunBuffer(850),
    layout: layoutTracks({ meta, rows, work, lineNames, counterNames: [] }, newArrangement()),
    scrollTop: 0,
    tracksBottom: 332,
    range: null,
    rangeLabel: "",
    flags: [],
    sampled: [],
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

  it("dims what the search does not match, and leaves its name out, where only matches are shown", () => {
    const { ctx, calls } = recorder();
    const relu = meta.names.indexOf("sequential/conv2d/Relu");
    const only = new Marks(events, flagsOfKeys(meta, [relu]));
    only.advance();
    drawTracks(frame(ctx, { only }));
    expect(texts(calls)).not.toContain("Iterator::Root::BatchV2");
    const all = recorder();
    drawTracks(frame(all.ctx));
    expect(texts(all.calls)).toContain("Iterator::Root::BatchV2");
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
    expect(calls.filter((c) => c.name === "fillRect").length).toBeLessThan(rows.n * 850 * 2);
    expect(calls.filter((c) => c.name === "fillRect").length).toBeGreaterThan(500);
  });

  it("skips tracks that are scrolled out of sight", () => {
    const { ctx, calls } = recorder();
    drawTracks(frame(ctx, { scrollTop: 10_000 }));
    expect(calls).toEqual([]);
  });
});

describe("outlines", () => {
  const idOf = (name: string) => meta.names.indexOf(name);
  const marked = (ids: readonly number[]) => {
    const marks = new Marks(events, flagsOfKeys(meta, Int32Array.from(ids)));
    marks.advance();
    return marks;
  };

  it("mark every visible slice of an op on its place", () => {
    const { ctx, calls } = recorder();
    const view = { t0: steps.start[12], t1: steps.end[18] };
    const marks = marked([idOf("Iterator::Root::BatchV2")]);
    outlineMarked(frame(ctx, { view }), marks, "ink", 1);
    expect(calls.filter((c) => c.name === "stroke")).toHaveLength(7);
    const first = calls.find((c) => c.name === "lineTo");
    let event = marks.next(0, events.n);
    while (events.step[event] !== 12) event = marks.next(event + 1, events.n);
    expect(Number(first?.args[0])).toBeCloseTo(Math.round(xAt(view, 850, events.start[event])) + 0.5, 5);
  });

  it("are one per pixel column, however many slices there are", () => {
    const { ctx, calls } = recorder();
    const marks = marked([idOf("Iterator::Root::BatchV2::Zip[0]::Map")]);
    outlineMarked(frame(ctx, { view: { t0: 0, t1: 50 * meta.duration_ps } }), marks, "ink", 1);
    const strokes = calls.filter((c) => c.name === "stroke").length;
    expect(strokes).toBeGreaterThan(5);
    expect(strokes).toBeLessThan(20);
  });

  it("surround found slices that are wide, and ticks stand for narrow ones at the bottom of their row", () => {
    const long = new Set(Array.from(events.name).filter((_, e) => events.duration[e] > meta.duration_ps / 10));
    const names = Uint8Array.from(meta.names, (_, name) => (long.has(name) ? 0 : 1));
    const marks = new Marks(events, { names, ops: null });
    marks.advance();
    const draw = (t0: number, t1: number) => {
      const { ctx, calls } = recorder();
      markFound(frame(ctx, { view: { t0, t1 } }), marks, "act");
      return { strokes: calls.filter((c) => c.name === "stroke"), ticks: calls.filter((c) => c.name === "fillRect") };
    };
    expect(draw(steps.start[14], steps.end[14]).strokes.length).toBeGreaterThan(0);
    const far = draw(0, 50 * meta.duration_ps);
    expect(far.strokes).toEqual([]);
    expect(far.ticks.length).toBeGreaterThan(5);
    expect(far.ticks.every((c) => c.fillStyle === "act" && c.args[2] === 2 && c.args[3] === 2)).toBe(true);
    expect(new Set(far.ticks.map((c) => `${c.args[0]} ${c.args[1]}`)).size).toBe(far.ticks.length);
  });

  it("show where the hovered name is among the wide slices, and look at no others", () => {
    const { ctx, calls } = recorder();
    const hoveredIds = Int32Array.of(idOf("Iterator::Root::BatchV2"));
    const near = frame(ctx, { view: { t0: steps.start[12], t1: steps.end[18] }, hoveredIds });
    drawTracks(near);
    const before = calls.filter((c) => c.name === "stroke").length;
    outlineHovered(near, "ink");
    expect(calls.filter((c) => c.name === "stroke").length - before).toBe(7);
    const far = frame(ctx, { view: { t0: 0, t1: 500 * meta.duration_ps }, hoveredIds });
    drawTracks(far);
    expect(far.hovered).toEqual([]);
  });
});

describe("arrows", () => {
  /** Positions of an op in a step on two lines: its launch and its kernel. */
  function launchAndKernel(): readonly [number, number] {
    const relu = meta.names.indexOf("sequential/conv2d/Relu");
    const isOf = (e: number, line: number) =>
      events.lineOf(e) === line && events.step[e] === 14 && events.keyOf(e) === relu;
    const of = (line: number) => [...events.start.keys()].find((e) => isOf(e, line)) as number;
    return [of(2), of(16)];
  }

  it("end at the head of a plane whose tracks are closed, and are dashed there", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = launchAndKernel();
    const closed = newArrangement();
    const plane = meta.lines[events.lineOf(kernel)].plane;
    closed.closedPlanes.add(plane);
    const layout = layoutTracks({ meta, rows, work, lineNames, counterNames: [] }, closed);
    const head = layout.tracks.find((track) => track.kind === "plane" && track.plane === plane);
    drawArrows(frame(ctx, { tracksBottom: 1000, layout }), [{ from: launch, to: kernel, kind: 0, hop: 1 }], "ink");
    const [, tip] = calls.filter((c) => c.name === "moveTo");
    expect(tip.args[1]).toBe(TRACKS_TOP_PX + (head?.y ?? 0) + (head?.height ?? 0) / 2);
    expect(calls.find((c) => c.name === "setLineDash")?.args[0]).not.toEqual([]);
  });

  it("are not drawn to a track that is hidden with its plane", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = launchAndKernel();
    const arrangement = newArrangement();
    arrangement.hidden.add(`p${meta.lines[events.lineOf(kernel)].plane}`);
    const layout = layoutTracks({ meta, rows, work, lineNames, counterNames: [] }, arrangement);
    drawArrows(frame(ctx, { tracksBottom: 1000, layout }), [{ from: launch, to: kernel, kind: 0, hop: 1 }], "ink");
    expect(calls.filter((c) => c.name === "stroke")).toEqual([]);
  });

  it("go from the launch to the start of its kernel", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = launchAndKernel();
    const shown = frame(ctx, { tracksBottom: 1000 });
    drawArrows(shown, [{ from: launch, to: kernel, kind: 0, hop: 1 }], "ink");
    const [tail, tip] = calls.filter((c) => c.name === "moveTo");
    expect(Number(tip.args[0])).toBeCloseTo(xAt(shown.view, 850, events.start[kernel]), 5);
    expect(Number(tail.args[1])).toBeLessThan(Number(tip.args[1]));
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

  it("moves the words of the range, and ticks, beside the flags of bookmarks", () => {
    const { ctx, calls } = recorder();
    const range = { t0: steps.start[14], t1: steps.end[20] };
    const flags = [{ t0: 400, t1: 460 }];
    const change = { range, rangeLabel: "steps 14–20 · 149 ms", flags };
    expect(rangeLabelSpan(frame(ctx, change))?.t0).toBeGreaterThan(460);
    drawRuler(frame(ctx, { flags }), 300);
    const inWay = calls.filter((c) => c.name === "fillText" && Number(c.args[1]) > 400 && Number(c.args[1]) < 460);
    expect(inWay).toEqual([]);
  });

  it("names every so many of steps that are too thin for their names, beginning with a whole number of them", () => {
    const { ctx, calls } = recorder();
    drawSteps(frame(ctx, { view: { t0: 0, t1: meta.duration_ps * 4 } }), -1);
    const named = texts(calls)
      .filter((text) => /^\d+$/.test(text))
      .map(Number);
    expect(named.length).toBeGreaterThan(1);
    expect(new Set(named.slice(1).map((name, k) => name - named[k])).size).toBe(1);
  });

  it("tints the time of which a page has only a sample, and says so where there is room", () => {
    const { ctx, calls } = recorder();
    const change = { sampled: [{ t0: 0, t1: steps.end[14] }] };
    drawSampled(frame(ctx, change), 71, 300);
    expect(calls.some((c) => c.name === "fillRect" && c.fillStyle === palette.bg2 && c.args[2] === 850)).toBe(true);
    nameSampled(frame(ctx, change), 300);
    expect(texts(calls)).toContain("only the longest slices are in this page");
  });

  it("marks the time between sessions as not captured", () => {
    const { ctx, calls } = recorder();
    const span = { t0: steps.start[14] + 5e9, t1: steps.end[14] - 5e9 };
    drawSessionGaps(frame(ctx, { uncaptured: [span] }), 47, 300);
    expect(texts(calls)[0]).toMatch(/^not captured, 1\d\.\d ms$/);
  });
});
