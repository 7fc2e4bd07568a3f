/** The third column of the overview -> what to change and where to look, or the ops that cost most, of either side. */

import { within } from "../../host/failures";
import { largestPart } from "../../model/overview/advice";
import { NOT_HERE } from "../../model/time/left_out";
import { h, segmented } from "../../ui/dom";
import type { TraceView } from "../../ui/view";
import { withViewLinks } from "../../ui/view_links";
import { AdviceCards } from "./advice_cards";
import { TopOps } from "./top_ops";

/** Lists that may come after the first paint: finding them takes longer than everything else that the overview shows. */
const LATE = ["advice", "next_steps", "advice_notices"];

/** Reached by keys, as it may scroll; the notebook must not take those for its own. */
const LIST = {
  class: "tfp-next",
  tabindex: 0,
  "aria-label": "What to look at and to change",
  "data-lm-suppress-shortcuts": "true",
};

type Pane = "next" | "top";

export class WhatNext {
  readonly element = h("section.tfp-top");
  readonly #top: TopOps;
  /** What the reader chose; it stays when the advice arrives. */
  #pane: Pane = "next";

  constructor(readonly view: TraceView) {
    this.#top = new TopOps(view);
    if (this.#isHere) this.#show();
    else this.#wait();
  }

  get #isHere(): boolean {
    return LATE.every((name) => this.view.data.isWhole(name));
  }

  /** A place of the size that the cards will take, until they are here. */
  #wait() {
    const { data, signal } = this.view;
    const words = h("p.tfp-healthy", { role: "status" });
    this.#panes("What to change", [], words);
    const ended = within(signal);
    const update = () => {
      if (this.#isHere) {
        ended.abort();
        this.#show();
        return;
      }
      const text = data.problem || (data.isOffline ? NOT_HERE : "Looking for what to change …");
      if (words.textContent !== text) words.textContent = text;
    };
    update();
    data.onChange(update, ended.signal);
    if (!data.isOffline) void data.ready(LATE);
  }

  #show() {
    const { advice = [], next_steps = [], advice_notices = [] } = this.view.data.meta;
    const notices = advice_notices.map((text) => h("li.tfp-healthy", text));
    if (advice.length > 0) {
      const cards = new AdviceCards(this.view, advice);
      cards.list.append(...notices);
      this.#panes("What to change", [cards.side], cards.list);
      return;
    }
    const healthy = nothingStandsOut(this.view);
    if (next_steps.length + notices.length > 0) {
      const items = next_steps.map((text) => nextStep(text, this.view));
      this.#panes("Next steps", [], h("ul", LIST, healthy && h("li", ...healthy), ...items, ...notices));
      return;
    }
    const top = this.#top;
    const head = h("div.tfp-h", h("b", "Top ops"), top.side, top.unit);
    for (const part of [top.side, top.unit, top.list]) part.hidden = false;
    const words = healthy ? [h("p.tfp-healthy", ...healthy)] : [];
    this.element.replaceChildren(head, ...words, top.list);
    this.element.setAttribute("aria-label", "Top ops by self time");
    top.draw();
  }

  #panes(title: string, side: readonly HTMLElement[], list: HTMLElement): void {
    const top = this.#top;
    const hadFocus = this.element.contains(document.activeElement);
    const choose = (pane: Pane) => {
      this.#pane = pane;
      for (const part of [...side, list]) part.hidden = pane !== "next";
      for (const part of [top.side, top.unit, top.list]) part.hidden = pane === "next";
      if (pane === "top") top.draw();
    };
    const panes = [
      { value: "next" as Pane, text: this.view.link.host === "" ? title : `${title}, all hosts` },
      { value: "top" as Pane, text: "Top ops" },
    ];
    const pane = segmented("What the column shows", panes, this.#pane, choose, this.view.signal, "tfp-words");
    const head = h("div.tfp-h", pane, ...side, top.side, top.unit);
    this.element.replaceChildren(head, list, top.list);
    this.element.setAttribute("aria-label", `${title} and top ops`);
    choose(this.#pane);
    if (hadFocus) pane.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  }
}

/** Of a run with steps for which there is no advice. */
function nothingStandsOut(view: TraceView): (HTMLElement | string)[] | null {
  const largest = largestPart(view.whole.data.meta.overview);
  return largest ? [h("b", "Nothing to change stands out."), ` ${largest}`] : null;
}

/** What comes before the first colon is the headline. */
function nextStep(text: string, view: TraceView): HTMLElement {
  const colon = text.indexOf(": ");
  const end = colon > 0 && colon < 90 ? colon + 1 : 0;
  const head = end > 0 && h("b", text.slice(0, end));
  return h("li", head, ...withViewLinks(text.slice(end), view));
}
