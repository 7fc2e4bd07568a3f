import { describe, expect, it } from "vitest";
import { LabelCache } from "../src/draw/frame";
import { drawCounter, drawTracks } from "../src/draw/tracks";
import { newCounter } from "../src/model/lod";
import { Marks } from "../src/model/search";
import { flagsOfKeys } from "../src/views/timeline/state";
import { events, frame, meta, recorder, rows, steps, texts } from "./drawn_frame";

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

  it("names a slice of a device by the op that launched it, then by its kernel where there is room", () => {
    const { ctx, calls } = recorder();
    const view = { t0: steps.start[14] + 15e9, t1: steps.start[14] + 17e9 };
    drawTracks(frame(ctx, { view, tracksBottom: 1000 }));
    expect(texts(calls)).toContain("conv2d_1/convolution · conv2d_kernel");
    const labels = new LabelCache([
      "gradients/head/dense_8/MatMul/MatMul_1",
      "void cutlass::sgemm_128x64<float>(float*)",
    ]);
    expect(labels.fitKernel(ctx, 0, 1, 300)).toBe("dense_8/MatMul_1 · sgemm_128x64");
    expect(labels.fitKernel(ctx, 0, 1, 150)).toBe("dense_8/MatMul_1");
    expect(labels.fitKernel(ctx, 0, 1, 70)).toBe("MatMul_1");
  });

  it("labels the gaps of a device's main stream with their length and what it waited for", () => {
    const { ctx, calls } = recorder();
    const view = { t0: steps.start[12], t1: steps.end[14] };
    drawTracks(frame(ctx, { view, tracksBottom: 1000 }));
    const idle = texts(calls).filter((t) => t.startsWith("idle 1"));
    expect(idle).toHaveLength(2);
    for (const text of idle) expect(text).toMatch(/^idle 1\d\.\d ms · Input \d\d(\.\d)? %$/);
  });

  it("says beside the name of a device what it waits for, in words where they fit", () => {
    const { ctx, calls } = recorder();
    drawTracks(frame(ctx, { view: { t0: steps.start[12], t1: steps.end[12] }, tracksBottom: 1000 }));
    expect(texts(calls)).toContain("Input");
    expect(texts(calls)).not.toContain("Device compute");
    expect(calls.some((c) => c.name === "fillRect" && c.fillStyle === "input")).toBe(true);
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

describe("counter tracks", () => {
  const meta = { name: "n", unit: "elements", kind: "input", min: 0, max: 10, before: null } as const;

  const narrow = { width: 100, labelWidth: 20, view: { t0: 0, t1: 1000 } };

  it("reach from 0 to the largest value that a pixel has, and begin where something is known", () => {
    const { ctx, calls } = recorder();
    // Within one pixel column, from 500 on, the counter goes up to its peak and down again.
    const counter = newCounter(meta, Float64Array.of(500, 503, 506), Float64Array.of(2, 10, 4));
    drawCounter(frame(ctx, narrow), counter, 0, 36);
    const points = calls.filter(({ name }) => name === "lineTo").map(({ args }) => args.map(Number));
    const [bottom, room] = [33, 30];
    expect(points.filter(([x]) => x < 50).every(([, y]) => y === bottom)).toBe(true);
    expect(points.some(([x, y]) => x === 50 && y === bottom - room)).toBe(true);
    expect(points.filter(([x]) => x > 51 && x < 100).every(([, y]) => y === bottom - 0.4 * room)).toBe(true);
  });

  it("show a level that is tiny beside the peak", () => {
    const { ctx, calls } = recorder();
    drawCounter(frame(ctx, narrow), newCounter(meta, Float64Array.of(0), Float64Array.of(0.001)), 0, 36);
    expect(calls.some(({ name, args }) => name === "lineTo" && args[1] === 32)).toBe(true);
  });
});
