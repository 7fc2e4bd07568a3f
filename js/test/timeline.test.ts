// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { encodePack, type Pack } from "../src/core/wire";
import timeline from "../src/timeline";
import type { TimelineElement } from "../src/timeline/locate";
import { type FakePage, fakePage } from "./fake_host";
import { trainingRun } from "./fixtures";
import { tiled } from "./tiling";

const WIDTH = 1000;
const LABEL = 128;
const RULER_Y = 36;
const RUN = trainingRun();
const BATCH = "Iterator::Root::BatchV2";

/** jsdom has neither a canvas nor a layout. */
function fakeCanvas(): CanvasRenderingContext2D {
  const state: Record<string, unknown> = {};
  return new Proxy(state, {
    get: (_, name: string) =>
      name === "measureText" ? (text: string) => ({ width: text.length * 6 }) : (state[name] ?? (() => undefined)),
    set: (_, name: string, value) => {
      state[name] = value;
      return true;
    },
  }) as unknown as CanvasRenderingContext2D;
}

class FakeResizeObserver {
  constructor(readonly callback: (entries: unknown[]) => void) {}
  observe() {
    this.callback([{ contentRect: { width: WIDTH, height: 332 } }]);
  }
  disconnect() {}
}

interface Shown {
  readonly page: FakePage;
  readonly root: TimelineElement;
  readonly section: HTMLElement;
  readonly area: HTMLElement;
  readonly controller: AbortController;
}

/** Renders the timeline; with the whole capture in the window unless `isWhole` is false. */
async function show(pack: Pack = RUN, data: Record<string, unknown> = {}, isWhole = true): Promise<Shown> {
  const page = await fakePage(pack, data);
  const controller = new AbortController();
  const el = document.body.appendChild(document.createElement("div"));
  await timeline.render({ model: page.view, el, host: page.host, signal: controller.signal });
  const root = el.querySelector<TimelineElement>("[data-tfprof=timeline]") as TimelineElement;
  const section = root.querySelector("section") as HTMLElement;
  const area = root.querySelector(".tlc") as HTMLElement;
  await frame();
  if (isWhole) await press(section, "0");
  return { page, root, section, area, controller };
}

const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

function pointer(area: HTMLElement, type: string, x: number, y: number) {
  area.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true }));
}

async function click(area: HTMLElement, place: { x: number; y: number } | null) {
  if (!place) throw new Error("not on screen");
  pointer(area, "pointerdown", place.x, place.y);
  pointer(area, "pointerup", place.x, place.y);
  await frame();
}

async function press(target: HTMLElement, key: string, more: KeyboardEventInit = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  await frame();
  return event;
}

/** The run, its batches now being an HLO op that is 70 % what it was and 30 % an op that no slice is most of. */
function compiledRun(): Pack {
  const { meta, tables } = RUN;
  const [names, opName] = [meta.names as string[], meta.op_name as number[]];
  const batch = opName.findIndex((name) => names[name] === BATCH);
  const op = tables.events.columns.op as Int32Array;
  const known = opName.map((_, unit) => ({ unit, op: unit, ratio: unit === batch ? 0.7 : 1 }));
  const rows = known.toSpliced(batch + 1, 0, { unit: batch, op: opName.length, ratio: 0.3 });
  const shares = {
    unit: Int32Array.from(rows, (row) => row.unit),
    op: Int32Array.from(rows, (row) => row.op),
    ratio: Float64Array.from(rows, (row) => row.ratio),
  };
  const more = {
    names: [...names, "adam/Mul"],
    op_name: [...opName, names.length],
    op_type: [...(meta.op_type as number[]), opName[0]],
  };
  return {
    meta: { ...meta, ...more },
    tables: {
      ...tables,
      events: { ...tables.events, columns: { ...tables.events.columns, unit: op } },
      op_shares: { n: rows.length, columns: shares },
    },
  };
}

const details = (root: HTMLElement) => root.querySelector(".det")?.textContent ?? "";

describe("timeline", () => {
  beforeEach(() => {
    vi.stubGlobal("ResizeObserver", FakeResizeObserver);
    HTMLCanvasElement.prototype.getContext = (() => fakeCanvas()) as never;
    HTMLElement.prototype.setPointerCapture = () => undefined;
    HTMLElement.prototype.scrollBy = () => undefined;
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    document.body.replaceChildren();
  });

  it("selects the clicked slice for all views and shows what is known about it", async () => {
    const { page, root, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 14));
    expect(page.link.state.selection).toEqual([BATCH]);
    const text = details(root);
    for (const part of [BATCH, "13.", "of step", "step14", "40 ×", "Inside it", "39 steps", "group_id14"]) {
      expect(text).toContain(part);
    }
    expect(root.querySelector(".sr[aria-live]")?.textContent).toMatch(
      /^Selected Iterator::Root::BatchV2, 1\d\.\d ms, step 14$/,
    );
  });

  it("opens with a few typical steps in the window, large enough to be read", async () => {
    const { root } = await show(RUN, {}, false);
    expect(root.tfprofLocate(BATCH, 7)).not.toBeNull();
    expect(root.tfprofLocate(BATCH, 10)).toBeNull();
    expect(root.tfprofLocate("XlaCompile: multi_step_on_iterator")).toBeNull();
  });

  it("clears the selection by a click beside all slices", async () => {
    const { page, root, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 3));
    await click(area, { x: LABEL + 4, y: 150 });
    expect(page.link.state.selection).toEqual([]);
    expect(details(root)).toContain("Nothing selected");
  });

  it("turns a drag over the ruler into the linked time range in ns", async () => {
    const { page, area } = await show();
    pointer(area, "pointerdown", LABEL + 100, RULER_Y);
    pointer(area, "pointermove", LABEL + 200, RULER_Y);
    pointer(area, "pointermove", LABEL + 300, RULER_Y);
    pointer(area, "pointerup", LABEL + 300, RULER_Y);
    const [t0, t1] = page.link.state.time_range as number[];
    const duration = 1.05e9;
    expect(t0 / ((100 / (WIDTH - LABEL)) * duration)).toBeCloseTo(1, 1);
    expect(t1 / t0).toBeCloseTo(3, 1);
    expect([t0, t1].every(Number.isInteger)).toBe(true);
  });

  it("moves the nearer edge when a drag starts at an edge of the range", async () => {
    const { page, area } = await show();
    page.link.set("time_range", [200_000_000, 400_000_000]);
    await frame();
    const x = LABEL + (400_000_000 / 1.0498e9) * (WIDTH - LABEL);
    pointer(area, "pointerdown", x + 1, RULER_Y);
    pointer(area, "pointermove", x + 100, RULER_Y);
    pointer(area, "pointerup", x + 100, RULER_Y);
    const [t0, t1] = page.link.state.time_range as number[];
    expect(t0).toBe(200_000_000);
    expect(t1).toBeGreaterThan(500_000_000);
  });

  it("takes the range, step and selection of other views and pans to a range out of sight", async () => {
    const { page, root, section } = await show();
    for (let i = 0; i < 8; i++) await press(section, "w");
    page.link.set("time_range", [1_000_000_000, 1_020_000_000]);
    page.link.set("selection", ["DecodeJpeg"]);
    await frame();
    expect(root.querySelector(".tl-about")?.textContent).toMatch(/^(99|1,0)\d/);
    expect(details(root)).toContain("DecodeJpeg");
    expect(details(root)).toMatch(/in range\d+ ×/);
  });

  it("scrolls to what another view selected when it is in the window but out of sight", async () => {
    const { page, root } = await show();
    expect(root.querySelector(".tl-line[title='tf_private_threadpool/9']")).toBeNull();
    page.link.set("selection", ["ThreadpoolListener::Record"]);
    await frame();
    expect(root.querySelector(".tl-line[title^='tf_private_threadpool/']")).not.toBeNull();
  });

  it("steps through the slices of one op with [ and ], and fits and marks the selected one", async () => {
    const { page, root, section, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 14));
    await press(section, "]");
    expect(details(root)).toContain("step15");
    await press(section, "[");
    await press(section, "[");
    expect(details(root)).toContain("step13");
    await press(section, "m");
    const [t0, t1] = page.link.state.time_range as number[];
    expect((t1 - t0) / 1e6).toBeCloseTo(13, 0);
    await press(section, "f");
    expect(root.querySelector(".tl-about")?.textContent).toMatch(/of 1,0\d\d\.\d/);
  });

  it("walks the nesting with Shift and the arrows", async () => {
    const { page, root, section, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 14));
    await press(section, "ArrowUp", { shiftKey: true });
    expect(page.link.state.selection).toEqual(["Iterator::Root"]);
    await press(section, "ArrowDown", { shiftKey: true });
    await press(section, "ArrowRight", { shiftKey: true });
    expect(details(root)).toContain("step15");
  });

  it("finds slices by text and by regular expression, and says where it stands", async () => {
    const { page, root } = await show();
    const input = root.querySelector<HTMLInputElement>(".tl-search") as HTMLInputElement;
    const count = () => root.querySelector(".tl-count")?.textContent;
    input.value = "conv2d/relu:";
    input.dispatchEvent(new Event("input"));
    await press(input, "Enter");
    expect(count()).toBe("1 of 80");
    expect(page.link.state.selection).toEqual(["sequential/conv2d/Relu"]);
    await press(input, "Enter", { shiftKey: true });
    expect(count()).toBe("80 of 80");
    root.querySelector<HTMLButtonElement>(".tl-regex")?.click();
    input.value = "(";
    input.dispatchEvent(new Event("input"));
    await press(input, "Enter");
    expect(count()).toBe("not a regular expression");
    expect(input.getAttribute("aria-invalid")).toBe("true");
  });

  it("clears one thing per Esc, then leaves", async () => {
    const { page, root, section, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 3));
    page.link.set("time_range", [0, 1000]);
    await press(section, "?");
    expect(root.querySelector<HTMLElement>(".tl-help")?.hidden).toBe(false);
    await press(section, "Escape");
    expect(root.querySelector<HTMLElement>(".tl-help")?.hidden).toBe(true);
    await press(section, "Escape");
    expect(page.link.state.selection).toEqual([]);
    await press(section, "Escape");
    expect(page.link.state.time_range).toEqual([]);
    expect(document.activeElement).toBe(section);
    await press(section, "Escape");
    expect(document.activeElement).not.toBe(section);
  });

  it("leaves keys alone that are not its own, and those with modifiers", async () => {
    const { section } = await show();
    expect((await press(section, "x")).defaultPrevented).toBe(false);
    expect((await press(section, "a", { ctrlKey: true })).defaultPrevented).toBe(false);
    expect((await press(section, "a")).defaultPrevented).toBe(true);
  });

  it("zooms by the wheel with Ctrl, or alone after a click; else the page scrolls", async () => {
    const { root, section, area } = await show();
    const wheel = (more: WheelEventInit) => {
      const event = new WheelEvent("wheel", {
        deltaY: -100,
        clientX: 500,
        clientY: 200,
        bubbles: true,
        cancelable: true,
        ...more,
      });
      area.dispatchEvent(event);
      return event.defaultPrevented;
    };
    const about = () => root.querySelector(".tl-about")?.textContent;
    const whole = about();
    expect(wheel({})).toBe(false);
    expect(wheel({ ctrlKey: true })).toBe(true);
    await frame();
    expect(about()).not.toBe(whole);
    section.focus();
    expect(wheel({})).toBe(true);
  });

  it("follows with the tooltip when keys move the picture under the pointer", async () => {
    const { root, section, area } = await show();
    const place = root.tfprofLocate(BATCH, 14);
    pointer(area, "pointermove", place?.x ?? 0, place?.y ?? 0);
    const tip = root.querySelector<HTMLElement>(".tl-tip") as HTMLElement;
    expect(tip.textContent).toContain("step 14");
    for (let i = 0; i < 3; i++) await press(section, "w");
    for (let i = 0; i < 3; i++) await press(section, "d");
    expect(tip.hidden || !tip.textContent?.includes("step 14")).toBe(true);
    pointer(area, "pointerleave", 0, 0);
    expect(tip.hidden).toBe(true);
  });

  it("selects steps on the step row", async () => {
    const { page, area } = await show();
    await click(area, { x: WIDTH - 3, y: 58 });
    expect(page.link.state.step).toBe(39);
    expect(page.link.state.time_range).toHaveLength(2);
    await click(area, { x: WIDTH - 3, y: 58 });
    expect([page.link.state.step, page.link.state.time_range]).toEqual([-1, []]);
  });

  it("keeps names of the trace as text", async () => {
    const evilName = "<img src=x onerror=alert(1)></script>";
    const { root, area, section } = await show(trainingRun({ hasDevice: false, evilName }));
    root.tfprofReveal(evilName, 5);
    for (let i = 0; i < 12; i++) await press(section, "w");
    root.tfprofReveal(evilName, 5);
    await frame();
    await click(area, root.tfprofLocate(evilName));
    expect(root.querySelector(".det h2")?.textContent).toBe(evilName);
    expect(root.querySelector("img, script")).toBeNull();
  });

  it("gives a name that would fill the pane a box of its own", async () => {
    const evilName = `void Eigen::internal::EigenMetaKernel<${"Eigen::TensorEvaluator<".repeat(20)}>`;
    const { root, page } = await show(trainingRun({ hasDevice: false, evilName, nSteps: 4 }));
    page.link.set("selection", ["compile_loss/SparseSoftmaxCrossEntropyWithLogits"]);
    await frame();
    root.querySelector<HTMLButtonElement>(".det button.link")?.click();
    await frame();
    expect(root.querySelector(".det h2")?.textContent).toBe("EigenMetaKernel");
    expect(root.querySelector(".tl-full")?.textContent).toBe(evilName);
  });

  it("folds and unfolds planes, and the less busy threads with their number", async () => {
    const { root } = await show();
    const nLines = () => root.querySelectorAll(".tl-line").length;
    const before = nLines();
    const fold = root.querySelector<HTMLButtonElement>(".tl-fold");
    expect(fold?.textContent).toContain("12 more threads");
    fold?.click();
    await frame();
    expect(nLines()).toBe(before + 12);
    root.querySelector<HTMLButtonElement>(".tl-plane")?.click();
    await frame();
    expect(nLines()).toBe(3);
    expect(root.querySelector(".tl-plane")?.getAttribute("aria-expanded")).toBe("false");
  });

  it("draws what is here, says how much that is, and keeps the selected slice when the tiles come", async () => {
    const { first, parts } = tiled(RUN, { nTiles: 4, isWhole: false, sampleEvery: 3 });
    const { page, root, area } = await show(first);
    const about = () => root.querySelector(".tl-about")?.textContent;
    expect(about()).toContain("0 of 7,173 events, waiting for the kernel");
    await click(area, root.tfprofLocate(BATCH, 2));
    expect(details(root)).toContain("duration");
    const step = /step\d+/.exec(details(root))?.[0] ?? "no step";
    const answered = new Set<string>();
    await vi.waitFor(async () => {
      const keys = page.data.sent.flatMap((message) => (message as { keys?: string[] }).keys ?? []);
      for (const key of keys.filter((one) => !answered.has(one))) {
        answered.add(key);
        page.data.emit("msg:custom", { kind: "part", key }, [await encodePack(parts.get(key) as Pack)]);
      }
      await frame();
      expect(about()).toContain("· 7,173 events");
    });
    await vi.waitFor(() => expect(details(root)).toContain("Stats in the trace"));
    expect(details(root)).toContain(step);
    expect(page.link.state.selection).toHaveLength(1);
  });

  it("shows an error in its own place", async () => {
    HTMLCanvasElement.prototype.getContext = (() => null) as never;
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const page = await fakePage(RUN);
    const el = document.body.appendChild(document.createElement("div"));
    await timeline.render({ model: page.view, el, host: page.host, signal: new AbortController().signal });
    expect(el.querySelector("[role=alert]")?.textContent).toContain("no 2D canvas");
    error.mockRestore();
  });

  it("draws an empty trace without failing", async () => {
    const full = RUN;
    const meta = { ...full.meta, n_events: 0, lines: [], planes: [], sessions: [], step_names: [], duration_ps: 0 };
    const { root } = await show({ meta, tables: {} });
    expect(root.querySelector("[role=alert]")).toBeNull();
    expect(details(root)).toContain("Nothing selected");
  });

  it("tells what a compiled slice stands for", async () => {
    const { root, area } = await show(compiledRun());
    await click(area, root.tfprofLocate(BATCH, 14));
    for (const part of ["Compiled from", "70 %", "30 %", "Mul"]) expect(details(root)).toContain(part);
  });

  it("marks the slices that a selected op was fused into, and says so", async () => {
    const { page, root } = await show(compiledRun());
    page.link.set("selection", ["adam/Mul"]);
    await frame();
    expect(details(root)).toContain("XLA compiled it together with other ops");
    expect(details(root)).toContain(BATCH);
  });

  it("lets go of everything when the view ends", async () => {
    const { page, root, controller } = await show();
    controller.abort();
    expect(root.isConnected).toBe(false);
    expect([page.link.listeners.length, page.data.listeners.length]).toEqual([0, 0]);
  });
});
