// @vitest-environment jsdom
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import { mount, type TraceBuilder } from "../src/ui/view";
import { memoryTimeline } from "../src/views/memory_timeline/memory_timeline";
import { lowestRun, stepChart } from "../src/views/step_chart/step_chart";
import { type FakePage, fakePage } from "./fake_host";
import { makeScene, type SceneOptions } from "./scene";
import { settle } from "./shown";

const WIDTH = 400;
const KEY = Symbol.for("tfprof_widgets.bokeh test");

/** A Bokeh whose plot is 400 px wide, has every model that is asked for, and records what is set. */
class FakeBokeh {
  readonly models = new Map<string, Record<string, unknown>>();
  readonly documents: unknown[] = [];
  nCleared = 0;
  readonly embed = {
    embed_item: async () => {
      const range = () => this.model("x") as { start: number; end: number };
      const scale = {
        compute: (value: number) => ((value - range().start) / (range().end - range().start)) * WIDTH,
        invert: (px: number) => range().start + (px / WIDTH) * (range().end - range().start),
      };
      const document = {
        get_model_by_name: (name: string) => ({ setv: (set: object) => Object.assign(this.model(name), set) }),
      };
      this.documents.push(document);
      const frame = { bbox: { left: 0, right: WIDTH, top: 0, bottom: 130 }, x_scale: scale, y_scale: scale };
      const clear = () => {
        this.nCleared += 1;
      };
      return { roots: [{ model: { document }, frame }], clear };
    },
  };
  set_log_level() {}
  model(name: string): Record<string, unknown> {
    const known = this.models.get(name) ?? {};
    this.models.set(name, known);
    return known;
  }
  data(source: string): Record<string, ArrayLike<number>> {
    return this.model(source).data as Record<string, ArrayLike<number>>;
  }
}

interface Shown {
  readonly page: FakePage;
  readonly root: HTMLElement;
  readonly plot: HTMLElement;
  readonly bokeh: FakeBokeh;
  readonly controller: AbortController;
}

async function show(
  widget: TraceBuilder,
  options: SceneOptions = {},
  told: object = {},
  tables: object = {},
): Promise<Shown> {
  const bokeh = new FakeBokeh();
  (globalThis as unknown as Record<symbol, unknown>)[KEY] = Promise.resolve(bokeh);
  const scene = makeScene(options);
  const page = await fakePage({ meta: { ...scene.meta, ...told }, tables: { ...scene.tables, ...tables } });
  page.view.state.figure = deflateSync("{}").toString("base64");
  const controller = new AbortController();
  const el = document.body.appendChild(document.createElement("div"));
  await mount(widget).render({ model: page.view, el, host: page.host, signal: controller.signal });
  await settle();
  const root = el.firstElementChild as HTMLElement;
  return { page, root, plot: root.querySelector(".tfp-plot") as HTMLElement, bokeh, controller };
}

function pointer(plot: HTMLElement, type: string, x: number) {
  plot.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: 50, button: 0, bubbles: true }));
}

function drag(plot: HTMLElement, from: number, to: number) {
  pointer(plot, "pointerdown", from);
  pointer(plot, "pointermove", (from + to) / 2);
  pointer(plot, "pointermove", to);
  pointer(plot, "pointerup", to);
}

const press = (plot: HTMLElement, key: string, shiftKey = false) =>
  plot.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));

/** The link's range of steps first to last of the scene, in ns. */
function rangeOf(first: number, last: number): [number, number] {
  const { start_ps: start, duration_ps: duration } = makeScene().tables.steps.columns;
  return [Math.ceil(Number(start[first]) / 1000), Math.floor((Number(start[last]) + Number(duration[last])) / 1000)];
}

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue({
    left: 0,
    top: 0,
    width: WIDTH,
  } as DOMRect);
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(21);
});
afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

describe("step chart", () => {
  const PX = WIDTH / 40;

  it("stacks the categories of each step, input at the bottom, and breaks the bar of the step that compiles", async () => {
    const { bokeh, root } = await show(stepChart);
    const bars = bokeh.data("bars");
    expect(bars.x.length).toBe(40);
    expect([...Array(40).keys()].every((i) => bars.bottom_input[i] === 0)).toBe(true);
    expect(bars.top_input[5]).toBeCloseTo(makeScene().tables.steps.columns.input_ms[5] as number, 9);
    expect(bokeh.data("breaks").xs.length).toBe(1);
    // The broken bar shows its own proportions, not the bottom of its stack.
    const { compile_ms: compile, duration_ps: duration } = makeScene().tables.steps.columns;
    const part = (bars.top_compile[0] - bars.bottom_compile[0]) / bars.top_other[0];
    expect(part).toBeCloseTo((compile[0] as number) / ((duration[0] as number) / 1e9), 6);
    expect(root.textContent).toContain("compiles, left out");
    expect(root.textContent).toContain("median 21.2 ms");
  });

  it("says what records the steps of another backend, and not how to mark them", async () => {
    const environment = { unrecorded: "Keras on JAX" };
    const overview = { verdict: "Keras ran on JAX.", verdict_detail: "Record it with jax.profiler.", environment };
    const { root } = await show(stepChart, {}, { overview }, { steps: { n: 0, columns: {} } });
    expect(root.textContent).toContain("Keras ran on JAX. Record it with jax.profiler.");
    expect(root.textContent).not.toContain("trace_steps");
  });

  it("chooses a step by a click, and none by a second click on it", async () => {
    const { page, plot } = await show(stepChart);
    for (const expected of [rangeOf(12, 12), []]) {
      pointer(plot, "pointerdown", 12.5 * PX);
      pointer(plot, "pointerup", 12.5 * PX);
      expect(page.link.get("time_range")).toEqual(expected);
      expect(page.link.get("step")).toBe(expected.length ? 12 : -1);
    }
  });

  it("chooses whole steps by a drag in either direction", async () => {
    const { page, plot, bokeh } = await show(stepChart);
    drag(plot, 18.6 * PX, 12.4 * PX);
    expect(page.link.get("time_range")).toEqual(rangeOf(12, 18));
    await vi.waitFor(() => expect(bokeh.model("range")).toMatchObject({ visible: true }));
    expect(bokeh.model("range").left).toBeCloseTo(12, 3);
    expect(bokeh.model("range").right).toBeCloseTo(19, 3);
  });

  it("walks by arrow keys, extends with Shift and lets go with Escape", async () => {
    const { page, plot } = await show(stepChart);
    press(plot, "ArrowRight");
    press(plot, "ArrowRight");
    expect(page.link.get("time_range")).toEqual(rangeOf(1, 1));
    press(plot, "ArrowRight", true);
    press(plot, "ArrowRight", true);
    expect(page.link.get("time_range")).toEqual(rangeOf(1, 3));
    press(plot, "Escape");
    expect(page.link.get("time_range")).toEqual([]);
  });

  it("says in words what it shows and what is chosen", async () => {
    const { page, plot } = await show(stepChart);
    expect(plot.getAttribute("aria-label")).toContain("median 21.2 ms");
    page.link.set("time_range", rangeOf(12, 18));
    await settle();
    expect(plot.getAttribute("aria-valuetext")).toBe("steps 12 to 18");
  });

  it("draws more steps than pixels as one column a pixel, with whiskers", async () => {
    const { bokeh } = await show(stepChart, { nSteps: 450, isCpu: true });
    expect(bokeh.data("bars").x.length).toBe(WIDTH);
    expect(bokeh.data("whiskers").x.length).toBe(WIDTH);
  });

  it("takes its chart and its document away with the view", async () => {
    const { bokeh, controller, page } = await show(stepChart);
    controller.abort();
    expect([bokeh.nCleared, bokeh.documents.length, page.link.listeners.length]).toEqual([1, 0, 0]);
  });
});

describe("memory timeline", () => {
  /** The figures beside the chart: what -> its cells. */
  const facts = (root: HTMLElement) => {
    const rows = [...root.querySelectorAll(".tfp-mem-facts > *")].map((row) =>
      [...row.children].map((cell) => cell.textContent ?? ""),
    );
    return Object.fromEntries(rows.map(([label, ...values]): [string, string[]] => [label, values]));
  };
  const choose = async (root: HTMLElement, text: string) => {
    const buttons = [...root.querySelectorAll<HTMLElement>(".seg button")];
    buttons.find((element) => element.textContent === text)?.click();
    await settle();
  };
  const firstRow = (root: HTMLElement) => root.querySelector(".tfp-grid .row")?.getAttribute("data-op-name");
  const heading = (root: HTMLElement) => root.querySelectorAll(".tfp-head")[1]?.textContent;

  it("tells peak, capacity, the largest free piece and allocations, and what holds the peak", async () => {
    const { root, bokeh } = await show(memoryTimeline);
    const words = root.querySelector(".tfp-say")?.textContent ?? "";
    expect(words).toBe("2.68 GiB of 4.00 GiB at the peak (step 39)");
    expect(facts(root)).toMatchObject({
      Stack: ["205 MiB"],
      Heap: ["2.48 GiB"],
      Free: ["1.32 GiB"],
      Capacity: ["4.00 GiB"],
      "Largest free piece": ["1.10 GiB"],
      "Allocated, freed": ["160, 160"],
    });
    expect(firstRow(root)).toContain("Conv2DBackpropInput");
    expect(heading(root)).toBe("In memory at the peak: 4 ops · 89 % from this capture");
    expect(bokeh.data("peak").x.length).toBe(1);
  });

  it("says neither capacity nor what is free where that is not known", async () => {
    const { root } = await show(memoryTimeline, {}, { memory_summary: [{ peak_bytes: 1, capacity_bytes: 0 }] });
    expect(facts(root)).not.toHaveProperty("Free");
    expect(facts(root)).not.toHaveProperty("Capacity");
    expect(facts(root)).toHaveProperty("Stack");
  });

  it("begins with the allocator of the highest peak, whatever is here of its events", async () => {
    const memory_summary = [3, 7, 5].map((peak_bytes) => ({ peak_bytes }));
    const { root } = await show(memoryTimeline, {}, { allocators: ["a", "b", "c"], memory_summary });
    expect(root.querySelector<HTMLSelectElement>("select[aria-label=Allocator]")?.value).toBe("1");
  });

  it("says beside its figures whether a larger batch fits", async () => {
    const batch_room = ["A batch twice as large fits", "4.46 GiB of 76.4 GiB used"];
    const { root } = await show(memoryTimeline, {}, { batch_room });
    expect(root.querySelector("aside")?.textContent).toContain(
      "A batch twice as large fits: 4.46 GiB of 76.4 GiB used.",
    );
  });

  it("says above what little was recorded why the rest is missing", async () => {
    const { root } = await show(memoryTimeline, { remedy: "Only scratch memory reports.\nimport os" });
    const note = root.querySelector(".note");
    expect(note?.querySelector("span")?.textContent).toBe("Only scratch memory reports.");
    expect(note?.querySelector("button")?.textContent).toBe("Copy the line");
  });

  it("shows the session of the peak where the time between sessions would fill the chart", async () => {
    const sessions = [
      { start_ps: 0, stop_ps: 2e12, host: "" },
      { start_ps: 90e12, stop_ps: 91e12, host: "" },
    ];
    const { root, bokeh } = await show(memoryTimeline, { sessions });
    expect(bokeh.model("x")).toMatchObject({ start: 0, end: 2000 });
    await vi.waitFor(() => expect(root.textContent).toContain("the session with the peak, 1 of 2"));
  });

  it("covers the time between sessions, in which nothing is known", async () => {
    const sessions = [
      { start_ps: 0, stop_ps: 2e12, host: "" },
      { start_ps: 3e12, stop_ps: 4e12, host: "" },
    ];
    const { root } = await show(memoryTimeline, { sessions });
    const gaps = () => [...root.querySelectorAll(".tfp-gap")].map((gap) => gap.textContent);
    await vi.waitFor(() => expect(gaps()).toEqual(["not captured"]));
  });

  it("is about the linked time range: window, peak and table", async () => {
    const { root, page, bokeh } = await show(memoryTimeline);
    page.link.set("time_range", rangeOf(3, 4));
    await settle();
    const { start, end } = bokeh.model("x") as { start: number; end: number };
    expect([start, end]).toEqual(rangeOf(3, 4).map((ns) => expect.closeTo(ns / 1e6, 5)));
    expect(facts(root)["Allocated, freed"]).toEqual(["8, 8"]);
  });

  it("shows what is live at a clicked moment, and the peak again after Escape", async () => {
    const { root, plot } = await show(memoryTimeline);
    pointer(plot, "pointerdown", 1);
    pointer(plot, "pointerup", 1);
    await settle();
    expect(heading(root)).toMatch(/^In memory at [\d.]+ ms/);
    press(plot, "Escape");
    await settle();
    expect(heading(root)).toContain("at the peak");
  });

  it("puts together what belongs to a layer or to a line, and selects all ops of it", async () => {
    const { meta } = makeScene() as unknown as { meta: TraceMeta };
    const n = meta.op_name.length;
    const isConv = meta.op_name.map((name) => !/Backprop/.test(meta.names[name]));
    const places = { layer: Int32Array.from(isConv, (is) => (is ? 0 : 1)), line: new Int32Array(n) };
    const told = {
      layers: [{ layer: "net/conv" }, { layer: "net/rest" }],
      source_files: [{ file: "a.py", title: "a.py", text: "" }],
      source_lines: [{ file: 0, line: 7, function: "f", code: " x = net(x)", bucket: "" }],
    };
    const { root, page } = await show(memoryTimeline, {}, told, { op_places: { n, columns: places } });
    const names = () => [...root.querySelectorAll(".tfp-grid .row")].map((row) => row.getAttribute("data-op-name"));
    await choose(root, "By layer");
    expect(heading(root)).toContain("In memory at the peak: 2 layers");
    expect(new Set(names())).toEqual(
      new Set(["net/conv", "net/rest", "layer not known", "allocated before the capture", "stack"]),
    );
    root.querySelector<HTMLElement>('[data-op-name="net/conv"]')?.click();
    const chosen = page.link.get("selection") as string[];
    expect(chosen.length).toBeGreaterThan(1);
    expect(chosen.every((name) => !/Backprop/.test(name))).toBe(true);
    await choose(root, "By line");
    expect(heading(root)).toContain("In memory at the peak: 1 line");
    expect(names()).toContain("a.py:7  x = net(x)");
    await choose(root, "By op");
    expect(heading(root)).toContain("In memory at the peak: 4 ops");
  });

  it("calls allocations without an op XLA's only where XLA ran", async () => {
    const { memory } = makeScene().tables;
    const tables = { memory: { n: memory.n, columns: { ...memory.columns, op: new Int32Array(memory.n).fill(-1) } } };
    const plain = await show(memoryTimeline, {}, {}, tables);
    expect(plain.root.textContent).toContain("op not recorded");
    const compiled = await show(memoryTimeline, {}, { hlo_ops: [{}] }, tables);
    expect(compiled.root.textContent).toContain("allocated by XLA (op unknown)");
    expect(compiled.root.textContent).not.toContain("op not recorded");
  });

  it("tells the state at the clicked moment beside that at the peak", async () => {
    const { root, plot } = await show(memoryTimeline);
    expect(facts(root)["In use"]).toEqual(["2.68 GiB"]);
    pointer(plot, "pointerdown", 1);
    pointer(plot, "pointerup", 1);
    await settle();
    expect(facts(root)["In use"]).toHaveLength(2);
  });

  it("lists the steps by their peak and chooses one by a click", async () => {
    const { root, page } = await show(memoryTimeline);
    await choose(root, "By step");
    const rows = [...root.querySelectorAll<HTMLElement>("[data-step]")];
    expect(rows.length).toBeGreaterThan(3);
    const step = Number(rows[2].dataset.step);
    rows[2].click();
    expect(page.link.get("time_range")).toEqual(rangeOf(step, step));
    expect(page.link.get("step")).toBe(step);
    root.querySelectorAll<HTMLElement>("[data-step]")[2].click();
    expect(page.link.get("time_range")).toEqual([]);
  });

  it("says that memory is the same after each step where all is freed, and names no op as not freed", async () => {
    const memory_summary = [{ sentence: "Memory in use is the same after each of 40 steps.", is_significant: false }];
    const { root } = await show(memoryTimeline, {}, { memory_summary });
    expect(root.querySelector<HTMLElement>(".tfp-growth.calm")?.textContent).toContain(memory_summary[0].sentence);
    await choose(root, "Possible leaks");
    expect(root.textContent).toContain("Every allocation of a step was given back within 2 steps.");
  });

  it("sets the range by a drag", async () => {
    const { page, plot } = await show(memoryTimeline);
    drag(plot, 300, 100);
    const [t0, t1] = page.link.get("time_range") as [number, number];
    const { duration_ps: whole } = makeScene().meta as { duration_ps: number };
    expect([t0, t1]).toEqual([whole / 4 / 1000, (whole * 3) / 4 / 1000].map((ns) => expect.closeTo(ns, -1)));
  });

  it("draws what the selected op holds", async () => {
    const { root, page, bokeh } = await show(memoryTimeline);
    expect(Math.max(...Array.from(bokeh.data("memory").held))).toBe(0);
    page.link.set("selection", ["sequential/conv2d/Relu"]);
    await settle();
    expect(Math.max(...Array.from(bokeh.data("memory").held))).toBeCloseTo(0.38 * 2 ** 30, -2);
    expect(root.querySelector('[aria-selected="true"]')?.getAttribute("data-op-name")).toBe("sequential/conv2d/Relu");
  });

  it("maps the addresses: what fits at the moment, in the colours of the owners, by keys and pointer", async () => {
    const { root, page } = await show(memoryTimeline);
    await choose(root, "Map");
    const map = root.querySelector(".tfp-map") as HTMLElement;
    const words = () => map.querySelector("p")?.textContent;
    expect(words()).toContain(
      "At the peak: largest free piece 1.10 of 1.32 GiB free (beyond the addresses that were used);",
    );
    expect(words()).toContain("a request for more than 1.10 GiB fails.");
    expect(map.querySelector(".bar")?.textContent).toContain("blank: free, or some of 307 MiB held since before");
    const keys = () => [...map.querySelectorAll(".tfp-keys .tfp-key")].map((entry) => entry.textContent);
    expect(keys()).toEqual(["convolution, matmul", "element-wise", "others"]);
    await choose(root, "Op");
    expect(keys()).toHaveLength(4);
    const plot = map.querySelector("[role=application]") as HTMLElement;
    press(plot, "ArrowUp");
    expect(map.querySelector("[aria-live]")?.textContent).toContain("389 MiB · sequential/conv2d/Relu, output");
    press(plot, "Enter");
    expect(page.link.get("selection")).toEqual(["sequential/conv2d/Relu"]);
    press(plot, "ArrowLeft");
    await settle();
    expect(words()).toMatch(/^At [\d,.]+ ms: largest free piece/);
    pointer(plot, "pointermove", 2);
    expect(map.querySelector(".tfp-tip")?.textContent).toContain("2.18 GiB and more beside the last block");
  });

  it("shares its window of time with the map, which zooms and pans it", async () => {
    const { root, bokeh } = await show(memoryTimeline);
    const span = () => {
      const { start, end } = bokeh.model("x") as { start: number; end: number };
      return end - start;
    };
    const whole = span();
    await choose(root, "Map");
    // All allocations of a step would be a hairline.
    await vi.waitFor(() => expect(span()).toBeLessThan(whole / 10));
    const plot = root.querySelector("[role=application]") as HTMLElement;
    press(plot, "f");
    await vi.waitFor(() => expect(span()).toBeCloseTo(whole, 3));
    press(plot, "w");
    await vi.waitFor(() => expect(span()).toBeCloseTo(whole / 1.2, 3));
  });

  it("shows in its own place what failed when another allocator was chosen", async () => {
    const { root } = await show(memoryTimeline);
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.spyOn(Element.prototype, "replaceChildren").mockImplementation(() => {
      throw new Error("broken");
    });
    root.querySelector('[aria-label="Allocator"]')?.dispatchEvent(new Event("change"));
    await settle();
    expect(root.querySelector("[role=alert]")?.textContent).toContain("broken");
  });

  it("describes the allocation under the pointer", async () => {
    const { root, plot } = await show(memoryTimeline);
    pointer(plot, "pointermove", WIDTH - 1);
    const tip = root.querySelector(".tfp-tip") as HTMLElement;
    expect(tip.hidden).toBe(false);
    expect(tip.textContent).toContain("frees 389 MiB");
    expect(tip.textContent).toContain("[32,222,222,64]");
  });
});

describe("the words of the median", () => {
  it("stand where they hide least of higher bars, at the end where that is everywhere", () => {
    expect(lowestRun([9, 9, 4, 5, 9], 2)).toBe(2);
    expect(lowestRun([5, 5, 5, 5], 2)).toBe(2);
    expect(lowestRun([3, 9], 2)).toBe(0);
  });
});
