// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { BATCH, click, frame, LABEL, pointer, press, RULER_Y, show, usesFakePage, WIDTH } from "./shown_timeline";

describe("pointer and keys on the timeline", () => {
  usesFakePage();

  it("turns a drag over the ruler into the linked time range in ns", async () => {
    const { page, area } = await show();
    pointer(area, "pointerdown", LABEL + 100, RULER_Y);
    pointer(area, "pointermove", LABEL + 200, RULER_Y);
    pointer(area, "pointermove", LABEL + 300, RULER_Y);
    pointer(area, "pointerup", LABEL + 300, RULER_Y);
    const [t0, t1] = page.link.state.time_range as number[];
    const duration = 1.05e9;
    expect(t0 / ((100 / (WIDTH - LABEL)) * duration)).toBeCloseTo(1, 1);
    expect(t1 / t0).toBeCloseTo(3, 1);
    expect([t0, t1].every(Number.isInteger)).toBe(true);
  });

  it("moves the nearer edge when a drag starts at an edge of the range", async () => {
    const { page, area } = await show();
    page.link.set("time_range", [200_000_000, 400_000_000]);
    await frame();
    const x = LABEL + (400_000_000 / 1.0498e9) * (WIDTH - LABEL);
    pointer(area, "pointerdown", x + 1, RULER_Y);
    pointer(area, "pointermove", x + 100, RULER_Y);
    pointer(area, "pointerup", x + 100, RULER_Y);
    const [t0, t1] = page.link.state.time_range as number[];
    expect(t0).toBe(200_000_000);
    expect(t1).toBeGreaterThan(500_000_000);
  });

  it.each(["pointermove", "wheel"])("shows in its own place what failed at a %s", async (type) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { root, area } = await show();
    const get = () => {
      throw new Error("broken");
    };
    area.dispatchEvent(Object.defineProperty(new WheelEvent(type), "clientX", { get }));
    expect(root.querySelector("[role=alert]")?.textContent).toContain("The timeline view failed: broken");
  });

  it("clears one thing per Esc, then leaves", async () => {
    const { page, root, section, area } = await show();
    await click(area, root.tfprofLocate(BATCH, 3));
    page.link.set("time_range", [0, 1000]);
    await press(section, "?");
    expect(root.querySelector<HTMLElement>(".tl-help")?.hidden).toBe(false);
    await press(section, "Escape");
    expect(root.querySelector<HTMLElement>(".tl-help")?.hidden).toBe(true);
    await press(section, "Escape");
    expect(page.link.state.selection).toEqual([]);
    await press(section, "Escape");
    expect(page.link.state.time_range).toEqual([]);
    expect(document.activeElement).toBe(section);
    await press(section, "Escape");
    expect(document.activeElement).not.toBe(section);
  });

  it("leaves keys alone that are not its own, and those with modifiers", async () => {
    const { section } = await show();
    expect((await press(section, "x")).defaultPrevented).toBe(false);
    expect((await press(section, "a", { ctrlKey: true })).defaultPrevented).toBe(false);
    expect((await press(section, "a")).defaultPrevented).toBe(true);
  });

  it("zooms by the wheel with Ctrl, scrolls its tracks after a click, and leaves the page's wheel alone before one", async () => {
    const { root, section, area } = await show();
    const scroller = root.querySelector<HTMLElement>(".tl-scroll") as HTMLElement;
    const wheel = (more: WheelEventInit, target: HTMLElement = area) => {
      const event = new WheelEvent("wheel", {
        deltaY: 100,
        clientX: 500,
        clientY: 200,
        bubbles: true,
        cancelable: true,
        ...more,
      });
      target.dispatchEvent(event);
      return event.defaultPrevented;
    };
    const about = () => root.querySelector(".tl-about")?.textContent;
    const whole = about();
    expect(wheel({})).toBe(false);
    expect(wheel({}, scroller)).toBe(false);
    expect(wheel({ ctrlKey: true, deltaY: -100 })).toBe(true);
    await frame();
    const zoomed = about();
    expect(zoomed).not.toBe(whole);
    section.focus();
    // Above the tracks there is nothing that the browser would scroll; over them it does so by itself.
    expect(wheel({})).toBe(true);
    expect(scroller.scrollTop).toBe(100);
    expect(wheel({}, scroller)).toBe(false);
    await frame();
    expect(about()).toBe(zoomed);
  });

  it("is as tall as its edge was dragged, in the next view as well, until a double click", async () => {
    const { section } = await show();
    const grip = section.querySelector<HTMLElement>(".tl-grip") as HTMLElement;
    grip.setPointerCapture = () => undefined;
    const height = (of = section) => of.style.getPropertyValue("--h-tracks");
    const usual = height();
    for (const [type, y] of [
      ["pointerdown", 400],
      ["pointermove", 520],
      ["pointerup", 520],
      ["pointermove", 600],
    ] as const)
      pointer(grip, type, 50, y);
    expect(height()).toBe(`${Number.parseInt(usual, 10) + 120}px`);
    expect(height((await show()).section)).toBe(height());
    await press(grip, "ArrowUp");
    expect(height()).toBe(`${Number.parseInt(usual, 10) + 80}px`);
    expect(grip.getAttribute("aria-valuenow")).toBe(String(Number.parseInt(usual, 10) + 80));
    grip.dispatchEvent(new MouseEvent("dblclick"));
    expect(height()).toBe(usual);
    expect(height((await show()).section)).toBe(usual);
  });

  it("follows with the tooltip when keys move the picture under the pointer", async () => {
    const { root, section, area } = await show();
    const place = root.tfprofLocate(BATCH, 14);
    pointer(area, "pointermove", place?.x ?? 0, place?.y ?? 0);
    const tip = root.querySelector<HTMLElement>(".tfp-tip") as HTMLElement;
    expect(tip.textContent).toContain("step 14");
    for (let i = 0; i < 3; i++) await press(section, "w");
    for (let i = 0; i < 3; i++) await press(section, "d");
    expect(tip.hidden || !tip.textContent?.includes("step 14")).toBe(true);
    pointer(area, "pointerleave", 0, 0);
    expect(tip.hidden).toBe(true);
  });

  it("selects steps on the step row", async () => {
    const { page, area } = await show();
    await click(area, { x: WIDTH - 3, y: 58 });
    expect(page.link.state.step).toBe(39);
    expect(page.link.state.time_range).toHaveLength(2);
    await click(area, { x: WIDTH - 3, y: 58 });
    expect([page.link.state.step, page.link.state.time_range]).toEqual([-1, []]);
  });
});
