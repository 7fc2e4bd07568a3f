import { describe, expect, it } from "vitest";
import type { Events } from "../src/data/events";
import { CATEGORIES, type TraceMeta } from "../src/data/meta";
import { drawOverview, drawSteps } from "../src/draw/marks";
import { drawHostStrip, drawTracks, drawWaits } from "../src/draw/tracks";
import { newArrangement } from "../src/model/arrangement";
import { newColorScheme, readFamilies } from "../src/model/colors";
import { RowLayouts } from "../src/model/lod";
import { layoutPieces, RunBuffer, type Steps } from "../src/model/steps";
import { layoutTracks, SLICE_PX } from "../src/model/tracks";
import { type Call, frame, meta, palette, recorder, steps } from "./drawn_frame";
import { loading, packOfRows } from "./loading";

const WIDTHS = [1280, 1600];

/** Painted px² by colour between two heights, faint ones as far as they are painted. */
function painted(calls: readonly Call[], top: number, bottom: number): Map<unknown, number> {
  const areas = new Map<unknown, number>();
  for (const { name, args, fillStyle, alpha } of calls) {
    const [, y, w, h] = args.map(Number);
    if (name !== "fillRect" || y < top - 0.01 || y + h > bottom + 0.01) continue;
    areas.set(fillStyle, (areas.get(fillStyle) ?? 0) + w * h * alpha);
  }
  return areas;
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** 80 % launches, 14 % compute, 4 % dispatch, in pieces from a thousandth of a pixel to several; the rest is free. */
function manyPieces(seed: number, n: number, longest: number): { piece: Steps["piece"]; share: Map<string, number> } {
  const random = randomOf(seed);
  const kinds = [
    { name: "kernel_launch", part: 0.8 },
    { name: "device_compute", part: 0.14 },
    { name: "dispatch", part: 0.04 },
    { name: "", part: 0.02 },
  ];
  const list: { start: number; end: number; category: number }[] = [];
  const time = new Map<string, number>();
  let at = 0;
  for (let k = 0; k < n; k++) {
    const scale = longest ** random();
    for (const { name, part } of kinds) {
      const length = part * scale * (0.5 + random());
      if (name) list.push({ start: at, end: at + length, category: CATEGORIES.indexOf(name as "input") });
      time.set(name, (time.get(name) ?? 0) + length);
      at += length;
    }
  }
  const piece = {
    start: Float64Array.from(list, ({ start }) => start),
    end: Float64Array.from(list, ({ end }) => end),
    category: Uint8Array.from(list, ({ category }) => category),
  };
  return { piece, share: new Map([...time].map(([name, sum]) => [name, sum / at])) };
}

const DRAWINGS = [
  { n: 400, longest: 1000 },
  { n: 6000, longest: 10 },
  { n: 200_000, longest: 3 },
];

describe("strips of categories", () => {
  it.each(DRAWINGS)("paint each category as much as its share of the time, at any width: %o", ({ n, longest }) => {
    const { piece, share } = manyPieces(7, n, longest);
    const end = piece.end[piece.end.length - 1];
    const span = { t0: 0, t1: end };
    const one = { ...steps, n: 0, piece };
    for (const width of WIDTHS) {
      const change = { width, view: span, bounds: span, steps: one, allSteps: one, runs: new RunBuffer(width) };
      const strips = [
        {
          top: 2,
          height: 10,
          draw: (ctx: CanvasRenderingContext2D) => drawOverview(frame(ctx, change), [], "x", null),
        },
        { top: 62, height: 5, draw: (ctx: CanvasRenderingContext2D) => drawSteps(frame(ctx, change), -1) },
        {
          top: 102,
          height: 14,
          draw: (ctx: CanvasRenderingContext2D) =>
            drawHostStrip(frame(ctx, change), { piece, step: new Int32Array(), rows: new Int32Array() }, 100),
        },
        { top: 102, height: 14, draw: (ctx: CanvasRenderingContext2D) => drawWaits(frame(ctx, change), piece, 100) },
      ];
      for (const [k, { top, height, draw }] of strips.entries()) {
        const { ctx, calls } = recorder();
        draw(ctx);
        const areas = painted(calls, top, top + height);
        for (const [name, part] of share) {
          const isLeftOut = name === "" || (k === 3 && name === "device_compute");
          const area = (areas.get(name) ?? 0) / (width * height);
          expect(Math.abs(area - (isLeftOut ? 0 : part))).toBeLessThan(0.005);
        }
      }
    }
  });

  it("show a device in the strip of the whole capture as busy as it is", () => {
    const busy = Array.from({ length: 512 }, (_, k) => (k % 7 === 0 ? 0.49 : 0.07));
    const mean = busy.reduce<number>((a, b) => a + b, 0) / busy.length;
    for (const width of [300, ...WIDTHS]) {
      const { ctx, calls } = recorder();
      drawOverview(frame(ctx, { width, steps: { ...steps, n: 0 } }), busy, "device", null);
      const area = painted(calls, 13, 25).get("device_compute") ?? 0;
      expect(area / (width * 11)).toBeCloseTo(mean, 2);
    }
  });

  it("give thin pieces that lie alone in a pixel no more than their time", () => {
    const start = Float64Array.from({ length: 1000 }, (_, k) => k * 100);
    const piece = { start, end: start.map((at) => at + 13), category: new Uint8Array(1000).fill(6) };
    const runs = new RunBuffer(1000);
    layoutPieces(piece, { t0: 0, t1: 100_000 }, 1000, runs);
    let area = 0;
    for (let k = 0; k < runs.n; k++) area += (runs.x1[k] - runs.x0[k]) * (runs.high[k] - runs.low[k]);
    expect(area / 1000).toBeCloseTo(0.13, 3);
  });
});

/** A stream that works the given share of the time in n kernels: six matmuls are as long as the one softmax after them. */
function stream(n: number, busy: number): { events: Events; end: number } {
  const random = randomOf(11);
  let at = 0;
  const rows = Array.from({ length: n }, (_, k) => {
    const length = Math.max(1, Math.round((k % 7 === 6 ? 6 : 1) * 1000 * (0.5 + random())));
    const row = [0, 0, at, length] as const;
    at += Math.round(length / busy);
    return row;
  });
  return { events: loading(packOfRows(rows), { nTiles: 3 }).events, end: at };
}

describe("a stream", () => {
  const device = { ...meta, planes: [{ kind: "device", host: "" }], lines: [{ ...meta.lines[0], plane: 0 }] };

  it.each([
    { n: 300, busy: 0.13 },
    { n: 4000, busy: 0.13 },
    { n: 4000, busy: 0.6 },
    { n: 4000, busy: 0.97 },
    { n: 150_000, busy: 0.13 },
    { n: 150_000, busy: 0.02 },
  ])("is painted as full as it is busy, in the colours' shares, at any width: %o", ({ n, busy }) => {
    const { events, end } = stream(n, busy);
    const view = { t0: 0, t1: end };
    const own = { ...device, duration_ps: end } as unknown as TraceMeta;
    const source = { meta: own, rows: events.rows, work: () => 1, lineNames: ["s"], counterNames: [] };
    // As `packOfRows` names events.
    const family = Uint8Array.from([2, 2, 2, 2, 2, 2, 4]);
    const colors = newColorScheme("family", events, readFamilies([], family, []), new Uint8Array(7));
    for (const width of WIDTHS) {
      const { ctx, calls } = recorder();
      const layout = layoutTracks(source, newArrangement());
      const change = { width, view, events, meta: own, layout, colors, layouts: new RowLayouts(width) };
      drawTracks(frame(ctx, { ...change, tracksBottom: 1000 }));
      const track = layout.tracks.find(({ kind }) => kind === "line");
      const top = frame(ctx).yOf(track?.y ?? 0);
      const areas = painted(calls, top, top + SLICE_PX);
      const of = (name: string) => (areas.get(`edge ${name}`) ?? 0) + (areas.get(`fill ${name}`) ?? 0);
      const all = (of("conv") + of("reduce")) / (width * SLICE_PX);
      // Wide slices have their edges over their fill; what is nearly nothing is still seen.
      expect(Math.abs(all - busy)).toBeLessThan(busy < 0.05 ? 0.02 : 0.03 * Math.max(busy, 0.3));
      expect(Math.abs(of("conv") / (of("conv") + of("reduce")) - 0.5)).toBeLessThan(0.03);
    }
  });

  it("shows a single short kernel with nothing around it as a faint tick", () => {
    const { events } = loading(packOfRows([[0, 0, 500_000, 1]]));
    const own = { ...device, duration_ps: 1e6 } as unknown as TraceMeta;
    const { ctx, calls } = recorder();
    const source = { meta: own, rows: events.rows, work: () => 1, lineNames: ["s"], counterNames: [] };
    const layout = layoutTracks(source, newArrangement());
    const colors = newColorScheme("family", events, readFamilies([], [2], []), new Uint8Array(1));
    drawTracks(frame(ctx, { view: { t0: 0, t1: 1e6 }, events, meta: own, layout, colors }));
    const drawn = calls.filter((call) => call.fillStyle === palette.edges[2]);
    expect(drawn).toHaveLength(1);
    expect(drawn[0].args[3]).toBe(SLICE_PX);
    expect(Number(drawn[0].args[2])).toBeCloseTo(0.3);
  });
});
