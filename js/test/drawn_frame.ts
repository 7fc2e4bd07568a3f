/** A training run -> a frame to draw on, whose context records what is called. */

import type { TraceMeta } from "../src/data/meta";
import { type Frame, LabelCache, TRACKS_TOP_PX } from "../src/draw/frame";
import { newArrangement } from "../src/model/arrangement";
import { newColorScheme, type Palette, readFamilies } from "../src/model/colors";
import { RowLayouts } from "../src/model/lod";
import { findSpans } from "../src/model/rows";
import { RunBuffer, readSteps } from "../src/model/steps";
import { layoutTracks } from "../src/model/tracks";
import { trainingRun } from "./fixtures";
import { loading } from "./loading";

const run = trainingRun();
export const meta = run.meta as unknown as TraceMeta;
export const { events } = loading(run, { nTiles: 4 });
export const { rows } = events;
export const family = run.tables.names.columns.family as Uint8Array;
export const lineNames = meta.lines.map((line) => line.name);
export const work = (line: number) => meta.lines[line].busy_ps;
export const steps = readSteps(run.tables.steps, run.tables.step_pieces, meta);
const CHAR_PX = 6;

export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly fillStyle: unknown;
  readonly alpha: number;
}

/** A context that measures text by its length and records what is called with which colour. */
export function recorder(): { ctx: CanvasRenderingContext2D; calls: Call[] } {
  const calls: Call[] = [];
  const state: Record<string, unknown> = {};
  const ctx = new Proxy(state, {
    get(_, name: string) {
      if (name === "measureText") return (text: string) => ({ width: text.length * CHAR_PX });
      if (name in state) return state[name];
      const { fillStyle, globalAlpha } = state;
      return (...args: unknown[]) => void calls.push({ name, args, fillStyle, alpha: Number(globalAlpha ?? 1) });
    },
    set(_, name: string, value) {
      state[name] = value;
      return true;
    },
  });
  return { ctx: ctx as unknown as CanvasRenderingContext2D, calls };
}

export const palette: Palette = {
  bg: "bg",
  bg2: "bg2",
  ink: "ink",
  ink2: "ink2",
  rule: "rule",
  rule2: "rule2",
  act: "act",
  actWash: "wash",
  warn: "warn",
  sliceInk: "slice-ink",
  memoryHeap: "heap",
  categories: [...meta.categories],
  categoryFills: [...meta.categories],
  fills: ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"].map((f) => `fill ${f}`),
  edges: ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"].map((f) => `edge ${f}`),
  font: "sans-serif",
};

export function frame(ctx: CanvasRenderingContext2D, change: Partial<Frame> = {}): Frame {
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
    allSteps: steps,
    strips: [],
    shownCategories: new Uint8Array(9),
    colors: newColorScheme(
      "family",
      events,
      readFamilies(meta.names, family, meta.op_family),
      new Uint8Array(meta.names.length),
    ),
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
    levels: { spans: (row) => findSpans(events, row, (p) => events.op[p]), nameOf: (name) => name },
    layouts: new RowLayouts(850),
    runs: new RunBuffer(850),
    layout: layoutTracks({ meta, rows, work, lineNames, counterNames: [] }, newArrangement()),
    scrollTop: 0,
    tracksBottom: 332,
    range: null,
    rangeLabel: "",
    stretches: [],
    flags: [],
    sampled: [],
    ...change,
  };
}

export const texts = (calls: Call[]) => calls.filter((c) => c.name === "fillText").map((c) => String(c.args[0]));
