// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { HloGraphMeta } from "../src/data/meta";
import { graphOfOps, hloBoxes } from "../src/model/op_graph";
import { treeView } from "../src/views/tree_view/tree_view";
import type { FakePage } from "./fake_host";
import { EVIL, settle, showWidget, withLayout } from "./shown";
import { coded, sceneStructure } from "./structure_scene";

const CONV = "sequential/conv2d/convolution";
const selection = (page: FakePage) => page.link.get("selection") as string[];
const boxes = (root: HTMLElement) => [...root.querySelectorAll<SVGGElement>(".tfp-hlo-graph .box")];
const labels = (root: HTMLElement) => boxes(root).map((box) => box.querySelector(".nm")?.textContent?.trim());
const say = (root: HTMLElement) => root.querySelector(".tfp-hlo-graph .tfp-say")?.textContent ?? "";

/** `x` is read by `m`, which is read by `r`. */
function fusion(more: Partial<HloGraphMeta> = {}): HloGraphMeta {
  return {
    ...{ name: "fusion.1", module: "jit_step", category: "loop fusion", self_us: 1500 },
    ...{ ops: [CONV, "b"], ratios: [0.75, 0.25], names: ["outer.3", "mul.2", "add.9"] },
    opcodes: coded(["parameter", "multiply", "add"]),
    shapes: coded(["f32[8,4]{1,0}", "f32[8,4]{1,0}", "(f32[8,4]{1,0}, s32[]{:T(128)})"]),
    node_ops: coded(["", CONV, "nowhere"]),
    ...{ values: [0, 0.75, 0.25], from: [0, 1], to: [1, 2], n_nodes: 3, centre: -1 },
    ...more,
  };
}

const around = fusion({
  ...{ name: "outer.3", category: "custom-call", self_us: 900, ops: [CONV], ratios: [1] },
  ...{ names: ["a", "outer.3", "fusion.1"], values: [0, 900, 1500], centre: 1, n_nodes: 80 },
  opcodes: coded(["negate", "custom-call", "fusion"]),
});

async function shown(graphs: readonly HloGraphMeta[], n_hlo_ops = graphs.length) {
  const pack = sceneStructure();
  const sections = { hlo_ops: { n_rows: n_hlo_ops, n_parts: 0 } };
  const made = await showWidget(treeView, { ...pack, meta: { ...pack.meta, hlo_graphs: graphs, sections } });
  [...made.root.querySelectorAll("button")].find((button) => button.textContent === "HLO")?.click();
  await settle();
  return made;
}

const press = (box: Element | undefined, kind: string) => box?.dispatchEvent(new MouseEvent(kind, { bubbles: true }));

withLayout();

describe("which HLO op is meant", () => {
  const graphs = [fusion(), around, fusion({ ops: ["b"], ratios: [1], self_us: 10 })];

  it("is the one that stands for exactly what is selected", () => {
    expect(graphOfOps(graphs, new Set([CONV]))).toBe(1);
    expect(graphOfOps(graphs, new Set([CONV, "b"]))).toBe(0);
  });

  it("is else the one that most time of what is selected is in, if there is one", () => {
    expect(graphOfOps(graphs, new Set([CONV, "other"]))).toBe(0);
    expect(graphOfOps(graphs, new Set(["other"]))).toBe(-1);
  });
});

describe("the graph of an HLO op", () => {
  it("has a box for each instruction, what is read from outside dashed, and an arrow for each operand", () => {
    const { boxes, arrows } = hloBoxes(fusion());
    expect(boxes.map(({ kind }) => kind)).toEqual(["rest", "op", "op"]);
    expect(arrows.map(({ from, to }) => [from, to])).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it("shows opcodes, or names where these say more, shapes without layouts and shares of the work", async () => {
    const { root } = await shown([fusion()]);
    expect(labels(root)).toEqual(["outer.3", "multiply", "add"]);
    expect(boxes(root)[1].textContent).toContain("f32[8,4]");
    expect(boxes(root)[1].textContent).toContain("75");
    expect(boxes(root)[1].textContent).not.toContain("{");
    expect(say(root)).toContain("3 instructions of a fusion · loop fusion · jit_step");
    press(boxes(root)[1], "pointerenter");
    const tip = root.querySelector(".tfp-tip")?.textContent;
    for (const part of ["mul.2", "multiply · f32[8,4]{1,0}", CONV, "75 % of the fusion's estimated work"])
      expect(tip).toContain(part);
  });

  it("says what is left out of a graph, and of the HLO ops", async () => {
    const { root } = await shown([around, fusion()], 500);
    expect(say(root)).toContain("3 of 80 instructions");
    expect(say(root)).toContain("2 of 500 HLO ops, those that cost most");
    expect(root.querySelector(".tfp-hlo-graph .box.current .nm")?.textContent).toBe("outer.3 ");
  });

  it("selects the op of a clicked box in all views, marks it, and stays", async () => {
    const { root, page } = await shown([fusion(), around]);
    press(boxes(root)[1], "click");
    await settle();
    expect(selection(page)).toEqual([CONV]);
    expect(labels(root)).toEqual(["outer.3", "multiply", "add"]);
    expect(boxes(root)[1].getAttribute("aria-pressed")).toBe("true");
    press(boxes(root)[2], "click");
    expect(selection(page)).toEqual([CONV]);
  });

  it("follows what is selected elsewhere", async () => {
    const { root, page } = await shown([fusion(), around]);
    page.link.set("selection", [CONV]);
    await settle();
    expect(labels(root)).toEqual(["negate", "outer.3", "fusion.1"]);
    const groups = [...root.querySelectorAll("optgroup")].map((group) => [group.label, group.children.length]);
    expect(groups).toEqual([
      ["Of the selected ops", 2],
      ["Others", 0],
    ]);
  });

  it("goes to the graph of a box by double click, and to any by name", async () => {
    const { root } = await shown([fusion(), around]);
    press(boxes(root)[0], "dblclick");
    expect(labels(root)).toEqual(["negate", "outer.3", "fusion.1"]);
    const select = root.querySelector<HTMLSelectElement>(".tfp-hlo-graph select");
    expect(select?.value).toBe("1");
    if (select) select.value = "0";
    select?.dispatchEvent(new Event("change"));
    expect(labels(root)).toEqual(["outer.3", "multiply", "add"]);
  });

  it("shows hostile text as text", async () => {
    const evil = fusion({ name: EVIL, module: EVIL, category: EVIL, names: [EVIL, EVIL, EVIL] });
    const { root } = await shown([
      { ...evil, opcodes: coded([EVIL, "fusion", EVIL]), shapes: coded([EVIL, EVIL, EVIL]) },
    ]);
    press(boxes(root)[1], "pointerenter");
    expect(boxes(root)).toHaveLength(3);
    expect(root.querySelector("img, script, b b, [role=alert]")).toBeNull();
  });

  it("says why there is none", async () => {
    expect((await shown([])).root.textContent).toContain("No XLA program in this capture");
    expect((await shown([], 3)).root.textContent).toContain("the trace does not hold them");
  });
});
