// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import type { TraceBuilder } from "../src/ui/view";
import { hloTable } from "../src/views/hlo_table/hlo_table";
import { kernelTable } from "../src/views/kernel_table/kernel_table";
import { layerTable } from "../src/views/layer_table/layer_table";
import { opTable } from "../src/views/op_table/op_table";
import type { FakePage } from "./fake_host";
import { EVIL, type Shown, settle, showWidget, withLayout } from "./shown";
import { type TableSceneOptions, tableScene } from "./table_scene";

const TABLES = { kernelTable, hloTable, layerTable };

function show(widget: TraceBuilder, options: TableSceneOptions = {}, more: Partial<Pack> = {}): Promise<Shown> {
  const { meta, tables } = tableScene(options);
  return showWidget(widget, { meta: { ...meta, ...more.meta }, tables: { ...tables, ...more.tables } });
}

const rows = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>(".tfp-grid .row")];
const cellOf = (row: HTMLElement, field: string) => row.querySelector(`[data-column="${field}"]`)?.textContent;
const cells = (root: HTMLElement, field: string) => rows(root).map((row) => cellOf(row, field));
const count = (root: HTMLElement) => root.querySelector(".bar [role=status]")?.textContent ?? "";
const shares = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>(".tfp-share-part")];
const chosen = (page: FakePage) => page.link.get("selection") as string[];
const press = (root: HTMLElement, text: string) =>
  [...root.querySelectorAll("button")].find((button) => button.textContent === text)?.click();

withLayout();

describe("every table", () => {
  it.each(Object.entries(TABLES))("%s shows hostile names as text", async (_, widget) => {
    const { root } = await show(widget, { hostileName: EVIL });
    expect(root.querySelector("[role=alert]")).toBeNull();
    expect(root.querySelector("img, script, .tfp b b")).toBeNull();
    expect(root.textContent).toContain("<img src=x");
  });

  it.each(Object.entries(TABLES))("%s leaves no listener behind", async (_, widget) => {
    const { page, controller, root } = await show(widget);
    expect(page.link.listeners.length).toBeGreaterThan(0);
    controller.abort();
    expect(page.link.listeners).toEqual([]);
    expect(root.isConnected).toBe(false);
  });

  it.each(Object.entries(TABLES))("%s says why it is empty and what to do", async (_, widget) => {
    for (const options of [{ isEmpty: true }, { isBare: true }]) {
      const { root } = await show(widget, options);
      expect(root.querySelector("[role=alert]")).toBeNull();
      expect(root.querySelector(".empty h2")?.textContent).toMatch(/^No /);
      expect(root.querySelector("pre")?.textContent).not.toBe("");
    }
  });

  it("do not tell of a CPU where a device ran ops whose kernels are not in the trace", async () => {
    const { root } = await show(kernelTable, { isBare: true });
    expect(root.querySelector(".empty h2")?.textContent).toBe("No kernels in this trace");
  });

  it.each(Object.entries(TABLES))("%s says so when nothing of it is in the range", async (_, widget) => {
    const { root, page } = await show(widget);
    page.link.set("time_range", [9e12, 9.1e12]);
    await settle();
    expect(rows(root).length).toBeLessThan(2);
    expect(count(root)).toMatch(/^[01] of [01] /);
  });
});

describe("kernel table", () => {
  it("names the finding: eligible for Tensor Cores and not used", async () => {
    const { root } = await show(kernelTable);
    expect(cells(root, "name")).toEqual(["volta_sgemm_128x64_nn", "volta_h884gemm", "pooling_fw<float>"]);
    expect(cells(root, "tensor")).toEqual(["32-bit vector", "16-bit Tensor Core", "–"]);
    expect(root.querySelector(".tfp-tc-idle")?.getAttribute("title")).toContain("mixed_float16");
    expect(root.querySelector(".bar")?.textContent).toContain("On Tensor Cores: 44 % of the 3.60 ms that are eligible");
  });

  it("follows the linked range, in the table and in the bar", async () => {
    const { root, page } = await show(kernelTable);
    expect(cells(root, "count")).toEqual(["4", "4", "4"]);
    expect(shares(root).map((part) => part.title.split("\n")[1])).toEqual([
      "2.00 ms, 42 % of kernel time",
      "1.60 ms, 33 % of kernel time",
      "1.20 ms, 25 % of kernel time",
    ]);
    page.link.set("time_range", [20e6, 21.9e6]);
    await settle();
    expect(cells(root, "count")).toEqual(["1", "1"]);
    expect(shares(root)).toHaveLength(2);
  });

  it("shows kernels by op and by what they compute on; by type only where types are known", async () => {
    const { root, page } = await show(kernelTable);
    const group = async (text: string) => {
      press(root, text);
      await settle();
    };
    const choices = [...root.querySelectorAll(".seg button")].map((one) => one.textContent);
    expect(choices).toEqual(["by name", "by op", "by unit"]);
    await group("by op");
    expect(cells(root, "name")[1]).toBe("led by pool"); // others may have a share in what XLA compiled
    expect(cells(root, "op")).toEqual(["2 kernels", "1 kernel"]);
    expect(cells(root, "count")).toEqual(["8", "4"]);
    expect(cells(root, "tensor")[0]).toBe("several");
    expect(count(root)).toContain("2 of 2 ops");
    rows(root)[1].click();
    expect(chosen(page)).toEqual(["pool"]);
    expect(root.querySelector(".bar")?.textContent).toContain("On Tensor Cores: 44 %");
    await group("by unit");
    expect(cells(root, "name")).toContain("16-bit Tensor Core");
    await group("by name");
    expect(cells(root, "name")).toHaveLength(3);
  });

  it("names the op alone where no op shares a kernel with others", async () => {
    const op_shares = { n: 0, columns: { unit: new Int32Array(0), op: new Int32Array(0), ratio: new Float64Array(0) } };
    const { root } = await show(kernelTable, {}, { tables: { op_shares } });
    press(root, "by op");
    await settle();
    expect(cells(root, "name")[1]).toBe("of pool");
  });

  it("begins by type of op where there are many kernels, and draws no bar that is mostly the rest", async () => {
    const one = { op_name: "", op_type: "Mul", unit: "", family: 0, block_dim: "1", grid_dim: "1" };
    const kernels = Array.from({ length: 201 }, (_, i) => ({
      ...one,
      name: `kernel_${i}`,
      op_type: i % 2 ? "Add" : "Mul",
    }));
    const each = (value: number) => Float64Array.from(kernels, () => value);
    const kernel_totals = {
      n: kernels.length,
      columns: {
        kernel: Int32Array.from(kernels, (_, i) => i),
        ...{ occurrences: each(1), total_ps: each(1e6), min_ps: each(1e6), max_ps: each(1e6) },
      },
    };
    const { root } = await show(kernelTable, {}, { meta: { kernels }, tables: { kernel_totals } });
    expect(cells(root, "name")).toEqual(["led by Mul", "led by Add"]);
    expect(root.querySelector<HTMLElement>(".tfp-share")?.hidden).toBe(false);
    press(root, "by name");
    await settle();
    expect(root.querySelector<HTMLElement>(".tfp-share")?.hidden).toBe(true);
  });

  it("selects the op of a clicked row or share, and marks both when the op is selected elsewhere", async () => {
    const { root, page } = await show(kernelTable);
    rows(root)[2].click();
    expect(page.link.get("selection")).toEqual(["pool"]);
    expect(rows(root)[2].getAttribute("aria-selected")).toBe("true");
    expect(shares(root).map((part) => part.classList.contains("on"))).toEqual([false, false, true]);
    shares(root)[2].click();
    expect(page.link.get("selection")).toEqual([]);
  });
});

describe("table of HLO ops", () => {
  it("begins by category where there are many", async () => {
    const { meta } = tableScene() as unknown as { meta: TraceMeta };
    const [one] = meta.hlo_ops ?? [];
    const hlo_ops = Array.from({ length: 201 }, (_, i) => ({ ...one, ...meta.hlo_ops?.[i], name: `hlo.${i}` }));
    const { root } = await show(hloTable, {}, { meta: { hlo_ops }, tables: {} });
    expect(count(root)).toContain("categories");
    expect(root.querySelector('.seg [aria-pressed="true"]')?.textContent).toBe("by category");
  });
});

describe("columns", () => {
  const headsAt = async (width: number) => {
    class Observer {
      constructor(readonly callback: (entries: unknown[]) => void) {}
      observe(): void {
        this.callback([{ contentRect: { width, height: 300 } }]);
      }
      disconnect(): void {}
    }
    vi.stubGlobal("ResizeObserver", Observer);
    vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(width);
    const { root } = await show(kernelTable);
    vi.unstubAllGlobals();
    const heads = [...root.querySelectorAll<HTMLElement>(".tfp-head")];
    return heads.map((head) => head.dataset.column);
  };

  it("come with the room for them; the finding is always there", async () => {
    const narrow = await headsAt(900);
    expect(narrow).toEqual(["rank", "name", "op", "count", "total", "ratio", "tensor"]);
    const middle = await headsAt(1260);
    expect(middle).toEqual([...narrow, "average", "registers", "shared", "occupancy"]);
    const wide = await headsAt(1600);
    expect(new Set(wide)).toEqual(new Set([...middle, "min", "max", "block", "grid"]));
  });
});

describe("HLO table", () => {
  it("groups by category and program, with the share of each category above", async () => {
    const { root } = await show(hloTable);
    expect(count(root)).toMatch(/HLO ops/);
    expect(
      shares(root)
        .map((part) => part.dataset.key)
        .sort(),
    ).toEqual(["2", "3"]);
    press(root, "by category");
    await settle();
    expect(cells(root, "category").sort()).toEqual(["convolution", "loop fusion"]);
    press(root, "by program");
    await settle();
    const titles = rows(root).map((row) => row.querySelector<HTMLElement>('[data-column="name"] span')?.title);
    expect(titles.map((title) => title?.split("\n")[0]).sort()).toEqual(["train_step (7)", "train_step (8)"]);
  });

  it("names the op that the time counts for where the instruction names none", async () => {
    const { root, page } = await show(hloTable);
    const quiet = root.querySelector<HTMLElement>('[data-column="op"] .q');
    expect(quiet?.title).toContain("Its time counts for\n100 % ");
    quiet?.closest<HTMLElement>(".tfp-grid .row")?.click();
    expect(page.link.get("selection")).toHaveLength(1);
  });

  it("filters by category, and in a group keeps what matches", async () => {
    const { root } = await show(hloTable);
    press(root, "by program");
    const input = root.querySelector("input") as HTMLInputElement;
    input.value = "convolution";
    input.dispatchEvent(new Event("input"));
    await settle();
    const own = Number(cells(root, "count")[0]?.replaceAll(",", ""));
    input.value = "";
    input.dispatchEvent(new Event("input"));
    await settle();
    expect(Number(cells(root, "count")[0]?.replaceAll(",", ""))).toBeGreaterThan(own);
  });
});

describe("layer table", () => {
  it("shows every op once: layers, the optimizer and the rest add up to all", async () => {
    const { root } = await show(layerTable, { isCpu: true });
    const shown = cells(root, "ratio").map(Number);
    expect(shown.reduce((sum, ratio) => sum + ratio, 0)).toBeCloseTo(100, 0);
    expect(root.querySelector('[data-kind="optimizer"] .q')?.textContent).toBe("adam");
    expect(cells(root, "peak")).toContain("1.00 GiB");
    expect(cells(root, "params").filter(Boolean)).toEqual(["896"]);
  });

  it("starts on the device where there is one, and changes sides", async () => {
    const { root } = await show(layerTable);
    const device = cells(root, "time");
    press(root, "Host");
    await settle();
    expect(cells(root, "time")).not.toEqual(device);
  });

  it("gives times a step where the range is whole steps", async () => {
    const { root, page } = await show(layerTable);
    const title = () => root.querySelector('.tfp-head[data-column="time"]')?.textContent?.trim();
    expect(title()).toBe("Time, ms");
    const { start_ps: start, duration_ps: duration } = tableScene().tables.steps.columns;
    page.link.set("time_range", [Number(start[3]) / 1000, (Number(start[3]) + Number(duration[3])) / 1000]);
    await settle();
    expect(title()).toBe("Time, ms a step");
  });

  it("selects all ops of a layer", async () => {
    const { root, page } = await show(layerTable);
    rows(root)[0].click();
    expect(chosen(page).length).toBeGreaterThan(5);
    expect(rows(root)[0].getAttribute("aria-selected")).toBe("true");
  });
});

describe("rates in the op table", () => {
  it("are columns where the capture knows any, with nothing where it does not", async () => {
    const { root } = await show(opTable, { hasRates: true });
    const first = rows(root).findIndex((row) => cellOf(row, "gflops") !== "");
    expect(cellOf(rows(root)[first], "gflops")).toBe("12.5");
    expect(cellOf(rows(root)[first], "tensor")).toBe("50");
    expect(root.querySelector('[data-column="gibps"]')).toBeNull();
    expect(cells(root, "gflops")).toContain("");
    press(root, "by type");
    await settle();
    // No type has a rate: the column goes.
    expect(root.querySelector('[data-column="gflops"]')).toBeNull();
  });

  it("are left out where nothing is known", async () => {
    const { root } = await show(opTable);
    expect(root.querySelector('[data-column="gflops"]')).toBeNull();
  });
});

describe("distribution above the op table", () => {
  const bars = (root: HTMLElement) =>
    [...root.querySelectorAll<HTMLElement>(".tfp-share")]
      .filter((bar) => !bar.hidden)
      .map((bar) => bar.firstElementChild?.textContent);

  it("has up to four bars, of the sides that did anything", async () => {
    expect(bars((await show(opTable, { isCpu: true })).root)).toEqual(["Host by type", "Host by op"]);
    const { root } = await show(opTable);
    expect(bars(root)).toEqual(["Device by type", "Device by op", "Host by type", "Host by op"]);
    press(root, "Host");
    await settle();
    expect(bars(root)).toEqual(["Host by type", "Host by op"]);
  });

  it("gives its room to the table on demand", async () => {
    const { root } = await show(opTable);
    const strip = root.querySelector(".tfp-distribution") as HTMLElement;
    expect(strip.hidden).toBe(false);
    press(root, "Shares");
    expect(strip.hidden).toBe(true);
  });

  it("has idle time among the shares when the table has", async () => {
    const { root } = await show(opTable);
    expect(shares(root).some((part) => part.title.startsWith("no op running"))).toBe(false);
    press(root, "Idle");
    await settle();
    expect(shares(root).some((part) => part.title.startsWith("no op running"))).toBe(true);
  });

  it("selects the ops of a type, and again nothing", async () => {
    const { root, page } = await show(opTable);
    const part = shares(root).find((one) => one.dataset.key?.startsWith("type:0:")) as HTMLElement;
    part.click();
    expect(chosen(page).length).toBeGreaterThan(0);
    part.click();
    expect(page.link.get("selection")).toEqual([]);
  });
});
