/** What to change -> at most three cards that win most, each a button that selects its evidence in every view, and the rest when asked for. */

import { evidenceFacts, fixLines, gainWords, isShown, timeRangeOf } from "../../model/overview/advice";
import { formatCount } from "../../model/text/format";
import type { AdviceMeta } from "../../model/wire/meta";
import { button, copyButton, h, on } from "../../ui/dom";
import { inFrame, watchSize } from "../../ui/page";
import type { TraceView } from "../../ui/view";
import { BRING_VIEW, VIEW_TITLES } from "../../ui/view_links";

const N_CARDS = 3;
/** Of all cards together, whatever their number: the panel keeps its height. As in `overview_advice.css`. */
const CARDS_PX = 150;
const CODE_LINE_PX = 14;
/** Around the card and the code. */
const SPARE_PX = 3;
const MOST_LINES = 6;
/** Filled bars of the mark beside the word. */
const BARS = { high: 3, medium: 2, low: 1 } as const;

export class AdviceCards {
  readonly list = h("ul.tfp-advice", { "data-lm-suppress-shortcuts": "true", "aria-label": "What to change" });
  /** "3 of 5", and the way to the others. */
  readonly side = h("span.unit");
  readonly #buttons: HTMLButtonElement[] = [];
  readonly #codes: HTMLElement[] = [];
  /** The card that was chosen last: two may be about the same evidence. */
  #last = -1;

  constructor(
    readonly view: TraceView,
    readonly advice: readonly AdviceMeta[],
  ) {
    const id = Math.random().toString(36).slice(2);
    const cards = advice.map((one, i) => this.#card(one, i, `tfp-advice-${id}-${i}`));
    this.list.append(...cards);
    this.#count(cards);
    const mark = () => this.#mark();
    for (const field of ["selection", "time_range", "step"] as const) view.whole.link.on(field, mark, view.signal);
    this.#mark();
    const fit = inFrame(() => this.#fit(), view.signal);
    watchSize(this.list, fit, view.signal);
  }

  /** Gives each card the lines of its fix that there is room for below its title. */
  #fit(): void {
    const card_px = Math.floor(CARDS_PX / Math.min(N_CARDS, this.advice.length));
    // All are measured before any is changed, which would have the browser lay them out again and again.
    const rooms = this.#buttons.map((title) => card_px - title.offsetHeight - SPARE_PX);
    this.#codes.forEach((code, i) => {
      const n = Math.min(MOST_LINES, Math.floor(rooms[i] / CODE_LINE_PX));
      const text = n > 0 ? fixLines(this.advice[i].fix, n).join("\n") : "";
      if (code.textContent !== text) code.textContent = text;
    });
  }

  #count(cards: readonly HTMLElement[]): void {
    const words = h("span");
    const rest = button("", () => show(rest.getAttribute("aria-expanded") !== "true"), this.view.signal, {
      class: "link",
    });
    const show = (isAll: boolean) => {
      for (const card of cards.slice(N_CARDS)) card.hidden = !isAll;
      const n = isAll ? cards.length : Math.min(N_CARDS, cards.length);
      words.textContent = `${formatCount(n)} of ${formatCount(cards.length)}`;
      rest.textContent = isAll ? "fewer" : "show all";
      rest.setAttribute("aria-expanded", String(isAll));
    };
    show(this.#shown() >= N_CARDS); // with another host the cards are made anew: the chosen one stays in sight
    this.list.dataset.cards = String(Math.min(N_CARDS, cards.length));
    this.side.append(words);
    if (cards.length > N_CARDS) this.side.append(" · ", rest);
  }

  #card(one: AdviceMeta, index: number, id: string): HTMLElement {
    const { signal } = this.view;
    const [head, gain, time] = gainWords(one, this.view.data.meta.overview.step_time?.avg);
    const bars = Array.from({ length: 3 }, (_, i) => h("i", { class: i < BARS[one.severity] ? "on" : "off" }));
    const facts = h(
      "div.gain",
      { id: `${id}-gain` },
      h("span", `${head} `, h("b", gain)),
      h("span", time),
      h("span.sev", h("span.bars", { "aria-hidden": "true" }, ...bars), ` ${one.severity}`),
    );
    const where = VIEW_TITLES[one.view];
    const title = button("", () => this.#choose(index), signal, {
      class: "title bare",
      "aria-describedby": `${id}-gain`,
      title: `${one.title}\n${where ? `Select the evidence in every view and open ${where}` : "Select the evidence in every view"}`,
    });
    title.append(h("span", one.title));
    this.#buttons.push(title);
    const more = moreOf(one, `${id}-more`);
    const card = h("li", { class: `tfp-card ${one.severity}` }, facts, title, this.#fixLine(one, more), more);
    card.dataset.rule = one.rule;
    return card;
  }

  /** The lines of code that matter, the way to copy it all, and the way to the numbers. */
  #fixLine(one: AdviceMeta, more: HTMLElement): HTMLElement {
    const { signal } = this.view;
    const details = button("Details ▾", () => show(more.hidden === true), signal, {
      "aria-expanded": "false",
      "aria-controls": more.id,
      title: "The evidence in numbers, and the whole fix",
    });
    const line = h("code", ...fixLines(one.fix, 1));
    this.#codes.push(line);
    const show = (isShown: boolean) => {
      more.hidden = !isShown;
      line.hidden = isShown;
      details.setAttribute("aria-expanded", String(isShown));
      details.closest(".tfp-card")?.classList.toggle("open", isShown);
    };
    const keydown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || more.hidden) return;
      event.preventDefault();
      event.stopPropagation();
      show(false);
      details.focus();
    };
    for (const place of [details, more]) on(place, signal, { keydown });
    const copy = copyButton("Copy", () => one.fix, signal);
    copy.title = "Copy the whole fix";
    return h("div.fix", line, h("span.acts", one.fix && copy, details));
  }

  #choose(index: number): void {
    const { whole, root } = this.view;
    // The advice is on all hosts, and so is the number of its step.
    const { link } = whole;
    const one = this.advice[index];
    if (this.#shown() === index) {
      this.#last = -1;
      link.setTimeRange(null);
      link.setStep(-1);
      link.setSelection([]);
      if (one.host && one.host === link.host) link.setHost("");
      return;
    }
    this.#last = index;
    link.setTimeRange(timeRangeOf(one));
    link.setStep(one.step);
    link.setSelection(one.op_names);
    if (one.host) link.setHost(one.host);
    this.#mark();
    root.dispatchEvent(new CustomEvent(BRING_VIEW, { bubbles: true, composed: true, detail: one.view }));
  }

  /** The card whose evidence the views show, -1 for none. */
  #shown(): number {
    const { view, advice } = this;
    const { link } = view.whole;
    if (this.#last >= 0 && isShown(advice[this.#last], link)) return this.#last;
    return advice.findIndex((one) => isShown(one, link));
  }

  #mark(): void {
    const shown = this.#shown();
    this.#buttons.forEach((element, i) => {
      element.setAttribute("aria-pressed", String(i === shown));
    });
  }
}

/** The numbers and the whole fix. */
function moreOf(one: AdviceMeta, id: string): HTMLElement {
  const rows = evidenceFacts(one.evidence).map(({ name, value }) => h("div", h("dt", name), h("dd", value)));
  const code = h("pre", { tabindex: 0, role: "group", "aria-label": "The fix" }, one.fix);
  return h(
    "div.more",
    { id, role: "group", "aria-label": "Evidence and fix", hidden: true },
    rows.length > 0 && h("dl", ...rows),
    one.fix && code,
  );
}
