/** The third column of the overview -> what to change and where to look, or the ops that cost most, of either side. */

import { largestPart } from "../core/advice";
import { h, segmented } from "../draw/dom";
import { withViewLinks } from "../draw/view_links";
import type { TraceView } from "../view";
import { AdviceCards } from "./advice_cards";
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
    const { advice = [] } = view.data.meta;
    const top = new TopOps(view);
    if (advice.length > 0) {
      const cards = new AdviceCards(view, advice);
      this.#panes("What to change", [cards.side], cards.list, top);
      return;
    }
    const steps = nextSteps(view);
    const healthy = nothingStandsOut(view);
    if (steps.length > 0) {
      this.#panes("Next steps", [], h("ul", LIST, healthy && h("li", {}, ...healthy), ...steps), top);
      return;
    }
    const head = h("div", { class: "tfp-h" }, h("b", {}, "Top ops"), top.side, top.unit);
    this.element.append(head, ...(healthy ? [h("p", { class: "tfp-healthy" }, ...healthy)] : []), top.list);
    this.element.setAttribute("aria-label", "Top ops by self time");
  }

  #panes(title: string, side: readonly HTMLElement[], list: HTMLElement, top: TopOps): void {
    const choose = (pane: Pane) => {
      for (const part of [...side, list]) part.hidden = pane !== "next";
      for (const part of [top.side, top.unit, top.list]) part.hidden = pane === "next";
      if (pane === "top") top.draw();
    };
    const panes = [
      { value: "next" as Pane, text: title },
      { value: "top" as Pane, text: "Top ops" },
    ];
    const pane = segmented("What the column shows", panes, "next", choose, this.view.signal, "tfp-words");
    this.element.append(h("div", { class: "tfp-h" }, pane, ...side, top.side, top.unit), list, top.list);
    this.element.setAttribute("aria-label", `${title} and top ops`);
    choose("next");
  }
}

/** Of a run with steps for which there is no advice. */
function nothingStandsOut(view: TraceView): (HTMLElement | string)[] | null {
  const largest = largestPart(view.data.meta.overview);
  return largest ? [h("b", {}, "Nothing to change stands out."), ` ${largest}`] : null;
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
