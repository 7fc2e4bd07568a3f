// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { Pack } from "../src/data/pack";
import type { TraceBuilder } from "../src/ui/view";
import { CodeList, sourceView } from "../src/views/source_view/source_view";
import { workerChart } from "../src/views/worker_chart/worker_chart";
import type { FakePage } from "./fake_host";
import { sceneHosts, scenePlaces } from "./places_scene";
import { makeScene } from "./scene";
import { EVIL, settle, showWidget, withLayout } from "./shown";

const CONV = "sequential/conv2d/convolution";

const texts = (root: HTMLElement, selector: string) =>
  [...root.querySelectorAll(selector)].map((element) => element.textContent ?? "");
const selection = (page: FakePage) => page.link.get("selection") as string[];

/** Steps 12 to 18 become the time range. */
async function chooseSteps(page: FakePage) {
  const { start_ps: start, duration_ps: duration } = makeScene().tables.steps.columns;
  const end = Number(start[18]) + Number(duration[18]);
  page.link.set("time_range", [Math.ceil(Number(start[12]) / 1000), Math.floor(end / 1000)]);
  await settle();
}

withLayout();

describe("every view of places", () => {
  const views: Record<string, [TraceBuilder, Pack]> = {
    sourceView: [sourceView, scenePlaces({ hostileName: EVIL, hostileCode: EVIL })],
    workerChart: [workerChart, sceneHosts([EVIL, "b"], 3)],
  };

  it.each(Object.entries(views))("%s shows hostile names and code as text", async (_, [widget, pack]) => {
    const { root } = await showWidget(widget, pack);
    expect(root.querySelector("[role=alert]")).toBeNull();
    expect(root.querySelector("img, script, b b")).toBeNull();
    expect(root.textContent).toContain("<img src=x");
  });

  it.each(Object.entries(views))("%s leaves no listener behind", async (_, [widget, pack]) => {
    const { page, controller, root } = await showWidget(widget, pack);
    expect(page.link.listeners.length).toBeGreaterThan(0);
    controller.abort();
    expect(page.link.listeners).toEqual([]);
    expect(root.isConnected).toBe(false);
  });

  it.each(Object.entries(views))("%s says why an empty capture is empty", async (_, [widget]) => {
    const { root } = await showWidget(widget, makeScene({ isEmpty: true }));
    expect(root.querySelector("[role=alert]")).toBeNull();
    expect(root.querySelector("pre")?.textContent).not.toBe("");
  });
});

describe("source view", () => {
  const line = (root: HTMLElement, number: number) => root.querySelector<HTMLElement>(`.ln[data-line="${number}"]`);
  const shares = (root: HTMLElement) =>
    [...root.querySelectorAll(".ln.hot")].map((row) => Number(row.querySelectorAll(".tfp-gut .v")[1].textContent));

  it("shows the code, the time of each line and what has no line, and shares add up to 100 %", async () => {
    const { root } = await showWidget(sourceView, scenePlaces());
    expect(texts(root, ".tfp-code .tx")[5]).toBe('    keras.layers.Conv2D(64, 3, activation="relu"),');
    expect(texts(root, ".tfp-code .ln.hot .no")).toEqual(["1", "2", "5", "6", "7"]);
    expect(texts(root, ".tfp-else .tx").sort()).toEqual(["Keras library", "tf.data"]);
    expect(shares(root).reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
    expect(root.querySelector(".tfp-say")?.textContent).toMatch(
      /^\d+ % of op time is charged to 5 lines of your code · host times summed over threads · whole capture/,
    );
    expect(texts(root, "option")[0]).toMatch(/^Cell \[7\] · \d+ %$/);
  });

  it("draws backward time striped, in the colour of its category", async () => {
    const { root } = await showWidget(sourceView, scenePlaces());
    const pieces = [...(line(root, 5)?.querySelectorAll<HTMLElement>(".tfp-heat i") ?? [])];
    expect(pieces.map((piece) => [piece.className, piece.style.getPropertyValue("--c")])).toEqual([
      ["", "var(--c-host_compute)"],
      ["bw", "var(--c-host_compute)"],
      ["", "var(--c-device_compute)"],
      ["bw", "var(--c-device_compute)"],
    ]);
  });

  it("selects the ops of a clicked line, and drops them on the second click", async () => {
    const { root, page } = await showWidget(sourceView, scenePlaces());
    line(root, 5)?.click();
    expect(selection(page)).toContain(CONV);
    expect(selection(page).every((name) => /conv2d\b/.test(name))).toBe(true);
    expect(root.querySelector("aside h3")?.textContent).toMatch(/^Line 5: /);
    line(root, 5)?.click();
    expect(selection(page)).toEqual([]);
  });

  it("marks the line of an op selected elsewhere", async () => {
    const { root, page } = await showWidget(sourceView, scenePlaces());
    page.link.set("selection", ["gradient_tape/sequential/dense/MatMul/MatMul"]);
    const marked = [...root.querySelectorAll('.ln[aria-pressed="true"]')];
    expect(marked).toEqual([line(root, 7)]);
    expect(root.querySelector("aside h3")?.textContent).toMatch(/^Line 7: /);
  });

  it("follows the linked time range, a step where it is of whole steps", async () => {
    const { root, page } = await showWidget(sourceView, scenePlaces());
    const ms = () => Number(line(root, 6)?.querySelector(".tfp-gut .v")?.textContent);
    const whole = ms();
    await chooseSteps(page);
    expect(root.querySelector(".tfp-say")?.textContent).toContain("steps 12–18");
    expect((ms() * 40) / whole).toBeCloseTo(1, 1);
    expect(root.querySelector(".tfp-code-head")?.textContent).toContain("ms a step");
  });

  it("moves between lines with time by arrow keys", async () => {
    const { root, page } = await showWidget(sourceView, scenePlaces());
    const press = (key: string) =>
      document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    line(root, 2)?.focus();
    line(root, 2)?.click();
    press("ArrowDown");
    expect(document.activeElement).toBe(line(root, 5));
    press("Enter");
    expect(selection(page)).toContain(CONV);
  });

  it("says what a trace without sources lacks and what to do", async () => {
    const { root } = await showWidget(sourceView, scenePlaces({ isWithoutLines: true }));
    expect(root.textContent).toContain("No source lines in this profile");
    expect(root.querySelector("pre")?.textContent).toContain("%%tfprofile");
  });

  it("counts only the side that is asked for", async () => {
    const { root } = await showWidget(sourceView, scenePlaces());
    root.querySelectorAll<HTMLButtonElement>('[aria-label^="Where"] button')[2].click();
    expect(texts(root, ".tfp-code .ln.hot .no")).toEqual(["5", "6", "7"]);
  });
});

describe("list of code", () => {
  it("of a very long file shows what is around its hot lines, and says what it leaves out", () => {
    const signal = new AbortController().signal;
    const list = new CodeList({ onPick: () => undefined, onHover: () => undefined }, signal);
    const code = new Map(Array.from({ length: 10_000 }, (_, i) => [i + 1, `line ${i + 1}`]));
    list.setCode("long.py", code, [5000]);
    expect(list.element.querySelectorAll(".ln").length).toBe(81);
    expect(texts(list.element, ".gap")).toEqual(["lines 1 to 4959 left out", "lines 5041 to 10000 left out"]);
  });
});

describe("worker chart", () => {
  const HOSTS = ["host-0", "host-1", "host-2"];
  const rows = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>(".tfp-workers-place .row")];

  it("shows one bar a host and names the slowest and why", async () => {
    const { root } = await showWidget(workerChart, sceneHosts(HOSTS, 6));
    expect(rows(root).map((row) => row.querySelector('[data-column="host"]')?.textContent)).toEqual(HOSTS);
    expect(root.querySelector(".tfp-worker-say")?.textContent).toMatch(
      /^host-2 is the slowest: .* ms, 6.00 ms more than host-0; input takes 6.00 ms more\.$/,
    );
    expect(root.querySelector(".at")?.textContent).toBe("mean of 9 steps");
  });

  it("shows the step that is selected elsewhere, and selects the step of its slider", async () => {
    const { root, page } = await showWidget(workerChart, sceneHosts(HOSTS, 6));
    page.link.set("step", 4);
    await settle();
    expect(root.querySelector(".at")?.textContent).toBe("step 4");
    const slider = root.querySelector("input") as HTMLInputElement;
    expect(slider.value).toBe("4");
    slider.value = "7";
    slider.dispatchEvent(new Event("input"));
    expect(page.link.get("step")).toBe(7);
    expect(page.link.get("time_range")).toHaveLength(2);
    [...root.querySelectorAll("button")].find((one) => one.textContent === "Mean")?.click();
    expect(page.link.get("step")).toBe(-1);
    expect(page.link.get("time_range")).toEqual([]);
  });

  it("shows the mean of the steps in the linked range", async () => {
    const { root, page } = await showWidget(workerChart, sceneHosts(HOSTS, 6));
    const { start_ps: start } = makeScene({ nSteps: 10 }).tables.steps.columns;
    page.link.set("time_range", [Math.ceil(Number(start[2]) / 1000), Math.floor(Number(start[5]) / 1000)]);
    await settle();
    expect(root.querySelector(".at")?.textContent).toBe("mean of 3 steps in the range");
  });

  it("of one host shows its bar and says what would fill it", async () => {
    const { root } = await showWidget(workerChart, sceneHosts(["localhost"], 0));
    expect(rows(root).length).toBe(1);
    expect(root.textContent).toContain("One host in this capture");
    expect(root.querySelector("pre")?.textContent).toContain("tfprof.load");
  });
});
