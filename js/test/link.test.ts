import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connectLink } from "../src/data/link";
import type { Host } from "../src/data/widget";
import { FakeModel } from "./fake_host";

function page() {
  const model = new FakeModel({ time_range: [], selection: [], hover: "", step: -1 });
  const host = { getModel: async () => model } as unknown as Host;
  return { model, host };
}

describe("link", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("reaches the other views at once and Python once after a pause", async () => {
    const { model, host } = page();
    const { signal } = new AbortController();
    const mine = await connectLink(host, "anywidget:a", signal);
    const other = await connectLink(host, "anywidget:a", signal);
    const seen: unknown[] = [];
    other.on("time_range", () => seen.push(other.timeRange), signal);
    for (let t = 1; t <= 20; t++) mine.setTimeRange([0, t]);
    expect(seen).toHaveLength(20);
    expect(model.nSaves).toBe(0);
    vi.advanceTimersByTime(200);
    expect(model.nSaves).toBe(1);
    expect(model.state.time_range).toEqual([0, 20]);
  });

  it("keeps whole nanoseconds and an empty list for no range", async () => {
    const { model, host } = page();
    const link = await connectLink(host, "anywidget:b", new AbortController().signal);
    link.setTimeRange([1.4, 2.6]);
    expect(model.state.time_range).toEqual([1, 3]);
    link.setTimeRange(null);
    expect(model.state.time_range).toEqual([]);
    expect(link.timeRange).toBeNull();
  });

  it("ignores the echo of its own value and does not notify twice", async () => {
    const { model, host } = page();
    const { signal } = new AbortController();
    const link = await connectLink(host, "anywidget:c", signal);
    let n = 0;
    link.on("selection", () => n++, signal);
    link.setSelection(["Conv2D"]);
    link.setSelection(["Conv2D"]);
    model.emit("change:selection");
    expect(n).toBe(1);
  });

  it("takes what Python sets", async () => {
    const { model, host } = page();
    const { signal } = new AbortController();
    const link = await connectLink(host, "anywidget:d", signal);
    let n = 0;
    link.on("step", () => n++, signal);
    model.set("step", 3);
    expect([link.step, n]).toEqual([3, 1]);
  });

  it("keeps hover in the page", async () => {
    const { model, host } = page();
    const { signal } = new AbortController();
    const mine = await connectLink(host, "anywidget:e", signal);
    const other = await connectLink(host, "anywidget:e", signal);
    const stranger = await connectLink(host, "anywidget:f", signal);
    mine.setHover("Relu");
    vi.advanceTimersByTime(1000);
    expect([other.hover, stranger.hover, model.state.hover, model.nSaves]).toEqual(["Relu", "", "", 0]);
  });

  it("saves what is pending and lets go of the model when the view ends", async () => {
    const { model, host } = page();
    const controller = new AbortController();
    const link = await connectLink(host, "anywidget:g", controller.signal);
    link.on("step", () => undefined, controller.signal);
    link.setStep(4);
    controller.abort();
    expect([model.nSaves, model.listeners.length]).toEqual([1, 0]);
  });
});
