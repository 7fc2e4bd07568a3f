// @vitest-environment jsdom
/** The table of copies: what they cost beyond kernels, which tensors they move, and what is selected with them. */

import { describe, expect, it } from "vitest";
import type { CopyMeta } from "../src/model/wire/copy_meta";
import { copyTable } from "../src/views/copy_table/copy_table";
import { EVIL, settle, showWidget, withLayout } from "./shown";
import { tableScene } from "./table_scene";

const COPY: CopyMeta = {
  ...{ direction: "host to device", source: "pageable", destination: "device", op: "IteratorGetNext" },
  ...{ read_by: "net/Cast", tensor: "edge_1", occurrences: 10, bytes: 10 * 2 ** 20, bytes_per_copy: 2 ** 20 },
  ...{ total_time_ms: 4, gb_per_s: 2.62, hidden_time_ms: 1, exposed_time_ms: 3, round_trips: 0 },
};
const BACK: CopyMeta = {
  ...{ ...COPY, direction: "device to host", source: "device", destination: "pinned", op: EVIL, read_by: "" },
  ...{ bytes: 0, bytes_per_copy: null, gb_per_s: null, exposed_time_ms: 1 },
};

async function show(copies: CopyMeta[]) {
  const { meta, tables } = tableScene();
  return showWidget(copyTable, { meta: { ...meta, copies }, tables });
}

const cells = (root: HTMLElement, column: string) =>
  [...root.querySelectorAll(`.tfp-grid .row [data-column="${column}"]`)].map((cell) => cell.textContent);

withLayout();

describe("table of copies", () => {
  it("lists what no kernel hides first, and says that it is of the whole capture", async () => {
    const { root } = await show([COPY, BACK]);
    expect(cells(root, "direction")).toEqual(["host to device", "device to host"]);
    expect(cells(root, "memory")[0]).toBe("pageable → device");
    expect(cells(root, "exposed")).toEqual(["3.00", "1.00"]);
    const words = root.querySelector(".bar [role=status]")?.textContent;
    expect(words).toBe("2 of 2 · whole capture · 100 % of 4.00 ms that no kernel hides");
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
