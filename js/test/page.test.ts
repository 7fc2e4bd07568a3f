// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { paced, textFits } from "../src/ui/dom";

describe("paced", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("runs at once, then seldom, and never loses the last call", () => {
    const seen: number[] = [];
    let value = 0;
    const update = paced(() => seen.push(value), new AbortController().signal);
    for (value = 1; value <= 10; value++) {
      update();
      vi.advanceTimersByTime(16);
    }
    value = 99;
    update();
    vi.advanceTimersByTime(200);
    expect(seen[0]).toBe(1);
    expect(seen.length).toBeLessThan(6);
    expect(seen.at(-1)).toBe(99);
    const n = seen.length;
    vi.advanceTimersByTime(200);
    expect(seen.length).toBe(n);
  });

  it("waits for a drag to rest where it is slow, and does the last of it", () => {
    const seen: number[] = [];
    let value = 0;
    const slow = () => {
      seen.push(value);
      vi.advanceTimersByTime(30);
    };
    const update = paced(slow, new AbortController().signal, () => true);
    for (const end of [20, 40]) {
      for (; value < end; value++) {
        update();
        vi.advanceTimersByTime(16);
      }
      expect(seen.at(-1)).not.toBe(value);
      vi.advanceTimersByTime(300);
      expect(seen.at(-1)).toBe(value);
    }
    expect(seen).toHaveLength(2);
  });

  it("stops with its view", () => {
    const controller = new AbortController();
    const run = vi.fn();
    paced(run, controller.signal)();
    controller.abort();
    vi.advanceTimersByTime(200);
    expect(run).not.toHaveBeenCalled();
  });
});

describe("textFits", () => {
  it("adds up what it has measured once for each character", () => {
    const measureText = vi.fn((text: string) => ({ width: text === "i" ? 3 : 8 }));
    const context = { font: "", measureText } as unknown as CanvasRenderingContext2D;
    vi.stubGlobal("CanvasRenderingContext2D", class {});
    vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(context as never);
    const fits = textFits(document.body, 20);
    expect([fits("iimii"), fits("iimm"), fits("mmm")]).toEqual([true, false, false]);
    expect(measureText).toHaveBeenCalledTimes(2);
    vi.unstubAllGlobals();
  });
});
