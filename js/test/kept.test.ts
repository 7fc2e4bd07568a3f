// @vitest-environment jsdom
/** What a notebook keeps in the page of an output is found there, and full state needs no page. */

import { beforeEach, describe, expect, it } from "vitest";
import { makeModel, notePage, wholeTraits } from "../src/data/widget";

const PAGES = Symbol.for("tfprof_widgets.pages");

function addPage(models: Record<string, { state: Record<string, unknown> }>): void {
  const state = JSON.stringify({ state: models }).replaceAll("<", "\\u003c");
  const holder = document.createElement("div");
  holder.dataset.page = `<!doctype html><main></main><script type="application/vnd.jupyter.widget-state+json">${state}</script>`;
  notePage(holder);
}

describe("traits that a page keeps", () => {
  beforeEach(() => {
    (globalThis as unknown as Record<symbol, unknown>)[PAGES] = undefined;
  });

  it("are found in the output that has them, in sight or not", async () => {
    const model = makeModel({ parts: [], data_id: "mine", is_offline: false });
    const state = { parts: [["a", "b"]], data_id: "other", is_offline: true };
    addPage({ other: { state: {} } });
    addPage({ m1: { state } });
    const traits = await wholeTraits(model, "IPY_MODEL_m1", "parts");
    expect(["parts", "data_id", "is_offline"].map(traits)).toEqual([[["a", "b"]], "mine", false]);
    expect((await wholeTraits(model, "anywidget:m1", "parts"))("parts")).toEqual([["a", "b"]]);
  });

  it("are waited for: outputs come one after the other", async () => {
    const model = makeModel({ source: "" });
    const waiting = wholeTraits(model, "IPY_MODEL_m1", "source");
    await new Promise((resolve) => setTimeout(resolve, 150));
    addPage({ m1: { state: { source: "code" } } });
    expect((await waiting)("source")).toBe("code");
  });

  it("are the model's own where it has them, or the kernel gives them when it is asked", async () => {
    addPage({ m1: { state: { source: "old" } } });
    expect((await wholeTraits(makeModel({ source: "own" }), "m1", "source"))("source")).toBe("own");
    const model = makeModel({ source: "" });
    model.send = (message) => {
      expect(message).toEqual({ kind: "whole?" });
      model.set("source", "given");
    };
    expect((await wholeTraits(model, "m2", "source"))("source")).toBe("given");
  });
});
