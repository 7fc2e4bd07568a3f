/** What to change as cards, those that win most first: one is open, with why, the code and the way to its evidence. */

import type { AdviceMeta } from "../../data/meta";
import { evidenceFacts, formatShare, gainWords, isShown, selectsNothing, timeRangeOf } from "../../model/overview";
import { formatCount } from "../../model/text";
import { BRING_VIEW, labelList, labelled, VIEW_TITLES } from "../../ui/controls";
import { button, copyButton, h, on, onKeys, setAria, unspoken } from "../../ui/dom";
import { chooseRange, type TraceView } from "../../ui/view";

const N_CARDS = 3;
/** Filled bars of the mark beside the word. */
const BARS = { high: 3, medium: 2, low: 1 } as const;

interface Card {
  readonly element: HTMLElement;
  readonly title: HTMLButtonElement;
  readonly body: HTMLElement;
  readonly evidence: HTMLButtonElement;
  readonly facts: HTMLElement;
}

export class AdviceCards {
  readonly list = h("ul.tfp-advice", { "data-lm-suppress-shortcuts": "true", "aria-label": "What to change" });
  readonly side = h("span.unit");
  readonly #cards: readonly Card[];
  /** The card that was chosen last: two may be about the same evidence. */
  #last = -1;

  constructor(
    readonly view: TraceView,
    readonly advice: readonly AdviceMeta[],
  ) {
    const id = Math.random().toString(36).slice(2);
    this.#cards = advice.map((one, i) => this.#card(one, i, `tfp-advice-${id}-${i}`));
    this.list.append(...this.#cards.map(({ element }) => element));
    this.#count();
    const mark = () => this.#mark();
    for (const field of ["selection", "time_range", "step"] as const) view.whole.link.on(field, mark, view.signal);
    this.#mark();
    this.#open(Math.max(0, this.#shown()));
    this.#keepHeight();
  }

  /** In a notebook cards come after the page is laid out: they take no more room than is kept until the reader turns to them. */
  #keepHeight(): void {
    this.list.classList.toggle("late", !this.view.data.isOffline);
    const grow = () => this.list.classList.remove("late");
    on(this.list, this.view.signal, { pointerdown: grow, focusin: grow });
  }

  #count(): void {
    const n = this.#cards.length;
    const words = h("span");
    const rest = button("", () => show(rest.getAttribute("aria-expanded") !== "true"), this.view.signal, {
      class: "link",
    });
    const show = (isAll: boolean) => {
      for (const { element } of this.#cards.slice(N_CARDS)) element.hidden = !isAll;
      words.textContent = `${formatCount(isAll ? n : Math.min(N_CARDS, n))} of ${formatCount(n)}`;
      rest.textContent = isAll ? "fewer" : "show all";
      setAria(rest, "expanded", isAll);
    };
    show(this.#shown() >= N_CARDS); // with another host the cards are made anew: the chosen one stays in sight
    this.side.append(words);
    if (n > N_CARDS) this.side.append(" · ", rest);
  }

  #card(one: AdviceMeta, index: number, id: string): Card {
    const { signal } = this.view;
    const gain = this.#gain(one, `${id}-gain`);
    const title = button("", () => this.#open(title.getAttribute("aria-expanded") === "true" ? -1 : index), signal, {
      class: "title bare",
      "aria-controls": id,
      "aria-describedby": gain.id,
    });
    title.append(h("span", one.headline || one.title));
    const where = VIEW_TITLES[one.view];
    const evidence = button("Show evidence", () => this.#choose(index), signal, {
      title: where ? `Select the evidence in every view and open ${where}` : "Select the evidence in every view",
    });
    const { words, code } = one.fix;
    const copy = copyButton("Copy", () => code, signal);
    copy.title = "Copy the code";
    const facts = factsOf(one);
    const body = h(
      "div.body",
      { id, role: "group", "aria-label": "Why, and what to write" },
      one.headline && h("p", one.title),
      words && h("p", words),
      code && h("pre", { tabindex: 0, role: "group", "aria-label": "The code" }, code),
      h("div.acts", evidence, code && copy, isMeasurable(this.view, one) && this.#measureButton(one, gain)),
      facts,
    );
    onKeys(body, signal, ({ key }) => {
      if (key !== "Escape") return false;
      this.#open(-1);
      title.focus();
      return true;
    });
    const element = h("li", { class: `tfp-card ${one.severity}` }, title, gain, body);
    element.dataset.rule = one.rule;
    return { element, title, body, evidence, facts };
  }

  #gain(one: AdviceMeta, id: string): HTMLElement {
    const [head, gain, time] = gainWords(one, this.view.data.meta.overview.step_time?.avg);
    const bars = Array.from({ length: 3 }, (_, i) => h("i", { class: i < BARS[one.severity] ? "on" : "off" }));
    return h(
      "div.gain",
      { id },
      h("span", `${head} `, h("b", gain)),
      time ? h("span.time", time) : "",
      h("span.sev", unspoken("span.bars", ...bars), ` ${one.severity}`),
    );
  }

  /** Asks first, as it trains some steps; what it finds stands in place of the estimate. */
  #measureButton(one: AdviceMeta, gain: HTMLElement): HTMLElement {
    const { data, signal } = this.view;
    const told = h("span", { role: "status" });
    const box = h("span.measure");
    const ask = button("Measure this", () => box.replaceChildren(told, start, cancel), signal);
    const start = button("Train", () => void measure(), signal);
    const cancel = button("Cancel", () => back(""), signal);
    const question = "Trains this model for some seconds and puts everything back.";
    const back = (words: string) => {
      told.textContent = question;
      box.replaceChildren(ask, words && h("p", words));
      ask.focus();
    };
    const measure = async () => {
      told.textContent = "Measuring …";
      box.replaceChildren(told);
      try {
        const { message } = await data.call("measure", { rule: one.rule }, signal);
        gain.replaceChildren(h("span", "measured ", h("b", `${formatShare(Number(message.gain_ratio))} %`)));
        back(String(message.words));
      } catch (error) {
        if (!signal.aborted) back(error instanceof Error ? error.message : String(error));
      }
    };
    told.textContent = question;
    box.append(ask);
    return box;
  }

  /** Opens one card, -1 for none, and closes the others. */
  #open(index: number): void {
    this.#cards.forEach(({ element, title, body }, i) => {
      body.hidden = i !== index;
      element.classList.toggle("open", i === index);
      setAria(title, "expanded", i === index);
    });
  }

  #choose(index: number): void {
    const { whole, root } = this.view;
    // The advice is on all hosts, and so is the number of its step.
    const { link } = whole;
    const one = this.advice[index];
    if (this.#shown() === index) {
      this.#last = -1;
      chooseRange(link, null);
      link.setSelection([]);
      if (one.host && one.host === link.host) link.setHost("");
      this.#mark(); // the link tells nobody where nothing was selected
      return;
    }
    this.#last = index;
    chooseRange(link, timeRangeOf(one), one.step);
    link.setSelection(one.op_names);
    if (one.host) link.setHost(one.host);
    this.#mark();
    root.dispatchEvent(new CustomEvent(BRING_VIEW, { bubbles: true, composed: true, detail: one.view }));
  }

  /** The card whose evidence the views show, -1 for none. */
  #shown(): number {
    const { view, advice } = this;
    const { link } = view.whole;
    const last = advice[this.#last];
    if (last && (selectsNothing(last) || isShown(last, link))) return this.#last;
    return advice.findIndex((one) => isShown(one, link));
  }

  #mark(): void {
    const shown = this.#shown();
    this.#cards.forEach(({ evidence, facts }, i) => {
      setAria(evidence, "pressed", i === shown);
      facts.hidden = i !== shown;
    });
  }
}

/** Whether the kernel can measure what is advised, on the model and data of the profiled `fit`. */
function isMeasurable({ data, options }: TraceView, { rule, fix }: AdviceMeta): boolean {
  const words = (options.measurable as Record<string, string> | undefined)?.[rule];
  return !data.isOffline && words !== undefined && fix.words.includes(words);
}

function factsOf(one: AdviceMeta): HTMLElement {
  const rows = evidenceFacts(one.evidence).map(({ name, value }) => labelled(name, [value]));
  return labelList("evidence", "Evidence", ...rows);
}
