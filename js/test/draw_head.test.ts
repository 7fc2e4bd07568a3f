import { describe, expect, it } from "vitest";
import { xAt } from "../src/data/columns";
import { drawOverview, drawRangeBracket, drawRuler, drawStepLines, drawSteps, rangeLabelSpan } from "../src/draw/marks";
import { drawSampled, drawSessionGaps } from "../src/draw/tracks";
import { Hits, Marks } from "../src/model/search";
import { events, frame, meta, palette, recorder, steps, texts } from "./drawn_frame";

describe("head", () => {
  it("names the steps and draws their composition in category colours", () => {
    const { ctx, calls } = recorder();
    drawSteps(frame(ctx, { view: { t0: steps.start[14], t1: steps.end[15] } }), -1);
    expect(texts(calls).filter((t) => /^1[45] · 2\d\.\d ms$/.test(t))).toHaveLength(2);
    const colors = calls.filter((c) => c.name === "fillRect").map((c) => c.fillStyle);
    expect(colors).toEqual(expect.arrayContaining(["input", "host_compute", "device_compute"]));
  });

  it("marks where in the whole capture a search found something: little, whatever the number of slices", () => {
    const { ctx, calls } = recorder();
    const bounds = { t0: 0, t1: meta.duration_ps };
    const batch = meta.names.indexOf("Iterator::Root::BatchV2");
    const names = Uint8Array.from(meta.names, (_, name) => Number(name === batch));
    const found = new Marks(events, { names, ops: null }, new Hits(bounds));
    const lane = () => calls.filter((c) => c.name === "fillRect" && c.fillStyle === "act");
    drawOverview(frame(ctx), [], "threads", found.hits);
    expect(lane()).toEqual([]);
    found.advance();
    drawOverview(frame(ctx), [], "threads", found.hits);
    expect(lane()).toHaveLength(steps.n);
    for (const [step, call] of lane().entries()) {
      const [x, , width] = call.args.map(Number);
      expect(x).toBeGreaterThanOrEqual(Math.floor(xAt(bounds, 850, steps.start[step])) - 1);
      expect(x + width).toBeLessThan(xAt(bounds, 850, steps.end[step]));
      expect(width).toBeGreaterThanOrEqual(2);
    }
  });

  it("writes no name of a step over another where steps are of very different lengths", () => {
    const { ctx, calls } = recorder();
    const start = Float64Array.from(steps.start, (_, k) => (k === 0 ? 0 : 9e11 + k * 4e9));
    const end = Float64Array.from(start, (at, k) => start[k + 1] ?? at + 4e9);
    const view = { t0: 0, t1: end[end.length - 1] };
    drawSteps(frame(ctx, { view, steps: { ...steps, start, end } }), -1);
    const named = calls.filter((c) => c.name === "fillText" && /^\d+$/.test(String(c.args[0])));
    expect(named.length).toBeGreaterThan(1);
    for (const [k, call] of named.slice(1).entries()) {
      const before = named[k].args;
      expect(Number(call.args[1])).toBeGreaterThan(Number(before[1]) + String(before[0]).length * 6);
    }
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

  it("tints the time of which a page has only a sample", () => {
    const { ctx, calls } = recorder();
    const change = { sampled: [{ t0: 0, t1: steps.end[14] }] };
    drawSampled(frame(ctx, change), 71, 300);
    expect(calls.some((c) => c.name === "fillRect" && c.fillStyle === palette.bg2 && c.args[2] === 850)).toBe(true);
  });

  it("marks the time between sessions as not captured", () => {
    const { ctx, calls } = recorder();
    const span = { t0: steps.start[14] + 5e9, t1: steps.end[14] - 5e9 };
    drawSessionGaps(frame(ctx, { uncaptured: [span] }), 47, 300);
    expect(texts(calls)[0]).toMatch(/^not captured, 1\d\.\d ms$/);
  });
});

describe("borders of steps", () => {
  const evenSteps = (n: number) => ({
    ...steps,
    n,
    start: Float64Array.from({ length: n }, (_, k) => (k * 1000) / n),
    end: Float64Array.from({ length: n }, (_, k) => ((k + 1) * 1000) / n),
  });
  const nLines = (n: number) => {
    const { ctx, calls } = recorder();
    drawStepLines(frame(ctx, { width: 100, view: { t0: 0, t1: 1000 }, steps: evenSteps(n) }), 10, 90);
    return calls.length;
  };

  it("are hairlines over all tracks, and none where they would be a hatching", () => {
    expect(nLines(4)).toBe(4);
    expect(nLines(50)).toBe(0);
  });
});
