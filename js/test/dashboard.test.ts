// @vitest-environment jsdom
/** The dashboard: what stands where, which tabs a run has, and what it says of the capture's limits. */

import { describe, expect, it } from "vitest";
import type { HloMeta, MemoryFailureMeta, TraceMeta } from "../src/data/meta";
import { BRING_VIEW } from "../src/ui/controls";
import { dashboard } from "../src/views/dashboard/dashboard";
import type { FakePage } from "./fake_host";
import { makeScene } from "./scene";
import { settle, showWidget, withLayout } from "./shown";

withLayout();

describe("dashboard", () => {
  /** Traits in the order in which they were drawn. */
  let order: string[] = [];
  const child = (fail: string) => (page: FakePage) => ({
    ...page.host,
    getWidget: async (ref: string) => {
      if (ref === fail) throw new Error("<b>broken</b>");
      const render = async ({ el }: { el: HTMLElement }) => {
        order.push(ref);
        el.append(`drawn ${ref}`);
      };
      return { render };
    },
  });
  const refs = [
    "overview_panel",
    "step_chart",
    "timeline",
    "op_table",
    "source_view",
    "tree_view",
    "memory_timeline",
    "input_graph",
  ];

  async function showAll(given: { fail?: string; options?: object; meta?: Partial<TraceMeta> } = {}) {
    const { fail = "", options = {}, meta = {} } = given;
    const scene = makeScene();
    Object.assign(scene.meta, { kernels: [{}] }, meta);
    return showWidget(dashboard, scene, (page) => {
      for (const name of refs) page.view.set(name, name);
      page.view.set("options", JSON.stringify(options));
      return child(fail)(page);
    });
  }

  const noInput = { verdict: "", categories: [], ops: [] };
  const tabs = (root: HTMLElement, bar = ".tfp-rest > .tfp-tabs") => [
    ...root.querySelectorAll<HTMLElement>(`${bar} [role=tab]:not([hidden])`),
  ];
  const titles = (root: HTMLElement, bar?: string) => tabs(root, bar).map((tab) => tab.firstChild?.textContent);

  it("shows a broken view's error in its place and draws the others", async () => {
    const { root } = await showAll({ fail: "timeline" });
    expect(root.querySelector("[role=alert]")?.textContent).toContain("<b>broken</b>");
    for (const name of ["overview_panel", "step_chart", "op_table"])
      expect(root.textContent).toContain(`drawn ${name}`);
  });

  it("draws the timeline before what needs the large libraries", async () => {
    order = [];
    await showAll();
    expect(order.slice(0, 2).sort()).toEqual(["overview_panel", "timeline"]);
    expect(order.slice(2).sort()).toEqual(["op_table", "step_chart"]);
  });

  it("draws a tab when it is first chosen, by keys as well", async () => {
    const { root } = await showAll();
    expect(root.textContent).not.toContain("drawn source_view");
    const first = tabs(root)[0];
    expect(tabs(root).map((tab) => tab.tabIndex)).toEqual([0, -1, -1, -1, -1, -1]);
    first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await settle();
    expect(root.textContent).toContain("drawn source_view");
    expect(root.textContent).not.toContain("drawn tree_view");
    expect(tabs(root).filter((tab) => tab.getAttribute("aria-selected") === "true")).toEqual([tabs(root)[1]]);
    expect(document.activeElement).toBe(tabs(root)[1]);
  });

  it("hides the tabs of what a run has nothing of", async () => {
    expect(titles((await showAll()).root)).toEqual(["Ops", "Code", "Layers", "Memory", "Input", "GPU"]);
    const bare: Partial<TraceMeta> = { kernels: [], pipelines: [], allocators: [], input: noInput };
    expect(titles((await showAll({ meta: bare })).root)).toEqual(["Ops", "Code", "Layers"]);
    const failed = { sentence: "Out of memory: it asked." } as MemoryFailureMeta;
    const { root } = await showAll({ meta: { ...bare, memory_failure: failed } });
    expect(titles(root)).toContain("Memory");
    const two = await showAll({ meta: { hosts: ["a", "b"], worker_hosts: ["a", "b"] } });
    expect(titles(two.root)).toContain("Hosts");
  });

  it("calls the programs of XLA on a CPU no GPU, and has no kernels there", async () => {
    const { planes } = makeScene({ isCpu: true }).meta as unknown as TraceMeta;
    const { root } = await showAll({ meta: { planes, kernels: [], hlo_ops: [{} as HloMeta] } });
    expect(titles(root)).toContain("XLA");
    expect(titles(root, ".tfp-panel > .tfp-tabs")).toEqual(["Lines", "Structure", "HLO ops"]);
  });

  it("opens the view that a link asks for inside its tab, also in one that is hidden", async () => {
    const { root } = await showAll({ meta: { pipelines: [], input: noInput } });
    const ask = async (detail: string) => {
      root.dispatchEvent(new CustomEvent(BRING_VIEW, { detail }));
      await settle();
    };
    await ask("tree_view");
    const chosen = () => [...root.querySelectorAll('[role=tab][aria-selected="true"]')].map((tab) => tab.textContent);
    expect(chosen().slice(0, 2)).toEqual(["Code", "Structure"]);
    expect(root.textContent).toContain("drawn tree_view");
    expect(root.textContent).not.toContain("drawn source_view");
    expect(titles(root)).not.toContain("Input");
    await ask("input_graph");
    expect(titles(root)).toContain("Input");
    expect(root.textContent).toContain("drawn input_graph");
  });

  it("names the range on the chip; × and Escape clear it", async () => {
    const { root, page } = await showAll();
    const chip = () => root.querySelector(".tfp-chip .c span")?.textContent;
    expect(chip()).toContain("whole capture · 40 steps");
    page.link.set("time_range", [1000, 2000]);
    expect(chip()).not.toContain("whole");
    root.querySelector<HTMLElement>(".tfp-chip button")?.click();
    expect(page.link.get("time_range")).toEqual([]);
    page.link.set("time_range", [1000, 2000]);
    root.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    expect(page.link.get("time_range")).toEqual([]);
  });

  it("says limits of a capture in one line that opens, each of them in its tab", async () => {
    const limits = [
      { text: "It stopped: <i>40</i> of 312 steps kept.", view: "" },
      { text: "No FLOP counts: counting ran out of time.", view: "op_table" },
      { text: "Source lines are <b>cut</b>.", view: "source_view" },
      { text: "Layers are cut.", view: "layer_table", is_told: true },
      { text: "This page holds a part.", view: "timeline" },
    ];
    const { root } = await showAll({ options: { limits, outcome: "complete" } });
    const [note, ...others] = root.querySelectorAll<HTMLElement>(".note");
    expect(others).toEqual([]);
    expect(note.querySelector("summary")?.textContent).toBe(
      "Capture complete, 5 limits: It stopped · in Ops, Code, Layers, Timeline",
    );
    expect(note.hasAttribute("open")).toBe(false);
    const told = [...note.querySelectorAll("p")].map((one) => one.firstChild?.textContent);
    expect(told).toEqual([
      "It stopped:",
      "No FLOP counts:",
      "Source lines are <b>cut</b>.",
      "Layers are cut.",
      "This page holds a part.",
    ]);
    const inTabs = [...root.querySelectorAll(".tfp-limit")].map((one) => one.textContent);
    expect(inTabs).toEqual(["No FLOP counts: counting ran out of time.", "Source lines are <b>cut</b>."]);
    [...note.querySelectorAll("button")].find((one) => one.textContent === "See Code")?.click();
    await settle();
    expect(root.textContent).toContain("drawn source_view");
  });

  it("alarms only where a limit is about the whole capture, and says nothing where there is none", async () => {
    const about = async (view: string) =>
      (await showAll({ options: { limits: [{ text: "Odd.", view }] } })).root.querySelector(".note");
    expect((await about(""))?.className).toBe("note");
    expect((await about("op_table"))?.className).toBe("note calm");
    expect((await about("op_table"))?.querySelector("summary")?.textContent).toBe("1 limit of this capture: in Ops");
    expect((await showAll({ options: { outcome: "complete" } })).root.querySelector(".note")).toBeNull();
  });

  it("tells why there is no tab for memory", async () => {
    const meta = { allocators: [], memory_remedy: "This capture holds no memory events.\ncode" };
    const { root } = await showAll({ meta });
    const line = root.querySelector(".note summary")?.textContent;
    expect(line).toBe("1 limit of this capture: Memory was not recorded");
    expect(root.querySelector(".tfp-limit")).toBeNull();
  });
});
