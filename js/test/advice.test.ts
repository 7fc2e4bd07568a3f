// @vitest-environment jsdom

import { afterEach, describe, expect, it } from "vitest";
import type { AdviceMeta, OverviewMeta, TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import { gainWords, isShown, largestPart } from "../src/model/overview";
import { BRING_VIEW } from "../src/ui/controls";
import { mount } from "../src/ui/view";
import { overviewPanel } from "../src/views/overview_panel/overview_panel";
import { encodePack } from "./encoding";
import { fakePage } from "./fake_host";
import { makeScene } from "./scene";
import { settle } from "./shown";

const EVIL = "<img src=x onerror=alert(1)><b>bold</b></script>";

function adviceOf(rule: string, given: Partial<AdviceMeta> = {}): AdviceMeta {
  return {
    rule,
    severity: "high",
    title: `${rule} costs time.`,
    evidence: [["input_ms", 13.1]],
    fix: { words: `Do ${rule}.`, code: `# remark\nimport x\n${rule}()\nmore()` },
    gain_ratio: 0.33,
    op_names: [`model/${rule}`],
    time_range_ns: [1000, 2000],
    step: 3,
    stretches_ns: [1000, 1200, 1500, 2000],
    n_stretches: 2,
    view: "input_graph",
    host: "",
    ...given,
  };
}

async function show(
  advice: AdviceMeta[],
  given: Partial<TraceMeta> = {},
  chosen: Record<string, unknown> = {},
  options: Record<string, unknown> = {},
) {
  const scene = makeScene();
  const meta = scene.meta as unknown as TraceMeta;
  const pack = { ...scene, meta: { ...meta, advice, ...given } as unknown as Pack["meta"] };
  const page = await fakePage(pack);
  for (const [field, value] of Object.entries(chosen)) page.link.set(field, value);
  page.view.set("options", JSON.stringify(options));
  const el = document.body.appendChild(document.createElement("div"));
  const brought: unknown[] = [];
  el.addEventListener(BRING_VIEW, (event) => brought.push((event as CustomEvent).detail));
  await mount(overviewPanel).render({ model: page.view, el, host: page.host, signal: new AbortController().signal });
  await settle();
  const root = el.firstElementChild as HTMLElement;
  const cards = () => [...root.querySelectorAll<HTMLElement>(".tfp-card")];
  const title = (i: number) => cards()[i].querySelector(".title") as HTMLButtonElement;
  const evidence = (i: number) => cards()[i].querySelector(".acts button") as HTMLButtonElement;
  const press = (text: string, within: HTMLElement = root) =>
    [...within.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent?.startsWith(text))?.click();
  const pressed = () => cards().map((_, i) => evidence(i).getAttribute("aria-pressed"));
  return { root, page, cards, title, evidence, press, pressed, brought };
}

afterEach(() => document.body.replaceChildren());

describe("words of an advice", () => {
  it("say what it saves at most or about, and nothing of the kind where it is not about time", () => {
    const step_time = { avg: 100, std: 0, min: 90, max: 190, median: 92, n: 10, n_averaged: 9 };
    const gain = (given: Partial<AdviceMeta>, overview: OverviewMeta = { step_time }) =>
      gainWords(adviceOf("a", { gain_ratio: 0.5, ...given }), overview);
    const words = (...given: Parameters<typeof gain>) => {
      const { saves, share, of } = gain(...given);
      return `${saves} ${share} ${of}`.trim();
    };
    const estimate: Partial<AdviceMeta> = { evidence: [["estimate", "half of it"]] };
    expect(words({})).toBe("saves up to 50 % 100 → 50.0 ms on average");
    expect(words({}, { step_time: { ...step_time, n_averaged: 1 } })).toBe("saves up to 50 % 100 → 50.0 ms a step");
    expect(words({}, {})).toBe("saves up to 50 %");
    expect(words(estimate)).toBe("saves about 50 % 100 → 50.0 ms on average");
    expect(words({ share_of: "sample" })).toBe("saves up to 50 % of a sample's time");
    expect(words({ share_of: "time captured" })).toBe("saves up to 50 % of all captured");
    expect(words({ gain_ratio: 0 })).toBe("no speed-up");
    expect(words({ gain_ratio: 0, fix: { words: "", code: "" } })).toBe("gain not known");
    expect(gain({}).left).toMatchObject({ ms: 50, bound: "≥", times: "up to 2.0 times faster" });
    expect(gain(estimate).left).toMatchObject({ bound: "≈", times: "about 2.0 times faster" });
    expect([gain({ gain_ratio: 1 }), gain({ share_of: "sample" })].map(({ left }) => left)).toEqual([null, null]);
  });

  it("name the largest part of a step of a run without advice", () => {
    const breakdown = [
      { category: "input", ms: 1, ratio: 0.1 },
      { category: "host_compute", ms: 9, ratio: 0.9 },
    ];
    const step_time = { avg: 10, std: 0, min: 10, max: 10, median: 10, n: 4, n_averaged: 4 };
    expect(largestPart({ breakdown, step_time })).toBe("The largest part of a step is host compute: 9.00 ms, 90 %.");
    expect(largestPart({ breakdown, step_time: { ...step_time, n: 0 } })).toBe("");
  });

  it("know whether the views show it, and nothing else", () => {
    const advice = adviceOf("a");
    const selected = { timeRange: [1000, 2000] as const, selection: ["model/a"], step: 3 };
    expect(isShown(advice, selected)).toBe(true);
    expect(isShown(advice, { ...selected, step: -1 })).toBe(false);
    expect(isShown(advice, { ...selected, timeRange: null })).toBe(false);
    expect(isShown(advice, { ...selected, selection: ["model/a", "model/b"] })).toBe(false);
    const empty = adviceOf("b", { op_names: [], time_range_ns: [], step: -1 });
    expect(isShown(empty, { timeRange: null, selection: [], step: -1 })).toBe(false);
  });
});

describe("the header of the overview panel", () => {
  it("says beside the time of a step how many batches it is", async () => {
    const overview = (makeScene().meta as unknown as TraceMeta).overview;
    const { root } = await show([], { overview: { ...overview, batches: "5 batches in one call, 4.26 ms a batch" } });
    const figure = root.querySelector(".tfp-figs .tfp-fig");
    expect(figure?.textContent).toContain("5 batches in one call, 4.26 ms a batch");
  });
});

describe("cards of the overview panel", () => {
  it("are three with a number, side by side, and all others when asked for", async () => {
    const rules = ["a", "b", "c", "d", "e"].map((rule, i) => adviceOf(rule, { gain_ratio: 0.8 / 2 ** i }));
    const { root, cards } = await show(rules);
    const [wide, others] = root.querySelectorAll<HTMLElement>(".tfp-advice ul");
    const rest = others.parentElement as HTMLDetailsElement;
    expect([wide.children.length, others.children.length, rest.open]).toEqual([3, 2, false]);
    expect(rest.querySelector("summary")?.textContent).toBe("2 more");
    expect(wide.style.getPropertyValue("--cards")).toBe("minmax(0, 1.00fr) minmax(0, 0.70fr) minmax(0, 0.70fr)");
    expect(cards().map((card) => card.querySelector("h3 i")?.textContent)).toEqual([
      "1",
      "2",
      "3",
      undefined,
      undefined,
    ]);
  });

  it("have no number where their fix wins no time, and stand in a list of their own", async () => {
    const { root, cards } = await show([adviceOf("a", { gain_ratio: 0 }), adviceOf("b", { gain_ratio: 0 })]);
    expect(root.querySelector(".tfp-wide, .tfp-goal > *")).toBeNull();
    expect(cards().map((card) => card.closest("details")?.open)).toEqual([true, true]);
  });

  it("show a change of the user's statement line by line", async () => {
    const code = "# in place of train.py:7\nds = ds.map(f, num_parallel_calls=16)\nds = ds.batch(8)";
    const fix = { words: "Map in parallel.", code, replaces: "ds = ds.map(f)\nds = ds.batch(8)" };
    const { cards } = await show([adviceOf("a", { fix })]);
    const lines = [...(cards()[0].querySelector("pre")?.children ?? [])].map((one) => [one.tagName, one.textContent]);
    expect(lines).toEqual([
      ["SPAN", "# in place of train.py:7\n"],
      ["DEL", "ds = ds.map(f)\n"],
      ["INS", "ds = ds.map(f, num_parallel_calls=16)\n"],
      ["SPAN", "ds = ds.batch(8)"],
    ]);
  });

  it("say how long a step takes with the first of them", async () => {
    const { root } = await show([adviceOf("a", { gain_ratio: 0.8, evidence: [["estimate", "measured"]] })]);
    expect(root.querySelector(".tfp-goal")?.textContent).toBe(
      "≈ 4.26 mson average, if ① is fixedabout 5.0 times faster",
    );
  });

  it("select their evidence at a first press, name its view, and take it back at a second", async () => {
    const { page, evidence, pressed, brought } = await show([adviceOf("a"), adviceOf("b", { step: 1 })]);
    evidence(0).click();
    expect(page.link.state).toMatchObject({ time_range: [1000, 2000], selection: ["model/a"], step: 3 });
    expect(page.link.state).toMatchObject({ stretches: [1000, 1200, 1500, 2000] });
    expect([pressed(), brought]).toEqual([["true", "false"], ["input_graph"]]);
    evidence(1).click();
    expect(page.link.state).toMatchObject({ selection: ["model/b"], step: 1 });
    expect(pressed()).toEqual(["false", "true"]);
    evidence(1).click();
    expect(page.link.state).toMatchObject({ time_range: [], selection: [], step: -1, stretches: [] });
    expect([pressed(), brought]).toEqual([
      ["false", "false"],
      ["input_graph", "input_graph"],
    ]);
  });

  it("offer a measurement where the kernel can make one of what they say", async () => {
    const compile = { fix: { words: "Compile it: jit_compile=True.", code: "" } };
    const other = { fix: { words: "Set TF_GPU_THREAD_MODE.", code: "" } };
    const advice = [adviceOf("launch_bound", compile), adviceOf("launch_bound", other), adviceOf("retracing")];
    const { cards } = await show(advice, {}, {}, { measurable: { launch_bound: "jit_compile" } });
    expect(cards().map((card) => card.textContent?.includes("Measure this"))).toEqual([true, false, false]);
  });

  it("choose the host that they are shown for, and all hosts again at a second press", async () => {
    const { page, evidence } = await show([adviceOf("a"), adviceOf("b", { host: "worker-3" })]);
    evidence(0).click();
    expect(page.link.state).toMatchObject({ selection: ["model/a"] });
    expect(page.link.state.host ?? "").toBe("");
    evidence(1).click();
    expect(page.link.state).toMatchObject({ selection: ["model/b"], host: "worker-3" });
    evidence(1).click();
    expect(page.link.state).toMatchObject({ selection: [], host: "" });
  });

  it("are all in sight from the start where the chosen one is not among the first", async () => {
    const advice = ["a", "b", "c", "d"].map((rule) => adviceOf(rule));
    const chosen = { time_range: [1000, 2000], selection: ["model/d"], step: 3 };
    const { root, pressed } = await show(advice, {}, chosen);
    expect(pressed()).toEqual(["false", "false", "false", "true"]);
    expect(root.querySelector<HTMLDetailsElement>(".tfp-advice > details")?.open).toBe(true);
  });

  it("are not pressed any more when another view selects something else", async () => {
    const { page, evidence, pressed } = await show([adviceOf("a")]);
    evidence(0).click();
    page.link.set("selection", ["model/other"]);
    expect(pressed()).toEqual(["false"]);
  });

  it("tell two apart that are about the same evidence", async () => {
    const same = { op_names: ["model/x"] };
    const { page, evidence, pressed } = await show([adviceOf("a", same), adviceOf("b", same)]);
    evidence(1).click();
    expect(pressed()).toEqual(["false", "true"]);
    evidence(1).click();
    expect(page.link.state).toMatchObject({ selection: [] });
    evidence(0).click();
    expect(pressed()).toEqual(["true", "false"]);
  });

  it("give why, the code and Copy, those without a number when one is opened", async () => {
    const none = { gain_ratio: 0 };
    const { cards, title } = await show([
      adviceOf("a", { headline: "Do it." }),
      adviceOf("b", { headline: "Do that.", ...none }),
      adviceOf("c", { fix: { words: "Do it less often.", code: "" }, ...none }),
    ]);
    const open = cards().map((card) => card.querySelector("details")?.open);
    expect(cards().map((_, i) => title(i).textContent)).toEqual(["1Do it.", "Do that.", "c costs time."]);
    expect(open).toEqual([undefined, false, false]);
    expect(cards()[1].querySelector(".body p")?.textContent).toBe("b costs time.");
    expect(cards()[1].querySelector("pre")?.textContent).toBe("# remark\nimport x\nb()\nmore()");
    expect([...cards()[1].querySelectorAll(".acts button")].map((one) => one.textContent)).toEqual(["Show", "Copy"]);
    expect(cards()[1].querySelector(".body p + p")?.textContent).toBe("Do b.");
    expect([...cards()[2].querySelectorAll(".acts button")].map((one) => one.textContent)).toEqual(["Show"]);
    expect([cards()[2].querySelector(".body p:last-of-type")?.textContent, cards()[2].querySelector("pre")]).toEqual([
      "Do it less often.",
      null,
    ]);
  });

  it("are text, whatever a trace put into them", async () => {
    const hostile = adviceOf(EVIL, {
      title: EVIL,
      fix: { words: EVIL, code: EVIL },
      evidence: [[EVIL, EVIL]],
      op_names: [EVIL],
      view: EVIL,
    });
    const { root, evidence, page } = await show([hostile]);
    expect(root.querySelector("img, .title b, .body b, pre * *, script")).toBeNull();
    expect(root.querySelector("pre")?.textContent).toBe(EVIL);
    evidence(0).click();
    expect(page.link.state.selection).toEqual([EVIL]);
  });
});

describe("advice that comes after the first paint", () => {
  const LATE = ["advice", "advice_notices", "attribution"];
  const sections = Object.fromEntries(LATE.map((name) => [name, { n_rows: 0, n_parts: 1 }]));
  const late = () => show([], { sections } as Partial<TraceMeta>);
  type Shown = Awaited<ReturnType<typeof show>>;

  async function arrive({ page }: Shown, lists: Partial<TraceMeta>) {
    for (const name of LATE) {
      const meta = { [name]: (lists as Record<string, unknown>)[name] ?? [] };
      const part = await encodePack({ meta, tables: {} });
      page.data.emit("msg:custom", { kind: "part", key: `${name}:0` }, [new DataView(part.buffer as ArrayBuffer)]);
    }
    await settle();
  }

  it("is asked for, and its place says so until it is here", async () => {
    const shown = await late();
    expect(shown.root.querySelector(".tfp-top [role=status]")?.textContent).toBe("Looking for what to change …");
    expect(JSON.stringify(shown.page.data.sent)).toContain("advice:0");
    await arrive(shown, { advice: [adviceOf("a")] });
    expect(shown.cards().length).toBe(1);
    expect(shown.root.querySelector(".tfp-top [role=status]")).toBeNull();
  });

  it("may be none, and may say that a rule failed", async () => {
    const shown = await late();
    await arrive(shown, { advice_notices: ["The rule failed."] });
    const items = [...shown.root.querySelectorAll(".tfp-top p")].map((item) => item.textContent);
    expect(items.slice(1)).toEqual(["The rule failed."]);
  });

  it("says why it does not come", async () => {
    const shown = await late();
    shown.page.data.emit("msg:custom", { kind: "error", key: "advice:0", message: "the trace was closed" });
    await settle();
    expect(shown.root.querySelector(".tfp-top [role=status]")?.textContent).toContain("the trace was closed");
  });
});

describe("a run without advice", () => {
  it("is told so plainly, above what else is to say", async () => {
    const { root } = await show([], { advice_notices: ["The rule failed."] });
    const items = [...root.querySelectorAll(".tfp-top p")].map((item) => item.textContent);
    expect(items.length).toBe(2);
    expect(items[0]).toMatch(/^Nothing to change stands out\. The largest part of a step is /);
  });
});
