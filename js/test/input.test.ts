// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import type { Pack, Table } from "../src/data/pack";
import { inputOps, inputParts } from "../src/model/input";
import { countedSteps } from "../src/model/steps";
import { inputGraph } from "../src/views/input_graph/input_graph";
import { makeScene } from "./scene";
import { settle, showWidget, withLayout } from "./shown";

const MAP = "Iterator::Root::BatchV2::Zip[0]::Map";

describe("waiting for data", () => {
  const steps: Table = {
    n: 3,
    columns: {
      start_ps: Float64Array.of(0, 10e9, 20e9),
      duration_ps: Float64Array.of(10e9, 10e9, 20e9),
      input_ms: Float64Array.of(9, 2, 8),
      is_averaged: Uint8Array.of(0, 1, 1),
    },
  };

  it("is averaged over usual steps, over others where there are only those", () => {
    expect(countedSteps(steps, null)).toEqual([1, 2]);
    expect(countedSteps(steps, [0, 10e9])).toEqual([0]);
    expect(countedSteps(steps, [1e9, 9e9])).toEqual([]);
  });
});

describe("input ops", () => {
  const { meta, tables } = makeScene();
  const traceMeta = meta as unknown as TraceMeta;
  const executed = (name: string) => (name === "occurrences" ? tables.occurrences : undefined);

  it("are those with a category, and the shares of their work add up to 1", () => {
    const rows = inputOps(traceMeta, executed, null);
    expect(rows.map((row) => row.name)).toEqual([MAP]);
    expect(rows.reduce((sum, row) => sum + row.workRatio, 0)).toBeCloseTo(1);
    expect(inputOps(traceMeta, executed, [0, 1])).toEqual([]);
  });

  it("work as long as their iterators, in a range for a part of each call, and wait for the rest of their time", () => {
    const [whole] = inputOps(traceMeta, executed, null);
    expect(whole.workPs).toBe(476e9);
    const calls = tables.iterator_calls.columns as Record<string, Float64Array>;
    const [start, duration] = [tables.steps.columns.start_ps, tables.steps.columns.duration_ps] as Float64Array[];
    const range = [start[3] + duration[3] / 3, start[3] + duration[3] / 2] as const;
    const table = (name: string) => (name === "iterator_calls" ? tables.iterator_calls : executed(name));
    const [cut] = inputOps(traceMeta, table, range);
    const inside = (i: number) =>
      Math.max(0, Math.min(calls.start_ps[i] + calls.duration_ps[i], range[1]) - Math.max(calls.start_ps[i], range[0]));
    const worked = Array.from(calls.node, (node, i) =>
      traceMeta.pipelines[0].nodes[node].long_name === MAP ? (calls.self_ps[i] * inside(i)) / calls.duration_ps[i] : 0,
    );
    const sum = worked.reduce((all, ps) => all + ps, 0);
    expect(cut.workPs).toBeCloseTo(sum, -3);
    expect(cut.waitPs).toBeCloseTo(Math.max(0, cut.totalPs - sum), -3);
    const parts = inputParts(["Enqueue", "Preprocessing"], [cut]);
    expect(parts.map(({ ms }) => ms)).toEqual([0, cut.workPs / 1e9]);
  });
});

describe("input view", () => {
  withLayout();

  const show = () => showWidget(inputGraph, makeScene());

  async function choose(root: HTMLElement, text: string) {
    [...root.querySelectorAll<HTMLElement>(".seg button")].find((element) => element.textContent === text)?.click();
    await settle();
  }

  it("blames no iterator where an input keeps up", async () => {
    const scene = makeScene();
    const meta = scene.meta as unknown as TraceMeta;
    const verdict = "The input keeps up: it costs 37.0 µs of a step.";
    const waits = async (ms: number) => {
      const input_ms = Float64Array.from({ length: scene.tables.steps.n }, () => ms);
      const steps = { ...scene.tables.steps, columns: { ...scene.tables.steps.columns, input_ms } };
      const pack = { meta: { ...meta, input: { ...meta.input, verdict } }, tables: { ...scene.tables, steps } };
      return (await showWidget(inputGraph, pack as unknown as Pack)).root;
    };
    const calm = await waits(0.037);
    expect(calm.querySelector("aside h3")?.textContent).toBe(verdict);
    expect(calm.querySelector("aside pre")).toBeNull();
    expect(calm.querySelector(".tfp-node.bottleneck")).toBeNull();
    expect(calm.textContent).not.toContain("Bottleneck");
    const starved = await waits(13);
    expect(starved.querySelector(".tfp-node.bottleneck")).not.toBeNull();
  });

  it("says first whether the training waits for data", async () => {
    const { root } = await show();
    expect(root.querySelector("aside h3")?.textContent).toContain("waits 13.1 of 21.3 ms");
  });

  it("says of a range its own finding first, and marks the verdict as that of the whole capture", async () => {
    const { root, page } = await show();
    const { columns } = makeScene().tables.steps;
    const [start, duration] = [columns.start_ps, columns.duration_ps] as Float64Array[];
    page.link.set("time_range", [start[3] / 1000, (start[3] + duration[3]) / 1000]);
    await settle();
    expect(root.querySelector("aside h3")?.textContent).not.toContain("waits 13.1 of 21.3 ms");
    expect(root.querySelector("aside p")?.textContent).toMatch(/^The whole capture: .*waits 13\.1 of 21\.3 ms/);
  });

  it("shows one execution by its rank, with its own times, and the average again in another range", async () => {
    const { root, page } = await show();
    const ranks = root.querySelector<HTMLSelectElement>('[aria-label="Execution"]') as HTMLSelectElement;
    expect(ranks.options.length).toBe(41);
    ranks.value = "0";
    ranks.dispatchEvent(new Event("change"));
    expect(root.querySelector(".tfp-say")?.textContent).toContain("Execution of rank 0, of 40");
    expect(root.querySelector(".tfp-op-graph")?.textContent).toMatch(/from [\d.,]+ ms/);
    expect(root.querySelector(".tfp-node.bottleneck")?.getAttribute("data-op-name")).toBe(MAP);
    page.link.set("time_range", [0, 1e9]);
    await settle();
    expect(ranks.value).toBe("");
  });

  it("tells the share of each step and what the host's time went into", async () => {
    const { root, page } = await show();
    await choose(root, "Waiting");
    expect(root.querySelector(".tfp-wait .line")?.textContent).toMatch(/^Waiting for data: \d+ % of \d+ steps/);
    expect(root.querySelector(".tfp-host-keys")?.textContent).toContain("Preprocessing476 ms · 100 %");
    expect(root.querySelector(".tfp-host-advice")?.textContent).toContain("Largest: Preprocessing.");
    page.link.set("time_range", [1, 2]);
    await settle();
    expect(root.querySelector(".tfp-wait .line")?.textContent).toBe("No whole step in this range.");
  });

  it("lists input ops and selects one, and lists pipelines with their slow calls", async () => {
    const { root, page } = await show();
    await choose(root, "Input ops");
    root.querySelector<HTMLElement>(`.tfp-grid .row[data-op-name="${MAP}"]`)?.click();
    expect(page.link.get("selection")).toEqual([MAP]);
    await choose(root, "Pipelines");
    const cells = root.querySelector('[data-pipeline="0"]');
    expect(cells?.querySelector('[data-column="slow"]')?.textContent).toBe("40");
    expect(cells?.querySelector('[data-column="max"]')?.textContent).toBe("13.1 ms");
  });
});
