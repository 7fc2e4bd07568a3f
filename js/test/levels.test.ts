/** @vitest-environment jsdom */
import { describe, expect, it } from "vitest";
import type { Pack } from "../src/data/pack";
import { TRACKS_TOP_PX } from "../src/draw/frame";
import { drawFolded, drawLevel, drawTracks } from "../src/draw/tracks";
import { newArrangement } from "../src/model/arrangement";
import { findSpans } from "../src/model/rows";
import { layoutTracks, ROW_PX, SLICE_PX, yOfRow } from "../src/model/tracks";
import { draw } from "./drawn_events";
import { frame as frameOf, lineNames, meta, recorder, rows, steps, work } from "./drawn_frame";
import { click, frame, pointer, RUN, show, usesFakePage } from "./shown_timeline";

const kernel = (start: number, op: number) => ({ start, duration: 10, name: 0, op });

describe("spans of a row", () => {
  it("are of neighbours that are part of the same, with the time that they cover", () => {
    const { events: drawn } = draw([kernel(0, 1), kernel(20, 1), kernel(40, 2), kernel(60, 1)]);
    const { start, end, busy, first, last } = findSpans(drawn, 0, (p) => drawn.op[p]);
    expect([...start]).toEqual([0, 40, 60]);
    expect([...end]).toEqual([30, 50, 70]);
    expect([...busy]).toEqual([0, 20, 30, 40]);
    expect([...first]).toEqual([0, 2, 3]);
    expect([...last]).toEqual([1, 2, 3]);
  });

  it("end with the step, and leave out what is part of nothing", () => {
    const { events: drawn } = draw([kernel(0, 1), kernel(20, 1), kernel(40, -1), kernel(60, 1)]);
    drawn.step.set([4, 5, 5, 5]);
    expect([...findSpans(drawn, 0, (p) => drawn.op[p]).start]).toEqual([0, 20, 60]);
  });

  it("are not made of a sample, between whose events may be any others", () => {
    const { events: drawn, arrive } = draw([kernel(0, 1), kernel(95, 1), kernel(120, 1)], {
      edges: [100],
      arrived: [1],
    });
    expect([...findSpans(drawn, 0, (p) => drawn.op[p]).start]).toEqual([120]);
    arrive(0);
    expect([...findSpans(drawn, 0, (p) => drawn.op[p]).start]).toEqual([0]);
  });
});

const STREAM = meta.lines.findIndex(({ plane }) => meta.planes[plane].kind === "device");
const opened = (n: number) => {
  const own = newArrangement();
  own.openLevels.set(STREAM, n).set(0, n);
  const source = { meta, rows, work, lineNames, counterNames: [], levels: ["steps", "layers", "ops"] as const };
  return layoutTracks(source, own);
};

describe("levels of tracks", () => {
  it("are rows above the events of a device's stream, and of no thread", () => {
    const [before, after] = [0, 2].map((n) => opened(n).ofLine.get(STREAM));
    expect(after?.levels).toEqual(["steps", "layers"]);
    expect(after?.closed).toBe("ops");
    expect((after?.height ?? 0) - (before?.height ?? 0)).toBe(2 * ROW_PX);
    expect((yOfRow(opened(2), STREAM, 0) ?? 0) - (after?.y ?? 0)).toBe(2 * ROW_PX);
    expect(opened(2).ofLine.get(0)?.levels).toEqual([]);
  });

  it("show how much of a span is worked by what of its height is dark", () => {
    const { events: drawn } = draw([kernel(0, 1), kernel(30, 1), kernel(60, 2)]);
    const { ctx, calls } = recorder();
    const levels = { spans: () => findSpans(drawn, 0, (p) => drawn.op[p]), nameOf: () => "block/conv" };
    drawLevel(frameOf(ctx, { events: drawn, levels, view: { t0: 0, t1: 100 }, width: 100 }), 0, "ops", 0);
    const dark = calls.filter(({ fillStyle }) => fillStyle === "rule2").map(({ args }) => args);
    expect(dark.map(([x, , width]) => [x, width])).toEqual([
      [0, 40],
      [60, 10],
    ]);
    expect(dark[0][3]).toBeCloseTo(SLICE_PX / 2, 9);
    expect(dark[1][3]).toBe(SLICE_PX);
    expect(calls.find(({ name }) => name === "fillText")?.args[0]).toBe("conv");
  });

  it("take no more than a rectangle a pixel column, however many spans there are", () => {
    const { events: drawn } = draw(Array.from({ length: 400 }, (_, k) => kernel(20 * k, k % 7)));
    const { ctx, calls } = recorder();
    const levels = { spans: () => findSpans(drawn, 0, (p) => drawn.op[p]), nameOf: () => "" };
    drawLevel(frameOf(ctx, { events: drawn, levels, view: { t0: 0, t1: 8000 }, width: 100 }), 0, "ops", 0);
    const dark = calls.filter(({ fillStyle }) => fillStyle === "rule2").map(({ args }) => args as number[]);
    expect(dark.length).toBeLessThanOrEqual(101);
    const painted = dark.reduce((sum, [, , width, height]) => sum + width * height, 0);
    expect(painted / (100 * SLICE_PX)).toBeCloseTo(0.5, 1);
  });
});

describe("lines that are folded", () => {
  it("are one row: pale the time of one line, dark the share of the time of all", () => {
    const { events: drawn } = draw([
      { line: 0, start: 0, duration: 500, name: 0 },
      { line: 1, start: 0, duration: 250, name: 0 },
    ]);
    const { ctx, calls } = recorder();
    const lines = [0, 1].map((plane) => ({ ...meta.lines[0], plane }));
    const own = { ...meta, lines, planes: [meta.planes[0], meta.planes[0]] };
    drawFolded(frameOf(ctx, { events: drawn, meta: own, view: { t0: 0, t1: 1000 }, width: 100 }), [0, 1], 0);
    const drawnAs = (alpha: number) =>
      calls.filter((call) => call.alpha === alpha).map(({ args: [x, , w, h] }) => [x, w, h]);
    const [[, , full]] = drawnAs(0.5);
    expect(drawnAs(0.5).map(([x, w]) => [x, w])).toEqual([
      [0, 25],
      [25, 25],
    ]);
    expect(drawnAs(0.5)[1][2]).toBe(full);
    expect(drawnAs(1)).toEqual([
      [0, 25, full],
      [25, 25, (full as number) / 2],
    ]);
  });

  it("are drawn where they are folded, and not where they are open", () => {
    const [folded, open] = [false, true].map((isOpen) => {
      const { ctx, calls } = recorder();
      const layout = opened(0);
      const fold = layout.tracks.find(({ kind }) => kind === "fold");
      const tracks = layout.tracks.map((track) => (track === fold ? { ...fold, isOpen } : track));
      drawTracks(
        frameOf(ctx, { layout: { ...layout, tracks }, tracksBottom: 2000, view: { t0: 0, t1: steps.end[14] } }),
      );
      return calls.filter(({ fillStyle }) => fillStyle === "heap").length;
    });
    expect(open).toBe(0);
    expect(folded).toBeGreaterThan(0);
  });
});

const KERNEL = meta.names.find((name) => name.includes("conv2d_kernel")) ?? "";

/** The run, its first device op being in a layer. */
function layeredRun(): Pack {
  const { meta: own, tables } = RUN;
  const device = own.op_device as number[];
  const layer = Int32Array.from(device, (isDevice) => (isDevice ? 0 : -1));
  const phase = Uint8Array.from(device, () => 1);
  return {
    meta: { ...own, layers: [{ layer: "resnet/conv2d", class_name: "Conv2D", kind: "layer" }] },
    tables: { ...tables, op_places: { n: device.length, columns: { layer, phase, line: layer } } },
  };
}

describe("the timeline", () => {
  usesFakePage();

  it("opens a stream from steps to layers to ops to kernels, one after another, and keeps that", async () => {
    const { root, page } = await show(layeredRun());
    const label = () => root.querySelector(`[data-key="l${STREAM}"]`) as HTMLElement;
    const levels = () => [...label().querySelectorAll(".tl-level")].map((one) => one.textContent);
    const press = async (k: number) => {
      label().querySelector<HTMLElement>(`[data-level="${k}"]`)?.click();
      await frame();
    };
    expect(levels()).toEqual(["▸"]);
    expect(label().getAttribute("aria-expanded")).toBe("false");
    for (const k of [0, 1, 2]) await press(k);
    expect(levels()).toEqual(["▾", "▾layers", "▾ops", "kernels"]);
    expect(label().getAttribute("aria-expanded")).toBe("true");
    await press(1);
    expect(levels()).toEqual(["▾", "▸layers"]);
    await new Promise((done) => setTimeout(done, 250));
    expect(JSON.parse(String(page.view.get("arrangement"))).levels).toEqual([[STREAM, 1]]);
  });

  it("says what a span is, selects the ops of a layer, and makes a step the range", async () => {
    const { root, area, page } = await show(layeredRun(), {}, false);
    for (const k of [0, 1]) {
      root.querySelector<HTMLElement>(`[data-key="l${STREAM}"] [data-level="${k}"]`)?.click();
      await frame();
    }
    const top = Number.parseFloat((root.querySelector(`[data-key="l${STREAM}"]`) as HTMLElement).style.top);
    const { x, y: ofKernel } = root.tfprofLocate(KERNEL) ?? { x: 0, y: 0 };
    const y = TRACKS_TOP_PX + top + ROW_PX / 2;
    expect(ofKernel).toBe(y + 2 * ROW_PX);
    pointer(area, "pointermove", x, y + ROW_PX);
    expect(root.querySelector(".tfp-tip b")?.textContent).toBe("resnet/conv2d · backward");
    await click(area, { x, y: y + ROW_PX });
    const ofLayer = meta.op_name.flatMap((name, op) => (meta.op_device[op] ? [meta.names[name]] : []));
    expect(new Set(page.link.get("selection") as string[])).toEqual(new Set(ofLayer));
    await click(area, { x, y });
    expect(page.link.get("time_range")).toHaveLength(2);
  });
});
