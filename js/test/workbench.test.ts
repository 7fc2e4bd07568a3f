/** @vitest-environment jsdom */
import { afterEach, describe, expect, it } from "vitest";
import type { Frame } from "../src/draw/frame";
import { drawStepLines } from "../src/draw/head";
import { drawCounter } from "../src/draw/tracks";
import { newCounter } from "../src/model/counters";
import { button, h } from "../src/ui/dom";
import { Popover } from "../src/views/timeline/toolbar";

const stop = new AbortController();
afterEach(() => document.body.replaceChildren());

/** A context that records the calls of paths and rectangles. */
function recorder() {
  const calls: { name: string; args: number[] }[] = [];
  const ctx = new Proxy({} as Record<string, unknown>, {
    get: (state, name: string) => state[name] ?? ((...args: number[]) => void calls.push({ name, args })),
    set: (state, name: string, value) => {
      state[name] = value;
      return true;
    },
  });
  return { ctx, calls };
}

const palette = { memoryHeap: "heap", rule2: "rule" };
const frameOf = (ctx: unknown, change: object) =>
  ({ ctx, palette, width: 100, labelWidth: 20, view: { t0: 0, t1: 1000 }, ...change }) as unknown as Frame;

describe("counter tracks", () => {
  const meta = { name: "n", unit: "elements", kind: "input", min: 0, max: 10, before: null } as const;

  it("reach from 0 to the largest value that a pixel has, and begin where something is known", () => {
    const { ctx, calls } = recorder();
    // Within one pixel column, from 500 on, the counter goes up to its peak and down again.
    const counter = newCounter(meta, Float64Array.of(500, 503, 506), Float64Array.of(2, 10, 4));
    drawCounter(frameOf(ctx, {}), counter, 0, 36);
    const points = calls.filter(({ name }) => name === "lineTo").map(({ args }) => args);
    const [bottom, room] = [33, 30];
    expect(points.filter(([x]) => x < 50).every(([, y]) => y === bottom)).toBe(true);
    expect(points.some(([x, y]) => x === 50 && y === bottom - room)).toBe(true);
    expect(points.filter(([x]) => x > 51 && x < 100).every(([, y]) => y === bottom - 0.4 * room)).toBe(true);
  });

  it("show a level that is tiny beside the peak", () => {
    const { ctx, calls } = recorder();
    drawCounter(frameOf(ctx, {}), newCounter(meta, Float64Array.of(0), Float64Array.of(0.001)), 0, 36);
    expect(calls.some(({ name, args }) => name === "lineTo" && args[1] === 32)).toBe(true);
  });
});

describe("borders of steps", () => {
  const steps = (n: number) => ({
    n,
    start: Float64Array.from({ length: n }, (_, k) => (k * 1000) / n),
    end: Float64Array.from({ length: n }, (_, k) => ((k + 1) * 1000) / n),
  });
  const nLines = (n: number) => {
    const { ctx, calls } = recorder();
    drawStepLines(frameOf(ctx, { steps: steps(n) }), 10, 90);
    return calls.length;
  };

  it("are hairlines over all tracks, and none where they would be a hatching", () => {
    expect(nLines(4)).toBe(4);
    expect(nLines(50)).toBe(0);
  });
});

describe("panels", () => {
  const open = () => {
    const home = h("section", { tabindex: 0 });
    const popover = new Popover(home, stop.signal);
    const opener = button("Filter", () => {}, stop.signal);
    home.append(opener);
    document.body.append(home);
    popover.toggle(
      "a",
      opener,
      "Tracks",
      "dialog",
      h("p", {}, "text"),
      button("First", () => {}, stop.signal),
    );
    return { home, popover, opener };
  };
  const key = (name: string) => new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true });

  it("take the focus, say that they are open, and give the focus back with Escape", () => {
    const { popover, opener } = open();
    expect(document.activeElement?.textContent).toBe("First");
    expect(opener.getAttribute("aria-expanded")).toBe("true");
    document.activeElement?.dispatchEvent(key("Escape"));
    expect([popover.isOpen, document.activeElement, opener.getAttribute("aria-expanded")]).toEqual([
      false,
      opener,
      "false",
    ]);
  });

  it("close with a press elsewhere, and with their own button", () => {
    const first = open();
    document.body.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
    expect(first.popover.isOpen).toBe(false);
    const second = open();
    second.popover.toggle("a", second.opener, "Tracks", "dialog");
    expect(second.popover.isOpen).toBe(false);
  });

  it("keep keys from the timeline under them", () => {
    const { home } = open();
    let nSeen = 0;
    home.addEventListener("keydown", () => {
      nSeen += 1;
    });
    for (const name of ["w", "Escape", "h"]) document.activeElement?.dispatchEvent(key(name));
    // The last one came when the panel was closed: it is the timeline's.
    expect(nSeen).toBe(1);
  });

  it("keep the focus when what is inside changes", () => {
    const { popover } = open();
    const row = (n: number) => button("Delete", () => {}, stop.signal, { "data-key": `delete${n}` });
    popover.fill(row(0), row(1));
    popover.element.querySelector<HTMLElement>('[data-key="delete1"]')?.focus();
    popover.fill(row(0), row(1));
    expect((document.activeElement as HTMLElement).dataset.key).toBe("delete1");
    popover.fill(row(0));
    expect((document.activeElement as HTMLElement).dataset.key).toBe("delete0");
  });
});
