// @vitest-environment jsdom

import { describe, expect, it, vi } from "vitest";
import type { Pack } from "../src/data/pack";
import { mount } from "../src/ui/view";
import { timeline } from "../src/views/timeline/timeline";
import { encodePack } from "./encoding";
import { fakePage } from "./fake_host";
import { BATCH, click, details, frame, RUN, show, usesFakePage } from "./shown_timeline";
import { tiled } from "./tiling";

describe("timeline", () => {
  usesFakePage();

  it("opens where Python finds a typical step", async () => {
    const { start_ps } = RUN.tables.steps.columns as Record<string, Float64Array>;
    const { root } = await show({ ...RUN, meta: { ...RUN.meta, home: [start_ps[8], start_ps[11]] } }, {}, false);
    expect(root.querySelector(".tl-window")?.textContent).toBe("365–429 of 1,050 ms");
  });

  it("folds and unfolds planes, and the less busy threads with their number", async () => {
    const { root } = await show();
    const nLines = () => root.querySelectorAll(".tl-line").length;
    const before = nLines();
    const fold = root.querySelector<HTMLButtonElement>(".tl-fold");
    expect(fold?.textContent).toContain("12 quieter threads");
    expect(fold?.title).toContain("in total");
    fold?.click();
    await frame();
    // All but the last three, which have no room below the device.
    expect(nLines()).toBe(before + 9);
    const host = () => root.querySelectorAll<HTMLButtonElement>(".tl-plane")[1];
    host().click();
    await frame();
    expect(nLines()).toBe(3);
    expect(host().getAttribute("aria-expanded")).toBe("false");
  });

  it("draws what is here, says how much that is, and keeps the selected slice when the tiles come", async () => {
    const { first, parts } = tiled(RUN, { nTiles: 4, sampleEvery: 3 });
    const { page, root, area } = await show(first);
    const about = () => root.querySelector(".tl-about")?.textContent;
    expect(about()).toContain("0 of 7,173 events, waiting for the kernel");
    await click(area, root.tfprofLocate(BATCH, 2));
    expect(details(root)).toContain("duration");
    const step = /step\d+/.exec(details(root))?.[0] ?? "no step";
    const answered = new Set<string>();
    await vi.waitFor(async () => {
      const keys = page.data.sent.flatMap((message) => (message as { keys?: string[] }).keys ?? []);
      for (const key of keys.filter((one) => !answered.has(one))) {
        answered.add(key);
        page.data.emit("msg:custom", { kind: "part", key }, [await encodePack(parts.get(key) as Pack)]);
      }
      await frame();
      expect(about()).toContain("· 7,173 events");
    });
    await vi.waitFor(() => expect(details(root)).toContain("Stats in the trace"));
    expect(details(root)).toContain(step);
    expect(page.link.state.selection).toHaveLength(1);
  });

  it("says in a page without stats how to keep them", async () => {
    const { first } = tiled(RUN, { nTiles: 4, sampleEvery: 3 });
    const { root, area } = await show(first, { is_offline: true });
    await click(area, root.tfprofLocate(BATCH, 2));
    await vi.waitFor(() => expect(details(root)).toMatch(/Stats in the trace *not known here.*embed="full"/), 3000);
  });

  it("shows an error in its own place", async () => {
    HTMLCanvasElement.prototype.getContext = (() => null) as never;
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const page = await fakePage(RUN);
    const el = document.body.appendChild(document.createElement("div"));
    await mount(timeline).render({ model: page.view, el, host: page.host, signal: new AbortController().signal });
    expect(el.querySelector("[role=alert]")?.textContent).toContain("no 2D canvas");
    error.mockRestore();
  });

  it("says of a trace without events what is missing and what to do", async () => {
    const full = RUN;
    const meta = { ...full.meta, n_events: 0, lines: [], planes: [], sessions: [], step_names: [], duration_ps: 0 };
    const { root } = await show({ meta, tables: {} });
    expect(root.querySelector("[role=alert]")).toBeNull();
    expect(details(root)).toContain("Nothing selected");
    expect(details(root)).not.toContain("Click a slice");
    const none = root.querySelector<HTMLElement>(".tl-none");
    expect(none?.hidden).toBe(false);
    expect(none?.textContent).toMatch(/This trace has no events.*Capture again.*%%tfprofile/);
  });

  it("lets go of everything when the view ends", async () => {
    const { page, root, controller } = await show();
    controller.abort();
    expect(root.isConnected).toBe(false);
    expect([page.link.listeners.length, page.data.listeners.length]).toEqual([0, 0]);
  });
});
