// @vitest-environment jsdom
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WidgetModule } from "../src/data/widget";
import { mountPlain } from "../src/ui/view";
import { peaks, shownEpochs } from "../src/views/live/chart";
import { Heard, live } from "../src/views/live/live";
import {
  clockText,
  type LiveHead,
  type Mark,
  newestFirst,
  numberOf,
  ordinalAt,
  type Run,
  readColumns,
  runOf as runOfTable,
  StepAxis,
  stepsText,
  stripsOf,
  timeOf,
  topOf,
} from "../src/views/live/training";
import { FakeModel } from "./fake_host";
import { EVIL, settle } from "./shown";

type Columns = Readonly<Record<string, readonly number[]>>;

function packed(columns: Columns): string {
  return Buffer.from(new Float32Array(Object.values(columns).flat()).buffer).toString("base64");
}

/** Bins of one step each, or of `n`. */
function bins(ms: readonly number[], n = 1): Columns {
  const of = (value: (i: number) => number) => ms.map((_, i) => value(i));
  let end = 0;
  const starts = ms.map((one) => {
    end += (one * n) / 1000;
    return end - (one * n) / 1000;
  });
  return {
    ...{ first_ordinal: of((i) => i * n), first_number: of((i) => i * n + 1), start_s: starts, n: of(() => n) },
    ...{ mean_ms: ms, min_ms: ms, max_ms: ms, p95_ms: ms, wait_ms: of(() => 0.5), outside_ms: of(() => 0.1) },
    ...{ loss: of((i) => 1 / (i + 1)), profiled: of(() => 0) },
  };
}

function runOf(columns: Columns): Run {
  return runOfTable(readColumns(packed(columns), Object.keys(columns)));
}

const HEAD: LiveHead = {
  ...{ title: "fit", state: "running", n_steps: 0, step_ms: null, batches: "", steps_per_s: null },
  ...{ wait_ratio: null, outside_ratio: null, loss: null, epoch: null, elapsed_s: null, quiet_s: null, now_ns: null },
  ...{ file: "", trigger_file: "", budget: "", marks: [], anomalies: [], windows: [], notices: [] },
  ...{ can_ask: false, is_recorded: true },
};

describe("bins", () => {
  it("are read as columns, of which those that are missing are not known", () => {
    const run = runOf({ n: [2, 2], mean_ms: [5, 6] });
    expect([run.nBins, run.nSteps]).toEqual([2, 4]);
    expect([...run.mean_ms]).toEqual([5, 6]);
    expect(run.loss.every(Number.isNaN)).toBe(true);
  });

  it("that do not fill their columns are refused", () => {
    expect(() => readColumns(packed({ n: [1, 2, 3] }), ["n", "mean_ms"])).toThrow("3 values do not fill 2 columns");
  });
});

describe("the axis of steps", () => {
  const run = runOf(bins(Array(50).fill(4), 20));

  it("tells where a step is and which step is there", () => {
    const axis = new StepAxis(run, 100, 900);
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1000, noNaN: true }), (ordinal) => {
        expect(axis.ordinal(axis.x(ordinal))).toBeCloseTo(ordinal, 6);
      }),
    );
    expect([axis.x(-5), axis.x(0), axis.x(1000), axis.x(2000)]).toEqual([100, 100, 1000, 1000]);
  });

  it("has round numbers, whatever number the first step has", () => {
    for (const first of [0, 1, 1_000_001]) {
      const late = runOf({
        ...bins(Array(50).fill(4), 20),
        first_number: run.first_ordinal.length ? [...run.first_ordinal].map((o) => o + first) : [],
      });
      const ticks = new StepAxis(late, 0, 900).numberTicks(90);
      expect(ticks.length).toBeGreaterThan(3);
      for (const { at, text } of ticks) {
        const number = Number(text.replaceAll(",", ""));
        expect(number % 100).toBe(0);
        expect(at).toBeCloseTo(number - first, 3);
      }
    }
  });

  it("numbers steps whose numbers are more than one apart, or begin again", () => {
    const sparse = runOf({ ...bins([4, 4, 4], 10), first_number: [0, 100, 200] });
    expect([0, 5, 10, 15].map((ordinal) => numberOf(sparse, ordinal))).toEqual([0, 50, 100, 150]);
    const again = runOf({ ...bins([4, 4, 4], 10), first_number: [0, 10, 0] });
    expect(new StepAxis(again, 0, 900).numberTicks(90).map(({ text }) => text)).toEqual([
      "0",
      "5",
      "10",
      "15",
      "0",
      "5",
    ]);
  });

  it("tells the time of steps, and the step of a time", () => {
    expect(timeOf(run, 250)).toBeCloseTo(1, 5);
    expect(ordinalAt(run, 1)).toBeCloseTo(250, 3);
    // Nothing ran for 10 s: a time in between is at the border.
    const paused = runOf({ ...bins([4, 4], 10), start_s: [0, 10] });
    expect([5, 9.99].map((s) => ordinalAt(paused, s))).toEqual([10, 10]);
  });

  it("has times that a clock has, and never one over another", () => {
    const paused = runOf({
      ...bins(Array(40).fill(10), 100),
      start_s: Array.from({ length: 40 }, (_, i) => i + (i > 20 ? 500 : 0)),
    });
    const axis = new StepAxis(paused, 0, 800);
    const ticks = axis.timeTicks(80);
    expect(ticks.length).toBeGreaterThan(1);
    for (const [i, { at }] of ticks.entries())
      if (i > 0) expect(axis.x(at) - axis.x(ticks[i - 1].at)).toBeGreaterThan(60);
    expect([7, 750, 11_100].map(clockText)).toEqual(["0:07", "12:30", "3:05:00"]);
  });
});

describe("the height of the chart", () => {
  const usual = Array.from({ length: 300 }, (_, i) => 4 + (i % 3) / 10);

  it("is that of usual steps, whatever single ones take", () => {
    const top = topOf(runOf(bins(usual)));
    const slow = usual.map((ms, i) => (i === 0 || i % 40 === 7 ? 900 : ms));
    expect(topOf(runOf(bins(slow)))).toBeLessThan(2 * top);
    expect(topOf(runOf(bins([2300, 4, 4, 4])))).toBeLessThan(10);
  });

  it("has room for a slow phase, also for one that has only begun", () => {
    for (const n of [3, 10, 150])
      expect(topOf(runOf(bins([...usual, ...Array(n).fill(40)])))).toBeGreaterThan(n > 3 ? 40 : 4);
  });

  it("is on a round value and over most of what is shown", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.001, max: 5000, noNaN: true }), { minLength: 1, maxLength: 60 }),
        (ms) => {
          const run = runOf(bins(ms));
          const top = topOf(run);
          expect(top).toBeGreaterThan(0);
          expect(peaks(run, top).length).toBeLessThanOrEqual(Math.max(1, ms.length / 2));
        },
      ),
    );
  });

  it("is one where nothing is known", () => {
    expect(topOf(runOf({ n: [] }))).toBe(1);
  });
});

describe("small charts", () => {
  const samples = (columns: Columns) => readColumns(packed(columns), Object.keys(columns));
  const run = runOf(bins(Array(30).fill(100)));

  it("are of what is known, at the steps that ran then", () => {
    const strips = stripsOf({
      head: HEAD,
      run,
      samples: samples({
        time_s: [0, 1, 2],
        cpu_pct: [10, 20, 30],
        rss_bytes: [1e9, 1e9, 1e9],
        gpu_pct: Array(3).fill(Number.NaN),
      }),
    });
    expect(strips.map(({ title }) => title)).toEqual(["Loss", "CPU", "Memory"]);
    expect(Array.from(strips[1].at, Math.round)).toEqual([0, 10, 20]);
    expect([strips[1].low, strips[1].high, strips[1].say(20)]).toEqual([0, 100, "20 %"]);
    expect(strips[2].high - strips[2].low).toBeCloseTo(0.02e9, -3);
  });

  it("leave out a clock that rests, and show one that drops", () => {
    const clock = (mhz: number[]) =>
      stripsOf({ head: HEAD, run, samples: samples({ time_s: [0, 1, 2], gpu_clock_mhz: mhz }) }).map(
        (strip) => strip.title,
      );
    expect(clock([1980, 1980, 1965])).toEqual(["Loss"]);
    expect(clock([1980, 1980, 1200])).toEqual(["Loss", "GPU clock"]);
  });
});

describe("words", () => {
  it("name steps", () => {
    expect([stepsText(2010, 2014), stepsText(12, 12), stepsText(2000, null, true), stepsText(null, 3)]).toEqual([
      ...["steps 2,010–2,014", "step 12", "since step 2,000", ""],
    ]);
  });

  it("put what goes on first, then what is new", () => {
    const of = (title: string, goes_on: boolean) => ({ title, goes_on }) as LiveHead["anomalies"][number];
    const order = newestFirst([of("a", true), of("b", false), of("c", true), of("d", false)]);
    expect(order.map(({ title }) => title).join("")).toBe("cadb");
  });

  it("say how long a training has not been heard, and only of one that runs", () => {
    let now = 0;
    const heard = new Heard(() => now);
    const running = { ...HEAD, now_ns: 1.7e18 };
    expect(heard.words(running)).toBe("");
    now = 6000;
    expect(heard.words(running)).toMatch(
      /^not heard in the 6 s since this was opened\. What is shown is of 2023-11-1\d /,
    );
    heard.note();
    now = 10_000;
    expect(heard.words(running)).toBe("");
    now = 18_000;
    expect(heard.words(running)).toBe("last heard 12 s ago");
    now = 306_000;
    expect(heard.words(running)).toBe("last heard 5 min ago");
    expect(heard.words({ ...running, state: "ended" })).toBe("");
  });
});

it("of many epochs so many have a line that they stay apart", () => {
  const marks = Array.from({ length: 400 }, (_, i): Mark => ({ kind: "epoch", at: 100 * i, to: null, words: `${i}` }));
  const shown = shownEpochs(marks, 800 / 40_000, 24);
  expect(shown.length).toBeGreaterThan(15);
  expect(shown[1].at * (800 / 40_000)).toBeGreaterThanOrEqual(23.9);
  expect(shownEpochs([], 1, 24)).toEqual([]);
});

/** As a kernel does that is heard beside the running cell. */
function answerHello(model: FakeModel): void {
  model.emit(
    "msg:custom",
    model.sent.findLast((message) => (message as { kind: string }).kind === "hello"),
  );
}

describe("the view", () => {
  const WINDOW = { index: 2, first_step: 5, last_step: 9, why: "slow steps", state: "ready", words: "" } as const;
  let drawn: string[];

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    // jsdom draws its frames by an interval, which does not run on its own here.
    vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw));
    drawn = [];
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    document.body.replaceChildren();
  });

  async function show(head: Partial<LiveHead>, columns: Columns = bins([4, 4, 4]), opened: string[] = []) {
    const state = (h: Partial<LiveHead>) => JSON.stringify({ ...HEAD, ...h });
    const model = new FakeModel({
      head: state(head),
      columns: JSON.stringify(Object.keys(columns)),
      bins: packed(columns),
      opened,
    });
    const host = {
      getModel: async () => model,
      getWidget: async (ref: string) => ({
        render: async ({ el }: { el: HTMLElement }) => {
          drawn.push(ref);
          el.append(ref);
        },
      }),
    };
    const controller = new AbortController();
    const el = document.body.appendChild(document.createElement("div"));
    const module: WidgetModule = mountPlain(live);
    await module.render({ model, el, host, signal: controller.signal });
    await settle();
    const root = el.firstElementChild as HTMLElement;
    const push = async (next: Partial<LiveHead>) => {
      model.set("head", state(next));
      await settle();
    };
    return { root, model, controller, push };
  }
  const button = (root: HTMLElement, name: string) =>
    [...root.querySelectorAll("button")].find((one) => one.textContent?.includes(name)) as HTMLButtonElement;

  it("says of a loop that told no step how it can", async () => {
    const { root, push } = await show({ n_steps: 0 }, {});
    await push({ state: "ended" });
    const text = root.querySelector(".empty")?.textContent;
    expect(text).toContain("No step of training was told");
    expect(text).toContain("tfprof.trace_steps(dataset)");
  });

  it("leaves it to the notice why the steps of another backend are not told", async () => {
    const { root, push } = await show({ n_steps: 0 }, {});
    await push({ is_recorded: false, notices: ["Keras ran on JAX."] });
    expect(root.querySelector(".empty")).toBeNull();
    expect(root.textContent).toContain("Keras ran on JAX.");
  });

  it("waits for the first step, then shows figures and whether there is an anomaly", async () => {
    const { root, model, push } = await show({ n_steps: 0 }, {});
    expect(root.querySelector(".empty")?.textContent).toContain("Waiting for the first step");
    const columns = bins([4, 4, 4]);
    model.set("columns", JSON.stringify(Object.keys(columns)));
    model.set("bins", packed(columns));
    await push({ n_steps: 3, step_ms: 4, wait_ratio: 0.125, epoch: 1, quiet_s: 8.2 });
    expect(root.querySelector(".empty")).toBeNull();
    const figures = [...root.querySelectorAll(".tfp-fig")].map((one) => one.textContent);
    expect(figures).toEqual([
      "0:08since the last step: between epochs, or a long one",
      ...["4.00 msa step, median of the last 20", "13 %waits for data", "1epoch", "3steps"],
    ]);
    expect(root.textContent).toContain("No anomaly so far.");
    expect(root.textContent).toContain("waits for data 500 µs, 13 %");
    await push({ n_steps: 3, step_ms: 4, batches: "5 batches in one call, 800 µs a batch" });
    const told = "4.00 msa step, median of the last 20; 5 batches in one call, 800 µs a batch";
    expect(root.querySelector(".tfp-fig")?.textContent).toBe(told);
  });

  it("keeps hostile words as text", async () => {
    const anomaly = {
      title: EVIL,
      evidence: EVIL,
      severity: "high",
      first_step: 1,
      last_step: null,
      window: 2,
      goes_on: true,
    } as const;
    const { root } = await show({
      ...{ title: EVIL, n_steps: 3, file: EVIL, trigger_file: EVIL, budget: EVIL, notices: [EVIL] },
      ...{
        anomalies: [anomaly],
        windows: [{ ...WINDOW, why: EVIL, words: EVIL }],
      },
      marks: [{ kind: "window", at: 1, to: 2, words: EVIL, index: 2 }],
    });
    expect(root.querySelectorAll("img, script")).toHaveLength(0);
    expect(root.textContent?.split(EVIL).length).toBeGreaterThan(8);
  });

  it("opens a window in place, keeps it while steps come in, and closes it again", async () => {
    const head = { n_steps: 3, windows: [WINDOW] };
    const { root, push } = await show(head, undefined, ["anywidget:w2"]);
    expect(drawn).toEqual([]);
    button(root, "Window 2").click();
    await settle();
    expect(drawn).toEqual(["anywidget:w2"]);
    const dashboard = root.querySelector(".opened > div:last-child");
    await push({ ...head, n_steps: 4 });
    expect(root.querySelector(".opened > div:last-child")).toBe(dashboard);
    expect(button(root, "Window 2").getAttribute("aria-expanded")).toBe("true");
    button(root, "Close").click();
    await settle();
    expect(root.querySelector<HTMLElement>(".opened")?.hidden).toBe(true);
    expect(drawn).toHaveLength(1);
  });

  it("opens the dashboard of the window, not that of another one", async () => {
    const windows = [WINDOW, { ...WINDOW, index: 3, state: "reading" as const }, { ...WINDOW, index: 4 }];
    const { root } = await show({ n_steps: 3, windows }, undefined, ["anywidget:w2", "anywidget:w4"]);
    expect(button(root, "Window 3").disabled).toBe(true);
    button(root, "Window 4").click();
    await settle();
    expect(drawn).toEqual(["anywidget:w4"]);
  });

  it("leaves what may be pressed alone while nothing about it changes", async () => {
    const anomaly = {
      title: "slow",
      evidence: "",
      severity: "high",
      first_step: 1,
      last_step: null,
      window: 2,
      goes_on: true,
    } as const;
    const head: Partial<LiveHead> = { n_steps: 3, windows: [WINDOW], anomalies: [anomaly], can_ask: true };
    const { root, model, push } = await show(head);
    answerHello(model);
    const before = ["Window 2", "Show window 2", "Profile the next"].map((name) => button(root, name));
    before[0].focus();
    await push({ ...head, n_steps: 9, step_ms: 5 });
    expect(["Window 2", "Show window 2", "Profile the next"].map((name) => button(root, name))).toEqual(before);
    await push({ ...head, n_steps: 10, windows: [WINDOW, { ...WINDOW, index: 3 }] });
    expect(document.activeElement?.textContent).toContain("Window 2");
    button(root, "Profile the next").click();
    expect(model.sent).toContainEqual({ kind: "capture", n: 10 });
  });

  it("has no button where nothing is heard before the cell ends, asks again, and minds its own answers only", async () => {
    const { root, model } = await show({ n_steps: 3, can_ask: true, trigger_file: "/tmp/x" });
    const asked = () => model.sent.filter((message) => (message as { kind: string }).kind === "hello").length;
    expect(asked()).toBe(1);
    vi.advanceTimersByTime(5_000);
    expect(asked()).toBe(3);
    model.emit("msg:custom", { kind: "hello", view: "another view" });
    expect(button(root, "Profile the next")).toBeUndefined();
    answerHello(model);
    expect(button(root, "Profile the next")).toBeDefined();
    vi.advanceTimersByTime(5_000);
    expect(asked()).toBe(3);
  });

  it("asks for a window only where that reaches the training, and only while it runs", async () => {
    const { root, push } = await show({ n_steps: 3, trigger_file: "/tmp/it's/capture" });
    expect(button(root, "Profile the next")).toBeUndefined();
    expect(root.querySelector("code")?.textContent).toBe("touch '/tmp/it'\\''s/capture'");
    await push({ n_steps: 3, file: "/tmp/f", can_ask: true });
    expect(root.textContent).toContain("kept in /tmp/f; a page that is reloaded shows this again");
    await push({ n_steps: 3, trigger_file: "/tmp/x", can_ask: true, state: "ended" });
    expect(root.querySelector("code")).toBeNull();
    expect(button(root, "Profile the next")).toBeUndefined();
  });

  it("shows four anomalies and unfolds the others", async () => {
    const of = (i: number) =>
      ({
        title: `slow ${i}`,
        evidence: "",
        severity: "low",
        first_step: i,
        last_step: i,
        window: null,
        goes_on: false,
      }) as const;
    const { root } = await show({ n_steps: 3, anomalies: Array.from({ length: 7 }, (_, i) => of(i)) });
    expect([...root.querySelectorAll(".odd > ul > li > b")].map((one) => one.textContent)).toEqual([
      "slow 6",
      "slow 5",
      "slow 4",
      "slow 3",
    ]);
    expect(root.querySelector("details summary")?.textContent).toBe("3 more");
  });

  it("says when it was last heard, until it is heard again", async () => {
    const { root, push } = await show({ n_steps: 3 });
    const state = () => root.querySelector(".state")?.textContent;
    expect(state()).toBe("● Running");
    await push({ n_steps: 4 });
    vi.advanceTimersByTime(12_000);
    expect(state()).toBe("▲ Not heard: last heard 12 s ago");
    await push({ n_steps: 5 });
    expect(state()).toBe("● Running");
  });

  it("ends with its signal", async () => {
    const { root, model, controller } = await show({ n_steps: 3 });
    expect(model.listeners.length).toBeGreaterThan(0);
    controller.abort();
    expect(model.listeners).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    expect(root.isConnected).toBe(false);
  });
});
