// @vitest-environment jsdom
/** The table of copies: what they cost beyond kernels, which tensors they move, and what is selected with them. */

import { describe, expect, it } from "vitest";
import type { CopyMeta } from "../src/data/meta";
import type { TypedArray } from "../src/data/pack";
import { copyTable } from "../src/views/copy_table/copy_table";
import { EVIL, settle, showWidget, withLayout } from "./shown";
import { f8, i4, tableScene } from "./table_scene";

const COPY: CopyMeta = {
  ...{ direction: "host to device", source: "pageable", destination: "device", op: "IteratorGetNext" },
  ...{ read_by: "net/Cast", tensor: "edge_1", occurrences: 10, bytes: 10 * 2 ** 20, bytes_per_copy: 2 ** 20 },
  ...{ total_time_ms: 4, gb_per_s: 2.62, hidden_time_ms: 1, exposed_time_ms: 3, round_trips: 0 },
};
const BACK: CopyMeta = {
  ...{ ...COPY, direction: "device to host", source: "device", destination: "pinned", op: EVIL, read_by: "" },
  ...{ bytes: 0, bytes_per_copy: null, gb_per_s: null, exposed_time_ms: 1 },
};

async function show(copies: CopyMeta[], runs?: Record<string, TypedArray>) {
  const { meta, tables } = tableScene();
  const more = runs ? { copy_runs: { n: runs.copy.length, columns: runs } } : {};
  return showWidget(copyTable, { meta: { ...meta, copies }, tables: { ...tables, ...more } });
}

const cells = (root: HTMLElement, column: string) =>
  [...root.querySelectorAll(`.tfp-grid .row [data-column="${column}"]`)].map((cell) => cell.textContent);

withLayout();

describe("table of copies", () => {
  it("lists what no kernel hides first, and says that it is of the whole capture where only sums are known", async () => {
    const { root } = await show([COPY, BACK]);
    expect(cells(root, "direction")).toEqual(["host to device", "device to host"]);
    expect(cells(root, "memory")[0]).toBe("pageable → device");
    expect(cells(root, "exposed")).toEqual(["3.00", "1.00"]);
    const words = root.querySelector(".bar [role=status]")?.textContent;
    expect(words).toBe("2 of 2 copies · 100 % of the time that no kernel hides · whole capture · 40 steps · 1.05 s");
  });

  it("follows the time range: of what it cuts the part inside counts", async () => {
    const runs = {
      copy: i4(0, 0, 1),
      ...{ start_ps: f8(0, 2e9, 20e9), duration_ps: f8(2e9, 2e9, 4e9), exposed_ps: f8(2e9, 1e9, 4e9) },
      ...{ bytes: f8(1000, 1000, 0), is_back: new Uint8Array([1, 0, 0]), is_steady: new Uint8Array([0, 1, 0]) },
    };
    const { root, page } = await show([{ ...COPY, round_trips: 1 }, BACK], runs);
    expect(cells(root, "exposed")).toEqual(["4.00", "3.00"]);
    expect(cells(root, "back")).toEqual(["", "1"]);
    page.link.set("time_range", [0, 3e6]);
    await settle();
    expect(cells(root, "exposed")).toEqual(["2.50"]);
    expect(cells(root, "total")).toEqual(["3.00"]);
    expect(cells(root, "count")).toEqual(["2"]);
    page.link.set("time_range", [30e6, 31e6]);
    await expect.poll(() => root.textContent).toContain("No copies in this time range");
  });

  it("leaves out what the trace does not tell, and shows hostile names as text", async () => {
    const { root } = await show([BACK]);
    expect(cells(root, "rate")).toEqual([""]);
    expect(cells(root, "bytes")).toEqual([""]);
    expect(root.querySelector("[data-column=back]")).toBeNull();
    expect(root.querySelector("img, script")).toBeNull();
    expect(root.textContent).toContain("<img src=x");
  });

  it("selects the ops on both ends and marks the copies of a selected op", async () => {
    const { root, page } = await show([COPY, BACK]);
    root.querySelector<HTMLElement>(".tfp-grid .row")?.click();
    expect(page.link.get("selection")).toEqual(["IteratorGetNext", "net/Cast"]);
    page.link.set("selection", [EVIL]);
    await settle();
    const marked = [...root.querySelectorAll(".tfp-grid .row")].map((row) => row.getAttribute("aria-selected"));
    expect(marked).toEqual(["false", "true"]);
  });

  it("says why there are none", async () => {
    const { root } = await show([]);
    expect(root.querySelector(".empty h2")?.textContent).toBe("No copies in this capture");
  });
});
