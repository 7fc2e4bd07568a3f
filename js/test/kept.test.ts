// @vitest-environment jsdom
/** What a notebook keeps in the page of an output is found there, and full state needs no page. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { filled, wholeTraits } from "../src/host/kept";
import { makeModel } from "../src/host/page_host";

const KEPT = Symbol.for("tfprof_widgets.kept");

function addPage(models: Record<string, { state: Record<string, unknown> }>): HTMLElement {
  const state = JSON.stringify({ state: models }).replaceAll("<", "\\u003c");
  const holder = document.createElement("div");
  holder.dataset.page = `<!doctype html><main></main><script type="application/vnd.jupyter.widget-state+json">${state}</script>`;
  document.body.append(holder);
  return holder;
}

describe("traits that a page keeps", () => {
  beforeEach(() => {
    (globalThis as unknown as Record<symbol, unknown>)[KEPT] = undefined;
  });
  afterEach(() => document.body.replaceChildren());

  it("are found in the output that has them, though it drops its page later", async () => {
    const model = makeModel({ overview: "", embedded: [], data_id: "mine", is_offline: false });
    const state = { overview: "<packed>", embedded: [["a", "b"]], data_id: "other", is_offline: true };
    addPage({ other: { state: {} } });
    const holder = addPage({ m1: { state } });
    const traits = await wholeTraits(model, "IPY_MODEL_m1", "overview");
    expect(["overview", "embedded", "data_id", "is_offline"].map(traits)).toEqual([
      "<packed>",
      [["a", "b"]],
      "mine",
      false,
    ]);
    holder.remove();
    expect((await wholeTraits(model, "anywidget:m1", "overview"))("overview")).toBe("<packed>");
  });

  it("are waited for: outputs come one after the other", async () => {
    const model = makeModel({ source: "" });
    const waiting = wholeTraits(model, "IPY_MODEL_m1", "source");
    await new Promise((resolve) => setTimeout(resolve, 150));
    addPage({ m1: { state: { source: "code" } } });
    expect((await waiting)("source")).toBe("code");
  });

  it("are the model's own where it has them, or the kernel gives them", async () => {
    addPage({ m1: { state: { source: "old" } } });
    expect((await wholeTraits(makeModel({ source: "own" }), "m1", "source"))("source")).toBe("own");
    const model = makeModel({ source: "" });
    const waiting = wholeTraits(model, "m2", "source");
    model.set("source", "given");
    expect((await waiting)("source")).toBe("given");
  });

  it("fill saved state, which loses nothing that it has", () => {
    addPage({ m1: { state: { source: "code", styles: "sheet", name: "page's" } } });
    expect(filled("m1", { source: "", styles: "", name: "own" })).toEqual({
      source: "code",
      styles: "sheet",
      name: "own",
    });
    const whole = { source: "code", styles: "" };
    expect(filled("m1", whole)).toBe(whole);
    const lost = { overview: "", name: "" };
    expect(filled("m3", lost)).toEqual(lost);
  });
});
