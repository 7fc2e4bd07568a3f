// @vitest-environment jsdom
/** What figures are of: the averaged steps, a step, until the reader asks for a range or for the whole capture. */
import { describe, expect, it, vi } from "vitest";
import { STEADY } from "../src/data/columns";
import type { TraceMeta } from "../src/data/meta";
import type { Pack, Table } from "../src/data/pack";
import { opsOfScope, opTotals, withoutWaiting } from "../src/model/ops";
import { describeRange, perStep, scopeOf, stepsOfScope } from "../src/model/range";
import type { TraceBuilder } from "../src/ui/view";
import { dashboard } from "../src/views/dashboard/dashboard";
import { hloTable } from "../src/views/hlo_table/hlo_table";
import { kernelTable } from "../src/views/kernel_table/kernel_table";
import { layerTable } from "../src/views/layer_table/layer_table";
import { opTable } from "../src/views/op_table/op_table";
import { sourceView } from "../src/views/source_view/source_view";
import { scenePlaces } from "./places_scene";
import { settle, showWidget, withLayout } from "./shown";
import { tableScene } from "./table_scene";

/** The steps after the first, which is longer and no average is over. */
function withSteady(pack: Pack): Pack {
  const { steps, occurrences, kernel_totals } = pack.tables;
  const [start, duration] = [steps.columns.start_ps, steps.columns.duration_ps] as Float64Array[];
  const last = steps.n - 1;
  const nUnits = (pack.meta as unknown as TraceMeta).op_name.length;
  const totals = opTotals(occurrences, undefined, nUnits, [start[1], start[last] + duration[last]]);
  const step_totals: Table = {
    n: nUnits,
    columns: {
      unit: Int32Array.from({ length: nUnits }, (_, unit) => unit),
      ...{ occurrences: totals.occurrences, total_ps: totals.totalPs, self_ps: totals.selfPs },
    },
  };
  const kernels = kernel_totals === undefined ? {} : { kernel_step_totals: kernel_totals };
  return { meta: pack.meta, tables: { ...pack.tables, ...kernels, step_totals } };
}

const STEPS: Table = {
  n: 4,
  columns: {
    start_ps: Float64Array.of(0, 30e9, 40e9, 50e9),
    duration_ps: Float64Array.of(30e9, 10e9, 10e9, 10e9),
    is_averaged: Uint8Array.of(0, 1, 1, 1),
  },
};
const META = { step_names: ["0", "1", "2", "3"], sessions: [], duration_ps: 60e9 } as unknown as TraceMeta;
const tables = (name: string) => (name === "steps" || name === "step_totals" ? STEPS : undefined);

describe("what figures are of", () => {
  it("is the averaged steps unless a range or the whole capture is asked for, or no step is averaged", () => {
    const ask = (timeRange: readonly [number, number] | null, isWholeCapture: boolean, table = tables) =>
      scopeOf({ timeRange, isWholeCapture }, table);
    expect(ask(null, false)).toBe(STEADY);
    expect(ask(null, true)).toBeNull();
    expect(ask([31_000_000, 32_000_000], true)).toEqual([31e9, 32e9]);
    expect(ask(null, false, () => undefined)).toBeNull();
  });

  it("is divided by its steps where it is of whole ones", () => {
    expect(stepsOfScope(STEPS, STEADY)).toBe(3);
    expect(stepsOfScope(STEPS, [30e9, 50e9])).toBe(2);
    expect(stepsOfScope(STEPS, [31e9, 50e9])).toBeNull();
    expect(stepsOfScope(STEPS, null)).toBeNull();
    expect([perStep("Time, ms", 3), perStep("Time, ms", null)]).toEqual(["Time, ms a step", "Time, ms"]);
  });

  it("says which steps, or how many where they do not follow each other", () => {
    expect(describeRange(META, STEPS, STEADY)).toBe("average of steps 1–3");
    expect(describeRange({ ...META, step_names: ["0", "1", "0", "1"] }, STEPS, STEADY)).toBe("average of 3 of 4 steps");
    const is_averaged = Uint8Array.of(1, 0, 1, 1);
    expect(describeRange(META, { n: 4, columns: { ...STEPS.columns, is_averaged } }, STEADY)).toBe(
      "average of 3 of 4 steps",
    );
  });
});

describe("iterators that wait for others", () => {
  it("are apart from what works", () => {
    const { meta, tables: own } = withSteady(tableScene());
    const known = { ...(meta as unknown as TraceMeta), op_waits: [1] };
    const all = opsOfScope(known, (name) => own[name], STEADY);
    expect(all.selfPs[0]).toBeGreaterThan(0);
    const work = withoutWaiting(known, all);
    expect([work.selfPs[0], work.occurrences[0]]).toEqual([0, 0]);
    expect([...work.selfPs].slice(1)).toEqual([...all.selfPs].slice(1));
  });
});

describe("the op table", () => {
  withLayout();

  it("leaves waiting out until it is asked for, or what waits is selected", async () => {
    const pack = withSteady(tableScene());
    const { names, op_name } = pack.meta as unknown as TraceMeta;
    const first = "Iterator::Root::BatchV2";
    const op_waits = op_name.map((name) => (names[name] === first ? 1 : 0));
    const { root, page } = await showWidget(opTable, { ...pack, meta: { ...pack.meta, op_waits } });
    const row = () => [...root.querySelectorAll<HTMLElement>(".row")].find((one) => one.dataset.opName === first);
    const press = [...root.querySelectorAll("button")].find((one) => one.textContent === "Waiting");
    expect(row()).toBeUndefined();
    press?.click();
    await settle();
    expect(row()).toBeDefined();
    press?.click();
    await settle();
    expect(row()).toBeUndefined();
    page.link.set("selection", [first]);
    await vi.waitFor(() => expect(row()?.getAttribute("aria-selected")).toBe("true"));
    expect(press?.getAttribute("aria-pressed")).toBe("true");
    page.link.set("selection", []);
    await vi.waitFor(() => expect(row()).toBeUndefined());
  });
});

describe("views of ops", () => {
  withLayout();
  const views: readonly [string, TraceBuilder, () => Pack][] = [
    ["Ops", opTable, tableScene],
    ["Layers", layerTable, tableScene],
    ["HLO", hloTable, tableScene],
    ["Kernels", kernelTable, tableScene],
    ["Lines", sourceView, scenePlaces],
  ];

  it.each(views)("%s: are a step first, and of the whole capture all at once", async (_, view, scene) => {
    const { root, page } = await showWidget(view, withSteady(scene()));
    const first = root.textContent;
    expect(first).toContain("a step");
    page.link.set("whole_capture", true);
    await settle();
    expect(root.textContent).not.toContain("a step");
    page.link.set("whole_capture", false);
    // Two changes in a row are drawn at a pace.
    await vi.waitFor(() => expect(root.textContent).toBe(first));
  });

  it("count executions a step", async () => {
    const { root, page } = await showWidget(opTable, withSteady(tableScene()));
    const count = () => root.querySelector('.row [data-column="count"]')?.textContent;
    expect(count()).toBe("32");
    page.link.set("whole_capture", true);
    await settle();
    expect(count()).toBe("1,280");
  });

  it("have what layers allocated a step, or in the whole capture; of a range that is not known", async () => {
    const scene = withSteady(tableScene());
    const ofDevice = { device_memory: { allocator: "GPU_0_bfc", peak_bytes: 1, capacity_bytes: 2 } };
    const { root, page } = await showWidget(layerTable, { ...scene, meta: { ...scene.meta, ...ofDevice } });
    const cell = () => root.querySelector('.row [data-column="allocated"]')?.textContent;
    expect(cell()).toBe("16.0 KiB");
    expect(root.querySelector('.tfp-head[data-column="allocated"]')?.textContent).toBe("Allocated a step");
    page.link.set("whole_capture", true);
    await settle();
    expect(cell()).toBe("1.00 MiB");
    const press = (text: string) =>
      [...root.querySelectorAll<HTMLElement>(".seg button")].find((one) => one.textContent === text)?.click();
    press("Host"); // whose memory it is not
    await settle();
    expect(cell()).toBeUndefined();
    press("Device");
    page.link.set("time_range", [30e6, 60e6]);
    await vi.waitFor(() => expect(cell()).toBeUndefined());
  });

  it("say that host times are summed over threads, but not of a device alone", async () => {
    const { root } = await showWidget(opTable, withSteady(tableScene()));
    const said = () => root.querySelector(".bar .q")?.textContent;
    expect(said()).toContain("host times summed over threads");
    [...root.querySelectorAll("button")].find((one) => one.textContent === "Device")?.click();
    await settle();
    expect(said()).not.toContain("threads");
  });

  it("of the dashboard are switched at its tabs", async () => {
    const { root, page } = await showWidget(dashboard, withSteady(tableScene()));
    const buttons = [...root.querySelectorAll<HTMLButtonElement>(".tfp-chip .seg button")];
    expect(buttons.map((one) => one.textContent)).toEqual(["average of steps 1–39", "whole capture"]);
    buttons[1].click();
    expect(page.link.get("whole_capture")).toBe(true);
    expect(buttons.map((one) => one.getAttribute("aria-pressed"))).toEqual(["false", "true"]);
  });
});
