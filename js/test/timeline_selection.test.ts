// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import { trainingRun } from "./fixtures";
import { BATCH, click, compiledRun, details, frame, LABEL, press, RUN, show, usesFakePage } from "./shown_timeline";

describe("selection in the timeline", () => {
  usesFakePage();

  it("selects the clicked slice for all views and shows what is known about it", async () => {
    const { page, root, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 14));
    expect(page.link.state.selection).toEqual([BATCH]);
    const text = details(root);
    for (const part of [BATCH, "13.", "of step", "step14", "40 ×", "Inside it", "39 steps", "group_id14"]) {
      expect(text).toContain(part);
    }
    expect(root.querySelector(".sr[aria-live]")?.textContent).toMatch(
      /^Selected Iterator::Root::BatchV2, 1\d\.\d ms, step 14$/,
    );
  });

  it("clears the selection by a click beside all slices", async () => {
    const { page, root, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 3));
    await click(area, { x: LABEL + 4, y: 150 });
    expect(page.link.state.selection).toEqual([]);
    expect(details(root)).toContain("Nothing selected");
  });

  it("takes the range, step and selection of other views and pans to a range out of sight", async () => {
    const { page, root, section } = await show();
    for (let i = 0; i < 8; i++) await press(section, "w");
    page.link.set("time_range", [1_000_000_000, 1_020_000_000]);
    page.link.set("selection", ["DecodeJpeg"]);
    await frame();
    expect(root.querySelector(".tl-about")?.textContent).toMatch(/^(99|1,0)\d/);
    expect(details(root)).toContain("DecodeJpeg");
    expect(details(root)).toMatch(/in range\d+ ×/);
  });

  it("counts the longest events of a reduced profile, all on derived lines, and says that they are some of many", async () => {
    const meta = RUN.meta as unknown as TraceMeta;
    const lines = meta.lines.map((line) => ({ ...line, is_derived: true }));
    const { page, root } = await show({
      ...RUN,
      meta: { ...meta, lines, is_summed: true } as unknown as Pack["meta"],
    });
    page.link.set("selection", [BATCH]);
    await frame();
    expect(details(root)).toMatch(/in all40 × · .* · of the events here/);
  });

  it("scrolls to what another view selected when it is in the window but out of sight", async () => {
    const { page, root } = await show();
    expect(root.querySelector(".tl-line[title='tf_private_threadpool/9']")).toBeNull();
    page.link.set("selection", ["ThreadpoolListener::Record"]);
    await frame();
    expect(root.querySelector(".tl-line[title^='tf_private_threadpool/']")).not.toBeNull();
  });

  it("steps through the slices of one op with [ and ], and fits and marks the selected one", async () => {
    const { page, root, section, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 14));
    await press(section, "]");
    expect(details(root)).toContain("step15");
    await press(section, "[");
    await press(section, "[");
    expect(details(root)).toContain("step13");
    await press(section, "m");
    const [t0, t1] = page.link.state.time_range as number[];
    expect((t1 - t0) / 1e6).toBeCloseTo(13, 0);
    await press(section, "f");
    expect(root.querySelector(".tl-about")?.textContent).toMatch(/of 1,0\d\d\.\d/);
  });

  it("walks the nesting with Shift and the arrows", async () => {
    const { page, root, section, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 14));
    await press(section, "ArrowUp", { shiftKey: true });
    expect(page.link.state.selection).toEqual(["Iterator::Root"]);
    await press(section, "ArrowDown", { shiftKey: true });
    await press(section, "ArrowRight", { shiftKey: true });
    expect(details(root)).toContain("step15");
  });

  it("finds slices by text and by regular expression, and says where it stands", async () => {
    const { page, root } = await show();
    const input = root.querySelector<HTMLInputElement>(".tl-search") as HTMLInputElement;
    const count = () => root.querySelector(".tl-count")?.textContent;
    input.value = "conv2d/relu:";
    input.dispatchEvent(new Event("input"));
    await press(input, "Enter");
    expect(count()).toBe("1 of 80 slices");
    expect(page.link.state.selection).toEqual(["sequential/conv2d/Relu"]);
    await press(input, "Enter", { shiftKey: true });
    expect(count()).toBe("80 of 80 slices");
    root.querySelector<HTMLButtonElement>(".tl-regex")?.click();
    input.value = "(";
    input.dispatchEvent(new Event("input"));
    await press(input, "Enter");
    expect(count()).toBe("not a regular expression");
    expect(input.getAttribute("aria-invalid")).toBe("true");
  });

  it("counts what it found with a noun before it goes to any, and tells of how many names", async () => {
    const { root } = await show();
    const input = root.querySelector<HTMLInputElement>(".tl-search") as HTMLInputElement;
    input.value = "conv2d/relu:";
    input.dispatchEvent(new Event("input"));
    const count = root.querySelector<HTMLElement>(".tl-count");
    await vi.waitFor(() => expect(count?.textContent).toBe("80 slices"));
    expect(count?.title).toMatch(/^80 slices of \d names?$/);
  });

  it("calls a slice without length an instant, in the details and beside the pointer", async () => {
    const duration = Float64Array.from(RUN.tables.events.columns.duration_ps as Float64Array);
    const self = Float64Array.from(RUN.tables.events.columns.self_ps as Float64Array);
    const leaf = "DecodeJpeg";
    const id = (RUN.meta.names as string[]).indexOf(leaf);
    const op = RUN.tables.events.columns.op as Int32Array;
    const opName = RUN.meta.op_name as number[];
    for (let k = 0; k < op.length; k++) if (op[k] >= 0 && opName[op[k]] === id) duration[k] = self[k] = 0;
    const columns = { ...RUN.tables.events.columns, duration_ps: duration, self_ps: self };
    const { page, root } = await show({ ...RUN, tables: { ...RUN.tables, events: { ...RUN.tables.events, columns } } });
    page.link.set("selection", [leaf]);
    await vi.waitFor(() => expect(details(root)).toMatch(/[\d,]+ × · all instant/));
    expect(details(root)).not.toContain("0 ms");
    root.querySelector<HTMLButtonElement>(".det button.link")?.click();
    await frame();
    expect(details(root)).toContain("durationinstant");
    expect(details(root)).not.toMatch(/\b0 ms|of step|self0/);
    expect(root.querySelector(".sr[aria-live]")?.textContent).toMatch(/^Selected .*, instant/);
  });

  it("offers kinds of arrows only where the selected slice has some", async () => {
    const { root, area } = await show();
    const kinds = () => root.querySelectorAll(".det .tl-kinds button").length;
    expect(kinds()).toBe(0);
    expect(details(root)).not.toContain("Arrows");
    await click(area, root.tfprofLocate(BATCH, 3));
    expect(kinds()).toBe(0);
  });

  it("keeps names of the trace as text", async () => {
    const evilName = "<img src=x onerror=alert(1)></script>";
    const { root, area, section } = await show(trainingRun({ hasDevice: false, evilName }));
    root.tfprofReveal(evilName, 5);
    for (let i = 0; i < 12; i++) await press(section, "w");
    root.tfprofReveal(evilName, 5);
    await frame();
    await click(area, root.tfprofLocate(evilName));
    expect(root.querySelector(".det h2")?.textContent).toBe(evilName);
    expect(root.querySelector("img, script")).toBeNull();
  });

  it("gives a name that would fill the pane a box of its own", async () => {
    const evilName = `void Eigen::internal::EigenMetaKernel<${"Eigen::TensorEvaluator<".repeat(20)}>`;
    const { root, page } = await show(trainingRun({ hasDevice: false, evilName, nSteps: 4 }));
    page.link.set("selection", ["compile_loss/SparseSoftmaxCrossEntropyWithLogits"]);
    await frame();
    root.querySelector<HTMLButtonElement>(".det button.link")?.click();
    await frame();
    expect(root.querySelector(".det h2")?.textContent).toBe("EigenMetaKernel");
    expect(root.querySelector(".tl-full")?.textContent).toBe(evilName);
  });

  it("tells what a compiled slice stands for", async () => {
    const { root, area } = await show(compiledRun());
    await click(area, root.tfprofLocate(BATCH, 14));
    for (const part of ["Compiled from", "70 %", "30 %", "Mul"]) expect(details(root)).toContain(part);
  });

  it("marks the slices that a selected op was fused into, and says so", async () => {
    const { page, root } = await show(compiledRun());
    page.link.set("selection", ["adam/Mul"]);
    await frame();
    expect(details(root)).toContain("XLA compiled it together with other ops");
    expect(details(root)).toContain(BATCH);
  });
});
