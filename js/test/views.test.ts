// @vitest-environment jsdom

import { describe, expect, it, vi } from "vitest";
import { makeHost, makeModel, type WidgetModule } from "../src/data/widget";
import type { TraceBuilder } from "../src/ui/view";
import { inputGraph } from "../src/views/input_graph/input_graph";
import { memoryTimeline } from "../src/views/memory_timeline/memory_timeline";
import { opTable } from "../src/views/op_table/op_table";
import { overviewPanel } from "../src/views/overview_panel/overview_panel";
import { stepChart } from "../src/views/step_chart/step_chart";
import { makeScene, type SceneOptions } from "./scene";
import { EVIL, type Shown, settle, showWidget, withLayout } from "./shown";

const MAP = "Iterator::Root::BatchV2::Zip[0]::Map";

function show(widget: TraceBuilder, options: SceneOptions = {}): Promise<Shown> {
  return showWidget(widget, makeScene(options));
}

withLayout();

describe("every view", () => {
  const views = { overviewPanel, opTable, inputGraph };

  it.each(Object.entries(views))("%s shows hostile names as text", async (_, widget) => {
    const { root } = await show(widget, { hostileName: EVIL });
    expect(root.querySelector("[role=alert]")).toBeNull();
    expect(root.querySelector("img, script, .tfp b b")).toBeNull();
    const labels = [...root.querySelectorAll("[aria-label]")].map((one) => one.getAttribute("aria-label"));
    if (widget !== overviewPanel) expect([root.textContent, ...labels].join("\n")).toContain("<img src=x");
  });

  it.each(Object.entries(views))("%s leaves no listener behind", async (_, widget) => {
    const { page, controller, root } = await show(widget);
    expect(page.link.listeners.length).toBeGreaterThan(0);
    controller.abort();
    expect(page.link.listeners).toEqual([]);
    expect(root.isConnected).toBe(false);
  });

  it.each(Object.entries({ opTable, inputGraph, memoryTimeline, stepChart }))(
    "%s says why an empty capture is empty",
    async (_, widget) => {
      const { root } = await show(widget, { isEmpty: true });
      expect(root.querySelector("[role=alert]")).toBeNull();
      expect(root.querySelector("pre")?.textContent).not.toBe("");
      expect([...root.querySelectorAll("button")].map((element) => element.textContent)).toContain("Copy");
    },
  );
});

describe("op table", () => {
  const rows = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>(".tfp-grid .row")];

  it("follows the linked time range and says which", async () => {
    const { root, page } = await show(opTable);
    const count = () => root.querySelector(".bar .q")?.textContent ?? "";
    const cell = () => rows(root)[0].querySelector('[data-column="count"]')?.textContent;
    expect(cell()).toBe("1,280");
    const { start_ps: start, duration_ps: duration } = makeScene().tables.steps.columns;
    const [t0, t1] = [Number(start[12]), Number(start[18]) + Number(duration[18])];
    page.link.set("time_range", [Math.ceil(t0 / 1000), Math.floor(t1 / 1000)]);
    await settle();
    expect(count()).toContain("steps 12–18");
    // Of seven steps, a step.
    expect(cell()).toBe("32");
    expect(rows(root)[0].closest("[role=grid]")?.textContent).toContain("Self time, ms a step");
  });

  it("selects the op of a clicked row, and marks the row of an op selected elsewhere", async () => {
    const { root, page } = await show(opTable);
    const name = rows(root)[1].getAttribute("data-op-name");
    rows(root)[1].click();
    expect(page.link.get("selection")).toEqual([name]);
    page.link.set("selection", [MAP]);
    const marked = rows(root).filter((row) => row.getAttribute("aria-selected") === "true");
    expect(marked.map((row) => row.getAttribute("data-op-name"))).toEqual([MAP]);
  });

  it("draws rows that came while the page hid everything for a moment", async () => {
    let isHidden = false;
    class SilentObserver {
      observe() {}
      disconnect() {}
    }
    vi.stubGlobal("ResizeObserver", SilentObserver);
    vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockImplementation(() => (isHidden ? 0 : 1200));
    vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(() => (isHidden ? 0 : 21));
    const { root, page } = await show(opTable);
    isHidden = true;
    page.link.set("time_range", [300e6, 400e6]);
    await new Promise((done) => requestAnimationFrame(done));
    await Promise.resolve();
    isHidden = false;
    await settle();
    vi.unstubAllGlobals();
    expect(rows(root).length).toBeGreaterThan(5);
  });

  it("filters by text and by regular expression, and counts what is left", async () => {
    const { root } = await show(opTable);
    const input = root.querySelector("input") as HTMLInputElement;
    input.value = "/resize|decode/i";
    input.dispatchEvent(new Event("input"));
    await settle();
    expect(rows(root).length).toBe(2);
    expect(root.querySelector(".bar .q")?.textContent).toMatch(/^2 of \d+ ops/);
  });
});

describe("input graph", () => {
  it("outlines the bottleneck, thickens the critical path and says how much time the bottleneck has", async () => {
    const { root } = await show(inputGraph);
    expect(root.querySelector(".tfp-node.bottleneck")?.getAttribute("data-op-name")).toBe(MAP);
    expect(root.querySelectorAll(".tfp-node").length).toBe(7);
    expect(root.querySelectorAll(".tfp-node.critical").length).toBe(6);
    expect(root.querySelectorAll(".edge:not(.control)[d]").length).toBeGreaterThan(4);
    expect(root.querySelector("aside")?.textContent).toContain("Map accounts for 476 ms");
  });

  it("selects an iterator by click and by key, and marks a selected one", async () => {
    const { root, page } = await show(inputGraph);
    const box = root.querySelector(`[data-op-name="${MAP}"]`) as SVGGElement;
    box.dispatchEvent(new MouseEvent("click"));
    expect(page.link.get("selection")).toEqual([MAP]);
    expect(box.getAttribute("aria-pressed")).toBe("true");
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    expect(page.link.get("selection")).toEqual([]);
  });

  it("stands for all iterators that were merged into a node", async () => {
    const mapNames = ["Iterator::Root::Interleave[0]::Map", "Iterator::Root::Interleave[1]::Map"];
    const { root, page } = await show(inputGraph, { mapNames });
    const box = root.querySelector(`[data-op-name="${MAP}"]`) as SVGGElement;
    box.dispatchEvent(new MouseEvent("click"));
    expect(page.link.get("selection")).toEqual(mapNames);
    page.link.set("selection", [mapNames[1]]);
    expect(box.getAttribute("aria-pressed")).toBe("true");
    box.dispatchEvent(new MouseEvent("click"));
    box.dispatchEvent(new MouseEvent("click"));
    expect(page.link.get("selection")).toEqual([]);
  });

  it("gives averages of the batches of the time range", async () => {
    const { root, page } = await show(inputGraph);
    const { start_ps: start } = makeScene().tables.steps.columns;
    page.link.set("time_range", [Math.ceil(Number(start[3]) / 1000), Math.floor(Number(start[5]) / 1000)]);
    await settle();
    expect(root.querySelector(".tfp-say")?.textContent).toContain("on average of 2 in steps 3–4");
  });
});

describe("overview panel", () => {
  it("names the parts of a step that are not zero, and the step that compiles", async () => {
    const { root } = await show(overviewPanel);
    const rows = [...root.querySelectorAll(".tfp-cat")].map((row) => row.textContent);
    expect(rows.some((row) => row?.startsWith("Device to device"))).toBe(false);
    expect(rows).toContain("Compilationin step 0");
    expect(root.querySelector("header")?.textContent).toContain("21.2 ms a step");
  });

  it("says below the verdict how the run compares with the last one of its cell", async () => {
    const since_last = "3.9 times faster than the last run (95 % interval 3.7 to 4.1).";
    const { root } = await showWidget(overviewPanel, makeScene(), (page) => {
      page.view.set("options", JSON.stringify({ since_last }));
      return page.host;
    });
    expect(root.querySelector(".tfp-verdict")?.textContent).toContain(since_last);
  });
});

describe("a page without a kernel", () => {
  it("gives views models that they can set and hear", () => {
    const model = makeModel({ time_range: [] });
    const heard: unknown[] = [];
    const listener = () => heard.push(model.get("time_range"));
    model.on("change:time_range", listener);
    model.set("time_range", [1, 2]);
    model.off("change:time_range", listener);
    model.set("time_range", []);
    expect(heard).toEqual([[1, 2]]);
  });

  it("resolves references to one model, and renders a widget that has a view", async () => {
    const drawn: string[] = [];
    const widget: WidgetModule = {
      render: ({ model }) => void drawn.push(`${String(model.get("builder"))} ${String(model.get("x"))}`),
    };
    const host = makeHost({ a: { state: { x: 1, builder: "timeline" } }, b: { state: {} } }, widget);
    expect(await host.getModel("anywidget:a")).toBe(await host.getModel("IPY_MODEL_a"));
    await (await host.getWidget("anywidget:a")).render({ el: document.body });
    expect(drawn).toEqual(["timeline 1"]);
    await expect(host.getWidget("anywidget:b")).rejects.toThrow("no view");
    await expect(host.getModel("anywidget:z")).rejects.toThrow('no model "z"');
  });
});
