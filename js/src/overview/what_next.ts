/** The third column of the overview -> what to do next, or the ops that cost most, of either side. */

import { h, segmented } from "../draw/dom";
import { withViewLinks } from "../draw/view_links";
import type { TraceView } from "../view";
import { TopOps } from "./top_ops";

/** Reached by keys, as it may scroll; the notebook must not take those for its own. */
const LIST = {
  class: "tfp-next",
  tabindex: 0,
  "aria-label": "What to look at and to change",
  "data-lm-suppress-shortcuts": "true",
};

type Pane = "next" | "top";

export class WhatNext {
  readonly element = h("section", { class: "tfp-top" });

  constructor(readonly view: TraceView) {
    const top = new TopOps(view);
    const steps = nextSteps(view);
    if (steps.length === 0) {
      this.element.append(h("div", { class: "tfp-h" }, h("b", {}, "Top ops"), top.side, top.unit), top.list);
      this.element.setAttribute("aria-label", "Top ops by self time");
      return;
    }
    const list = h("ul", LIST, ...steps);
    const choose = (pane: Pane) => {
      list.hidden = pane !== "next";
      for (const part of [top.side, top.unit, top.list]) part.hidden = pane === "next";
      if (pane === "top") top.draw();
    };
    const panes = [
      { value: "next" as Pane, text: "Next steps" },
      { value: "top" as Pane, text: "Top ops" },
    ];
    const pane = segmented("What the column shows", panes, "next", choose, view.signal, "tfp-words");
    this.element.append(h("div", { class: "tfp-h" }, pane, top.side, top.unit), list, top.list);
    this.element.setAttribute("aria-label", "Next steps and top ops");
    choose("next");
  }
}

/** One item a sentence; what comes before its first colon is the headline. */
function nextSteps(view: TraceView): HTMLElement[] {
  const given = view.data.meta.overview.next_steps;
  const texts = Array.isArray(given) ? given.map(String) : [];
  return texts.map((text) => {
    const colon = text.indexOf(": ");
    const end = colon > 0 && colon < 90 ? colon + 1 : 0;
    const head = end > 0 && h("b", {}, text.slice(0, end));
    return h("li", {}, head, ...withViewLinks(text.slice(end), view));
  });
}
