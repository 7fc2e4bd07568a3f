// @vitest-environment jsdom
/** The roofline: what ops reach in a range, where they are drawn, what is said of them, and how they are selected. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { STEADY } from "../src/data/columns";
import type { RooflineMeta, TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import { hasPlace, rooflineChart, Scene, workOf } from "../src/views/roofline_chart/roofline_chart";
import { makeScene } from "./scene";
import { EVIL, settle, showWidget, withLayout } from "./shown";

const US = 1e6;
const KINDS = ["32-bit vector", "16-bit vector", "TF32 Tensor Core", "16-bit Tensor Core", "other Tensor Core"];
const [VECTOR_32, , , TENSOR_16] = [0, 1, 2, 3];

interface Drawn {
  readonly us: number;
  readonly flops: number | null;
  readonly bytes: number | null;
  readonly kind?: number;
  readonly name?: string;
}

/** A device of 100 TFLOP/s on Tensor Cores, 10 elsewhere, and 1 TB/s: the ridges are at 100 and at 10. */
function roofline(drawn: readonly Drawn[], more: Partial<RooflineMeta> = {}): RooflineMeta {
  const peak = [10e12, null, null, 100e12, null];
  const kind = drawn.map((one) => one.kind ?? VECTOR_32);
  return {
    kinds: KINDS.map((text, i) => ({ text, peak: peak[i] })),
    bytes_per_s: 1e12,
    ops: {
      name: drawn.map((one, i) => one.name ?? `fusion.${i}`),
      layer: drawn.map((_, i) => `dense_${i}`),
      time_us: drawn.map(({ us }) => us),
      time_ratio: drawn.map(() => 0),
      occurrences: drawn.map(() => 10),
      flops: drawn.map(({ flops }) => flops),
      bytes: drawn.map(({ bytes }) => bytes),
      kind,
      unit: drawn.map((_, i) => i),
      op: drawn.map((_, i) => i),
      parts: drawn.map(() => 20),
      step_time_us: drawn.map(({ us }) => us / 2),
      step_parts: drawn.map(() => 8),
      peak: kind.map((one) => peak[one]),
    },
    n_ops: drawn.length,
    step_flops: [],
    step_mfu: [],
    ...more,
  };
}

const GEMM: Drawn = { us: 1000, flops: 5e10, bytes: 1e8, kind: TENSOR_16 };
const ADD: Drawn = { us: 1000, flops: 1e8, bytes: 5e8 };
const CACHED: Drawn = { us: 1000, flops: 1e8, bytes: 2e9 };
const COPY: Drawn = { us: 500, flops: 0, bytes: 4e8 };
const UNKNOWN: Drawn = { us: 500, flops: null, bytes: 1e8 };
const SLOW_CLOCK: Drawn = { us: 1, flops: 1e9, bytes: 1 };

describe("what ops reach", () => {
  it("is judged by the longer of computing and moving, by none where the figures cannot be", () => {
    const works = workOf(roofline([GEMM, ADD, CACHED, COPY, UNKNOWN, SLOW_CLOCK]), undefined, null);
    expect(works.map(({ bound }) => bound)).toEqual(["compute", "memory", "cache", "memory", "", ""]);
    expect(works[0]).toMatchObject({ flopRate: 50e12, byteRate: 1e11, intensity: 500, roofRatio: 0.5 });
    expect(works[1]).toMatchObject({ flopRate: 1e11, roofRatio: 0.5 });
    expect(works[2].roofRatio).toBeNaN();
    expect(works.map(hasPlace)).toEqual([true, true, true, false, false, true]);
  });

  it("in the averaged steps is what ran there, a step", () => {
    const [work] = workOf(roofline([GEMM]), undefined, STEADY, 4);
    expect(work).toMatchObject({ ps: 125 * US, occurrences: 1 });
    expect(work.flopRate).toBeCloseTo((5e10 * 8) / 20 / 500e-6, 0);
  });

  it("in a range is what ran of it there, of a kernel that the range cuts its part", () => {
    const columns = {
      op: Int32Array.of(0, 0, 1, 7),
      start_ps: Float64Array.of(0, 100 * US, 200 * US, 0),
      duration_ps: Float64Array.of(50 * US, 100 * US, 50 * US, 50 * US),
    };
    const works = workOf(roofline([GEMM, ADD]), { n: 4, columns }, [0, 150 * US]);
    // One and a half of its 20 kernels, in 100 of its 1,000 us.
    expect(works).toHaveLength(1);
    expect(works[0]).toMatchObject({ row: 0, ps: 100 * US, occurrences: 0.75 });
    expect(works[0].flopRate).toBeCloseTo((5e10 * 1.5) / 20 / 100e-6, 0);
    expect(works[0].intensity).toBeCloseTo(500, 9);
  });
});

describe("where ops are drawn", () => {
  const sceneOf = (drawn: readonly Drawn[]) => {
    const meta = roofline(drawn);
    return new Scene(meta, workOf(meta, undefined, null), 1000, 250, 200);
  };

  it("shows those at one place as one circle, with the area of their time together", () => {
    const other: Drawn = { us: 2000, flops: 1e8, bytes: 1e9, kind: TENSOR_16 };
    const { places } = sceneOf([GEMM, GEMM, GEMM, GEMM, other]);
    expect(places.map(({ works }) => works.length)).toEqual([4, 1]);
    expect(places[0].radius ** 2 / places[1].radius ** 2).toBeCloseTo(2, 9);
  });

  it("keeps apart at one place what runs on other units, or is bound by something else", () => {
    expect(sceneOf([GEMM, { ...GEMM, kind: VECTOR_32, us: 1001 }]).places).toHaveLength(2);
  });

  it("puts an op that is bound by a roof under it, and what only a cache can have served above", () => {
    const scene = sceneOf([GEMM, ADD, CACHED]);
    const [, end] = scene.slope ?? [];
    expect(end).toEqual([scene.x.toPx(100), scene.y.toPx(100e12)]);
    for (const { works, x, y } of scene.places) {
      const [{ intensity, bound, roofRatio }] = works;
      const roof = scene.y.toPx(Math.min(intensity * 1e12, bound === "compute" ? 100e12 : Number.POSITIVE_INFINITY));
      expect(x).toBe(scene.x.toPx(intensity));
      expect(y > roof).toBe(bound !== "cache");
      if (bound !== "cache") expect(scene.y.toPx(works[0].flopRate / roofRatio)).toBeCloseTo(roof, 6);
    }
  });

  it("draws on the edge what lies far beyond the rest and takes little time", () => {
    const scene = sceneOf([GEMM, ADD, { us: 1, flops: 1, bytes: 1 }]);
    expect(scene.hasOutliers).toBe(true);
    expect(scene.y.low).toBeGreaterThan(1e10);
    expect(scene.places[2].y).toBe(scene.y.lowPx);
  });

  it("finds the smallest of the circles at a point, else one that is near", () => {
    const scene = sceneOf([GEMM, ADD]);
    const { x, y, radius } = scene.places[0];
    expect(scene.at(x, y, 8)).toBe(scene.places[0]);
    expect(scene.at(x + radius + 5, y, 8)).toBe(scene.places[0]);
    expect(scene.at(x + radius + 9, y, 8)).toBe(null);
  });
});

describe("the view", () => {
  withLayout();
  beforeEach(() => {
    vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue({
      ...{ left: 0, top: 0, bottom: 250, width: 1000, height: 250 },
    } as DOMRect);
  });

  function packWith(found: RooflineMeta | null): Pack {
    const pack = makeScene();
    if (found !== null) (pack.meta as unknown as TraceMeta).roofline = [found];
    return pack;
  }
  /** Kernels ran, but no program that tells what they compute. */
  function withoutProgram(): Pack {
    const pack = packWith(null);
    (pack.meta as unknown as TraceMeta).roofline = [];
    return pack;
  }
  const show = (found: RooflineMeta | null) => showWidget(rooflineChart, packWith(found));
  const circles = (root: HTMLElement) => [...root.querySelectorAll<SVGElement>("circle.op")];
  const nameOf = (pack: Pack, op: number) => {
    const meta = pack.meta as unknown as TraceMeta;
    return meta.names[meta.op_name[op]];
  };
  const press = (plot: HTMLElement, key: string) => plot.dispatchEvent(new KeyboardEvent("keydown", { key }));

  it("says the share of the peak of a step, what holds the time up and what is not shown", async () => {
    const steps = makeScene().tables.steps;
    const flops = Array.from(steps.columns.duration_ps as Float64Array, (ps) => (ps / 1e12) * 20e12);
    const mfu = flops.map(() => 0.2);
    const found = roofline([GEMM, ADD, CACHED, COPY, UNKNOWN], { step_flops: flops, step_mfu: mfu, n_ops: 7 });
    const { root } = await show(found);
    const text = root.textContent ?? "";
    expect(text).toMatch(/TFLOP a step of 21\.\d ms: 20\.0 % of the peak of 100 TFLOP\/s \(MFU\)/);
    expect(text).toContain("38 % memory-bound, 25 % compute-bound, 25 % served by a cache");
    expect(text).toContain("75 % of kernel time is shown; 1 op (13 %) without float operations");
    expect(text).toContain("of 1 op float operations or bytes are not known; the 5 longest of 7 ops");
    for (const words of [
      "16-bit Tensor Core 100 TFLOP/s",
      "32-bit vector 10.0 TFLOP/s",
      "memory 1,000 GB/s",
      "ridge 100",
    ])
      expect(text).toContain(words);
  });

  it("draws a circle for each op with a place, hollow where a cache served it", async () => {
    const { root } = await show(roofline([GEMM, ADD, CACHED, COPY, UNKNOWN]));
    expect(circles(root)).toHaveLength(3);
    expect(circles(root).map((one) => one.classList.contains("hollow"))).toEqual([false, false, true]);
    expect(circles(root)[0].getAttribute("aria-label")).toContain("50 % of its roof, 16-bit Tensor Core 100 TFLOP/s");
    expect(circles(root)[1].getAttribute("aria-label")).toContain("50 % of its roof, the memory");
  });

  it("has the names of its roofs inside", async () => {
    const { root } = await show(roofline([GEMM, ADD]));
    const { width } = root.getBoundingClientRect();
    const ends = [...root.querySelectorAll("text.word")].map(
      (word) => Number(word.getAttribute("x")) + 6 * (word.textContent ?? "").length,
    );
    expect(ends.length).toBeGreaterThan(0);
    expect(Math.max(...ends)).toBeLessThan(width);
  });

  it("selects an op by keys, lets go with Escape, and follows what others select", async () => {
    const { root, page } = await show(roofline([GEMM, ADD]));
    const plot = root.querySelector<HTMLElement>(".tfp-plot") as HTMLElement;
    press(plot, "ArrowRight");
    press(plot, "ArrowRight");
    expect(plot.getAttribute("aria-activedescendant")).toBe(circles(root)[1].id);
    press(plot, "Enter");
    expect(page.link.get("selection")).toEqual([nameOf(packWith(null), 1)]);
    await settle();
    expect(circles(root).map((one) => one.getAttribute("aria-selected"))).toEqual(["false", "true"]);
    press(plot, "Escape");
    expect(page.link.get("selection")).toEqual([]);
    page.link.set("selection", [nameOf(packWith(null), 0)]);
    await settle();
    expect(circles(root)[0].getAttribute("aria-selected")).toBe("true");
  });

  it("tells on hover what is there, and selects all of a circle by a click", async () => {
    const { root, page } = await show(roofline([GEMM, { ...GEMM, name: EVIL }, ADD]));
    const plot = root.querySelector<HTMLElement>(".tfp-plot") as HTMLElement;
    const [clientX, clientY] = ["cx", "cy"].map((name) => Number(circles(root)[0].getAttribute(name)));
    plot.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
    const tip = root.querySelector(".tfp-tip")?.textContent ?? "";
    expect(tip).toContain("2 ops");
    expect(tip).toContain(EVIL);
    expect(tip).toContain("50.0 TFLOP/s · 100 GB/s · 500 FLOP/B");
    expect(root.querySelector("img")).toBe(null);
    plot.dispatchEvent(new MouseEvent("click", { clientX, clientY }));
    expect(page.link.get("selection")).toEqual([0, 1].map((op) => nameOf(packWith(null), op)));
  });

  it("is about the linked range", async () => {
    const { root, page } = await show(roofline([GEMM]));
    expect(circles(root)).toHaveLength(1);
    page.link.set("time_range", [0, 1]);
    await settle();
    expect(circles(root)).toHaveLength(0);
    expect(root.textContent).toContain("No op ran on a GPU in this range.");
    page.link.set("time_range", []);
    await settle();
    expect(circles(root)).toHaveLength(1);
  });

  it("draws without roofs what ran on a device that nobody knows", async () => {
    const found = roofline([GEMM, ADD]);
    const kinds = KINDS.map((text) => ({ text, peak: null }));
    const ops = { ...found.ops, kind: [3, -1], peak: [null, null] };
    const { root } = await show({ ...found, kinds, ops, bytes_per_s: null });
    expect(circles(root)).toHaveLength(2);
    expect(root.querySelectorAll("path.roof")).toHaveLength(0);
    expect(root.textContent).toContain("16-bit Tensor Core");
    expect(root.textContent).not.toMatch(/NaN|Infinity|undefined|null/);
    expect(circles(root)[0].getAttribute("aria-label")).toContain("its roof is not known");
  });

  it("says why there is no roofline", async () => {
    expect((await show(null)).root.textContent).toContain("No kernel of a GPU in this capture");
    expect((await showWidget(rooflineChart, withoutProgram())).root.textContent).toContain("jit_compile=True");
    expect((await show(roofline([UNKNOWN]))).root.textContent).toContain("jit_compile=True");
  });
});
