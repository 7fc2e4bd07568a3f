// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { treeView } from "../src/views/tree_view/tree_view";
import type { FakePage } from "./fake_host";
import { makeScene } from "./scene";
import { EVIL, settle, showWidget, withLayout } from "./shown";
import { sceneStructure, structureMeta } from "./structure_scene";

const CONV = "sequential/conv2d/convolution";
const selection = (page: FakePage) => page.link.get("selection") as string[];
const press = (root: HTMLElement, text: string) =>
  [...root.querySelectorAll("button")].find((button) => button.textContent === text)?.click();
const rows = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>(".tfp-tree-grid .row")];
const rowOf = (root: HTMLElement, name: string) => rows(root).find(({ dataset }) => dataset.node === name);

async function type(root: HTMLElement, text: string) {
  const input = root.querySelector<HTMLInputElement>('input[type="search"]');
  if (input === null) throw new Error("no search box");
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
  return (key: string) => input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

withLayout();

describe("tree view", () => {
  it("leaves no listener behind", async () => {
    const { page, controller, root } = await showWidget(treeView, sceneStructure());
    press(root, "Graph");
    expect(page.link.listeners.length).toBeGreaterThan(0);
    controller.abort();
    expect(page.link.listeners).toEqual([]);
  });

  it("shows hostile names as text in every view", async () => {
    const { root } = await showWidget(treeView, sceneStructure({ hostileName: EVIL }));
    for (const kind of ["Graph", "Op type", "Code", "Scope"]) {
      press(root, kind);
      await settle();
      expect(root.querySelector("img, script, b b")).toBeNull();
      expect(root.querySelector("[role=alert]")).toBeNull();
    }
  });

  it("says why a capture without ops is empty, and why lines or edges are unknown", async () => {
    const empty = await showWidget(treeView, makeScene({ isEmpty: true }));
    expect(empty.root.textContent).toContain("No TensorFlow op in this capture");
    const { root } = await showWidget(treeView, sceneStructure({ noCode: true, noEdges: true }));
    press(root, "Code");
    expect(root.textContent).toContain("Lines are unknown because no call stacks were noted.");
    press(root, "Graph");
    expect(root.textContent).toContain("What feeds what is unknown because no graph was noted.");
    press(root, "Scope");
    expect(rows(root).length).toBeGreaterThan(0);
  });

  it("says what could not be worked out, and the other views stay", async () => {
    const scene = makeScene();
    const { root } = await showWidget(treeView, {
      ...scene,
      meta: { ...scene.meta, structure: [{ problem: "no luck" }] },
    });
    expect(root.textContent).toContain("They could not be worked out: no luck");
    expect(root.querySelector("[role=alert]")).toBeNull();
  });

  it("selects the ops below a clicked row, and drops them on the second click", async () => {
    const { root, page } = await showWidget(treeView, sceneStructure());
    rowOf(root, "sequential")?.click();
    await settle();
    const names = selection(page);
    expect(names).toContain(CONV);
    expect(names.every((name) => name.startsWith("sequential/"))).toBe(true);
    expect(rowOf(root, "sequential")?.getAttribute("aria-selected")).toBe("true");
    rowOf(root, "sequential")?.click();
    await settle();
    expect(selection(page)).toEqual([]);
  });

  it("marks and brings into sight what was selected elsewhere", async () => {
    const { root, page } = await showWidget(treeView, sceneStructure());
    page.link.set("selection", [CONV]);
    await settle();
    expect(rowOf(root, CONV)?.getAttribute("aria-selected")).toBe("true");
    press(root, "Graph");
    await settle();
    expect(root.querySelector('.box[aria-pressed="true"], .box.some')).not.toBeNull();
  });

  it("lists what a search finds and goes from one to the next", async () => {
    const { root } = await showWidget(treeView, sceneStructure());
    const key = await type(root, "/conv/i");
    const found = rows(root).map(({ dataset }) => dataset.node ?? "");
    expect(found.length).toBeGreaterThan(1);
    expect(found.every((name) => /conv/i.test(name))).toBe(true);
    expect(root.querySelector(".tfp-found")?.textContent).toMatch(/^\d+ of \d+ found, Enter: next$/);
    key("Enter");
    key("Enter");
    await settle();
    expect(root.querySelector(".tfp-found")?.textContent).toBe(`2 of ${found.length} found`);
    expect(root.querySelector<HTMLElement>("[data-current]")?.dataset.node).toBe(found[1]);
    key("Escape");
    await settle();
    expect(root.querySelector(".tfp-found")?.textContent).toBe("");
  });

  it("opens and walks by keys", async () => {
    const { root, page } = await showWidget(treeView, sceneStructure());
    const grid = root.querySelector<HTMLElement>('[role="treegrid"]');
    const key = (name: string) => grid?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    key("Home");
    const before = rows(root).length;
    key(rows(root)[0].getAttribute("aria-expanded") === "true" ? "ArrowLeft" : "ArrowRight");
    expect(rows(root).length).not.toBe(before);
    key("Enter");
    await settle();
    expect(selection(page).length).toBeGreaterThan(0);
  });

  it("sorts by the column whose head is pressed", async () => {
    const { root } = await showWidget(treeView, sceneStructure());
    press(root, "Op type");
    await settle();
    const head = root.querySelector<HTMLElement>('[data-column="name"]');
    head?.click();
    const types = rows(root).filter((row) => row.getAttribute("aria-level") === "1");
    const names = types.map(({ dataset }) => dataset.node ?? "");
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b)));
    expect(root.querySelector('[aria-sort="ascending"]')?.textContent).toBe("Op type");
  });

  it("opens a scope of the drawn graph with Enter and says how hot it is in words and length, too", async () => {
    const { root } = await showWidget(treeView, sceneStructure());
    press(root, "Graph");
    await settle();
    const box = root.querySelector<SVGGElement>('.box.scope[aria-expanded="false"]');
    const name = box?.dataset.node;
    expect(box?.getAttribute("aria-description")).toMatch(/: [\d.,]+ (ms|µs|s), \d+ ops?$/);
    expect(box?.querySelector(".len")).not.toBeNull();
    for (const press of ["click", "dblclick"]) box?.dispatchEvent(new MouseEvent(press, { bubbles: true }));
    await settle();
    const now = [...root.querySelectorAll<SVGGElement>(".box.scope")].find(({ dataset }) => dataset.node === name);
    expect(now?.getAttribute("aria-expanded")).toBe("true");
  });

  it("is about the linked range, in which fewer ops ran", async () => {
    const { root, page } = await showWidget(treeView, sceneStructure());
    const whole = root.querySelector(".cell")?.textContent;
    const { start_ps: start, duration_ps: duration } = makeScene().tables.steps.columns;
    const end = Number(start[18]) + Number(duration[18]);
    page.link.set("time_range", [Math.ceil(Number(start[12]) / 1000), Math.floor(end / 1000)]);
    await settle();
    expect(root.querySelector(".cell")?.textContent).not.toBe(whole);
    expect(root.querySelector(".tfp-say")?.textContent).toContain("· steps 12–18");
    const select = root.querySelector("select");
    if (select) select.value = "bytes";
    select?.dispatchEvent(new Event("change"));
    expect(root.querySelector(".tfp-say")?.textContent).toContain("whole capture, not known of a range");
  });

  it("says that figures of files of steps are means", async () => {
    const { root } = await showWidget(treeView, sceneStructure({ isPerStep: true }));
    expect(root.querySelector(".tfp-say")?.textContent).toContain("per step, mean of 4");
    expect(structureMeta({ ops: [] }).names).toEqual([]);
  });
});

describe("the icicle of the tree", () => {
  const cell = (root: HTMLElement, name: string) =>
    [...root.querySelectorAll<HTMLElement>(".cell")].find((one) =>
      one.getAttribute("aria-description")?.startsWith(`${name}:`),
    );
  const crumbs = (root: HTMLElement) =>
    [...root.querySelectorAll(".tfp-crumbs button")].map(({ textContent }) => textContent);
  const key = (name: string) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));

  it("opens a clicked scope, says what is shown, and goes back by the path and by Esc", async () => {
    const { root, page } = await showWidget(treeView, sceneStructure());
    cell(root, "sequential")?.click();
    expect(crumbs(root)).toEqual(["All ops", "sequential"]);
    expect(selection(page)).toContain(CONV);
    const labels = [...root.querySelectorAll("[aria-label]")].map((one) => one.getAttribute("aria-label"));
    expect(labels).toContain("Inside sequential: arrow keys move, Enter opens, Esc goes out");
    cell(root, "conv2d_1")?.focus();
    cell(root, "conv2d_1")?.click();
    expect(crumbs(root)).toEqual(["All ops", "sequential", "conv2d_1"]);
    key("Escape");
    expect(crumbs(root)).toEqual(["All ops", "sequential"]);
    root.querySelector<HTMLButtonElement>(".tfp-crumbs button")?.click();
    expect(crumbs(root)).toEqual(["All ops"]);
    expect(selection(page)).toEqual([]);
  });

  it("walks with arrow keys", async () => {
    const { root } = await showWidget(treeView, sceneStructure());
    const top = root.querySelector<HTMLElement>(".cell");
    top?.focus();
    const spoken = top?.getAttribute("aria-description");
    key("ArrowDown");
    expect(document.activeElement?.getAttribute("aria-description")).not.toBe(spoken);
    key("ArrowUp");
    expect(document.activeElement?.getAttribute("aria-description")).toBe(spoken);
  });
});
