// @vitest-environment jsdom
/** A step to scale: brackets are the rows of cards, a lane holds what does not overlap, and the drawing says both. */

import { afterEach, describe, expect, it } from "vitest";
import type { AdviceMeta, AttributionRow, TraceMeta } from "../src/data/meta";
import { bracketsOf, laneOf, nNumbered, piecesOf, shownIn, typicalStep } from "../src/model/strip";
import { overviewPanel } from "../src/views/overview_panel/overview_panel";
import { makeScene } from "./scene";
import { EVIL, showWidget } from "./shown";

const MS = 1e9;
const STEP = 4;
const scene = makeScene();
const [start, duration] = ["start_ps", "duration_ps"].map(
  (name) => (scene.tables.steps.columns[name] as Float64Array)[STEP] / MS,
);

function rowOf(from: number, ms: number, given: Partial<AttributionRow> = {}): AttributionRow {
  const row = { step: STEP, category: "host_compute", event: "", op: "net/sort", layer: "net", line: "train.py:7" };
  return { ...row, start_ms: start + from, duration_ms: ms, time_ms: ms, advice: -1, ...given };
}

const card = (gain_ratio: number, given: Partial<AdviceMeta> = {}) =>
  ({
    ...{ rule: "a", severity: "high", title: "Why.", headline: "Do it", evidence: [], fix: { words: "", code: "" } },
    ...{ op_names: [], time_range_ns: [], step: -1, stretches_ns: [], n_stretches: 0, view: "timeline", host: "" },
    ...{ gain_ratio, ...given },
  }) as AdviceMeta;

afterEach(() => document.body.replaceChildren());

describe("brackets of a step", () => {
  const span = { t0: start * MS, t1: (start + duration) * MS };

  it("join stretches of one card unless another card's lie between, and say the time of the rows", () => {
    const rows = [rowOf(0, 2, { advice: 0 }), rowOf(2.1, 2, { advice: 0 }), rowOf(5, 1, { advice: 1, time_ms: 0.5 })];
    const found = bracketsOf([...rows, rowOf(6.05, 1, { advice: 0 }), rowOf(8, 1)], span, 2);
    expect(found.map(({ spans }) => spans.length)).toEqual([2, 1]);
    expect(found.map(({ ms }) => ms)).toEqual([5, 0.5]);
    expect(found[0].category).toBe("host_compute");
  });

  it("are of cards with a number: the first three, as far as they win time", () => {
    expect(nNumbered([card(0.5), card(0), card(0.2)])).toBe(1);
    expect(nNumbered([0.5, 0.4, 0.3, 0.2].map((gain) => card(gain)))).toBe(3);
    expect(bracketsOf([rowOf(0, 1, { advice: 2 })], span, 2)).toEqual([]);
  });
});

describe("a card that is shown", () => {
  it("selects its stretches of the drawn step where it has any, else what it says itself", () => {
    const one = card(0.5, { step: 9 });
    const rows = [rowOf(1, 2, { advice: 0 }), rowOf(4, 1, { advice: 1 })];
    const shown = shownIn(one, 0, rows, scene.tables.steps, STEP);
    expect(shown.step).toBe(STEP);
    expect(shown.stretches_ns.map((ns) => ns / 1e6 - start)).toEqual([1, 3].map((ms) => expect.closeTo(ms, 5)));
    expect(shownIn(one, 2, rows, scene.tables.steps, STEP)).toBe(one);
  });
});

describe("a lane", () => {
  it("has rows that do not overlap, those with most time first, and none without a name or too short", () => {
    const long = rowOf(0, 10);
    const rows = [rowOf(1, 3), long, rowOf(10, 1), rowOf(11, 2, { op: "", event: "" }), rowOf(13, 0.01)];
    expect(laneOf(rows, 0.1)).toEqual([long, rows[2]]);
  });
});

describe("the step that is drawn", () => {
  it("is the averaged one nearest to the median, of a host where one is given", () => {
    const columns = {
      duration_ps: Float64Array.of(90, 10, 12, 50, 20),
      is_averaged: Uint8Array.of(0, 1, 1, 1, 0),
      host: Int32Array.of(0, 0, 0, 1, 1),
    };
    expect(typicalStep({ n: 5, columns })).toBe(2);
    expect(typicalStep({ n: 5, columns }, 1)).toBe(3);
    expect(typicalStep({ n: 0, columns: {} })).toBe(-1);
  });

  it("is made of its pieces", () => {
    const { meta, tables } = scene;
    const { categories } = meta as unknown as TraceMeta;
    const pieces = piecesOf(tables.step_pieces, STEP, categories);
    expect(pieces.reduce((sum, { t0, t1 }) => sum + t1 - t0, 0) / MS).toBeCloseTo(duration, 6);
    expect(piecesOf(undefined, STEP, categories)).toEqual([]);
  });
});

describe("the strip", () => {
  async function show(advice: AdviceMeta[], attribution: AttributionRow[]) {
    const pack = makeScene();
    const meta = pack.meta as unknown as TraceMeta;
    const overview = { ...meta.overview, typical_steps: [STEP] };
    Object.assign(pack.meta, { advice, attribution, overview });
    return showWidget(overviewPanel, pack);
  }
  const words = (root: HTMLElement) => root.querySelector(".tfp-scale svg")?.getAttribute("aria-label") ?? "";

  it("says what a step is made of and how much of it each card is about, as its brackets do", async () => {
    const { root } = await show([card(0.5)], [rowOf(0, 3, { advice: 0 }), rowOf(4, 1, { advice: 0 })]);
    expect(words(root)).toMatch(/^One typical step: step 4, .* ms; Input .* ms; .*; card 1 is about 4\.00 ms of it$/);
    expect(root.querySelector(".tfp-scale .number")?.textContent).toBe("① 4.00 ms");
    expect(root.querySelector(".tfp-verdict .place")?.textContent).toBe("① train.py:7");
  });

  it("goes to a step that is chosen, and back", async () => {
    const { root, page } = await show([], []);
    const titles = () =>
      [...root.querySelectorAll<HTMLElement>(".tfp-scale")]
        .filter(({ hidden }) => !hidden)
        .map((one) => one.textContent);
    expect(titles()[0]).toMatch(/^One typical step/);
    page.link.set("step", 7);
    await new Promise((done) => setTimeout(done, 50));
    expect(titles().map((one) => one?.slice(0, 21))).toEqual(["The chosen step" + "step 7"]);
    page.link.set("step", -1);
    await new Promise((done) => setTimeout(done, 50));
    expect(titles()[0]).toMatch(/^One typical step/);
  });

  it("has names of a trace as text alone", async () => {
    const { root } = await show([card(0.5, { headline: EVIL })], [rowOf(0, 3, { advice: 0, op: EVIL, line: EVIL })]);
    expect(root.querySelector("img, script, b b")).toBeNull();
    expect(root.querySelector(".place")?.textContent).toContain(EVIL);
  });
});
