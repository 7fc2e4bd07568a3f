/** How long a step takes, what limits it, one step to scale, and what to change. */

import { type AdviceMeta, type AttributionRow, CATEGORY_LABELS, type OverviewMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { reasonOf, within } from "../../data/widget";
import { leafOf } from "../../model/names";
import {
  compilingStep,
  decimalsOf,
  diffLines,
  formatMsSpan,
  formatPart,
  formatShare,
  frameworkOf,
  gainWords,
  hostsOfOverview,
  isShown,
  largestPart,
  overviewFacts,
  selectsNothing,
  timeRangeOf,
} from "../../model/overview";
import { capturedPs, keepTogether, NOT_HERE, stepWords } from "../../model/range";
import { mostOf, nNumbered, shownIn } from "../../model/strip";
import { formatBytes, formatCount, formatMs, formatNumber, formatPercent, formatTime, plural } from "../../model/text";
import { BRING_VIEW, labelList, labelled, VIEW_TITLES } from "../../ui/controls";
import { button, copyButton, h, on, setAria, unspoken } from "../../ui/dom";
import { FailurePanel } from "../../ui/failure_panel";
import { categorySwatch } from "../../ui/share_bar";
import { chooseRange, type TraceBuilder, type TraceView } from "../../ui/view";
import { numeral, strips } from "./strip";

type Card = Readonly<Record<"element" | "evidence", HTMLElement>>;

/** Numbered cards side by side, as wide as what they win; all others as lines that open, behind a button where they win something. */
class AdviceCards {
  readonly element = h("div.tfp-advice", { "data-lm-suppress-shortcuts": "true" });
  readonly #cards: readonly Card[];
  readonly #nNumbered: number;
  /** Each with what it selects. */
  readonly advice: readonly AdviceMeta[];
  /** The card that was chosen last: two may be about the same evidence. */
  #last = -1;

  constructor(
    readonly view: TraceView,
    advice: readonly AdviceMeta[],
  ) {
    const { meta, table } = view.whole.data;
    const typical = meta.overview.typical_steps?.[0] ?? -1;
    this.advice = advice.map((one, card) => shownIn(one, card, meta.attribution ?? [], table("steps"), typical));
    const n = nNumbered(advice);
    this.#nNumbered = n;
    const name = `tfp-advice-${Math.random().toString(36).slice(2)}`;
    this.#cards = advice.map((one, i) => this.#card(one, i, name));
    const elements = this.#cards.map(({ element }) => element);
    const most = Math.max(...advice.slice(0, n).map(({ gain_ratio }) => gain_ratio));
    // Nobody reads a column of a few letters.
    const columns = advice
      .slice(0, n)
      .map(({ gain_ratio }) => `minmax(0, ${Math.max(0.7, gain_ratio / most).toFixed(2)}fr)`);
    const style = { "--cards": columns.join(" ") };
    if (n > 0)
      this.element.append(h("ul.tfp-wide", { "aria-label": "What to change", style }, ...elements.slice(0, n)));
    if (elements.length > n) this.element.append(this.#others(elements.slice(n), n));
    const mark = () => this.#mark();
    for (const field of ["selection", "time_range", "step"] as const) view.whole.link.on(field, mark, view.signal);
    this.#mark();
  }

  #others(elements: readonly HTMLElement[], nBefore: number): HTMLElement {
    const words = nBefore === 0 ? plural(elements.length, "remark") : `${formatCount(elements.length)} more`;
    // With another host they are made anew: the chosen one stays in sight.
    const open = nBefore === 0 || this.#shown() >= nBefore;
    return h("details.rest", { open }, h("summary", words), h("ul", { "aria-label": "What else" }, ...elements));
  }

  /** @param name of those that are not numbered, of which one is open */
  #card(one: AdviceMeta, index: number, name: string): Card {
    const { signal } = this.view;
    const isNumbered = index < this.#nNumbered;
    const gain = this.#gain(one);
    const words = h("span", one.headline || one.title);
    const where = VIEW_TITLES[one.view] ? ` and open ${VIEW_TITLES[one.view]}` : "";
    const tip = { title: `Select in every view what this is about${where}` };
    const evidence = button("Show", () => this.#choose(index), signal, tip);
    const { code } = one.fix;
    const copy = copyButton("Copy", () => code, signal);
    copy.title = "Copy the code";
    const body = h(
      "div.body",
      one.headline && h("p", one.title),
      ...fixOf(one.fix.words),
      code && codeOf(one),
      h("div.acts", evidence, code && copy, isMeasurable(this.view, one) && this.#measureButton(one, gain)),
    );
    const parts = isNumbered
      ? [h("h3.title", unspoken("i", String(index + 1)), words), gain, body]
      : [h("details", { name }, h("summary", h("span.title", words), gain), body)];
    const look = { class: `tfp-card ${one.severity}${isNumbered ? " numbered" : ""}`, "data-rule": one.rule };
    const style = { "--card": `var(--c-${isNumbered ? categoryOf(this.view, index) : "other"})` };
    return { element: h("li", { ...look, style }, ...parts), evidence };
  }

  #gain(one: AdviceMeta): HTMLElement {
    const { saves, share, of } = gainWords(one, this.view.data.meta.overview);
    return h("div.gain", h("span", `${saves} `, h("b", share)), of && h("span", of));
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
        if (!signal.aborted) back(reasonOf(error));
      }
    };
    told.textContent = question;
    box.append(ask);
    return box;
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
      link.setStretches([]);
      if (one.host && one.host === link.host) link.setHost("");
      this.#mark(); // the link tells nobody where nothing was selected
      return;
    }
    this.#last = index;
    chooseRange(link, timeRangeOf(one), one.step);
    link.setSelection(one.op_names);
    link.setStretches(one.stretches_ns);
    if (one.host) link.setHost(one.host);
    this.#mark();
    root.dispatchEvent(new CustomEvent(BRING_VIEW, { bubbles: true, composed: true, detail: one.view }));
  }

  #shown(): number {
    const { view, advice } = this;
    const { link } = view.whole;
    const last = advice[this.#last];
    if (last && (selectsNothing(last) || isShown(last, link))) return this.#last;
    return advice.findIndex((one) => isShown(one, link));
  }

  #mark(): void {
    const shown = this.#shown();
    this.#cards.forEach(({ evidence }, i) => {
      setAria(evidence, "pressed", i === shown);
    });
  }
}

/** Whether the kernel can measure what is advised, on the model and data of the profiled `fit`. */
function isMeasurable({ data, options }: TraceView, { rule, fix }: AdviceMeta): boolean {
  const words = (options.measurable as Record<string, string> | undefined)?.[rule];
  return !data.isOffline && words !== undefined && fix.words.includes(words);
}

function details(view: TraceView, label: string): HTMLElement {
  const sections = overviewFacts(view.data.meta).map(({ title, facts, notes }) => {
    const rows = facts.map(({ name, value, hint }) => labelled(name, [value], { title: hint }));
    const list = rows.length > 0 && labelList("tfp-fact-list", title, ...rows);
    return h("section", h("h3", title), list, ...notes.map((note) => h("p.q", note)));
  });
  const head = h("summary", { title: "The machine, the capture and more figures" }, label);
  return h("details.tfp-more", head, h("div.tfp-over.tfp-facts", ...sections));
}

/** The part of a step that a card is about most; "other" where its stretches are not here. */
function categoryOf({ whole }: TraceView, card: number): string {
  const rows = (whole.data.meta.attribution ?? []).filter(({ advice }) => advice === card);
  return mostOf(rows, ({ category }) => category)[0] || "other";
}

/** What to do: the first sentences of many, the others when asked for. */
function fixOf(words: string): HTMLElement[] {
  const [, first = words, rest = ""] = /^(.{70,}?[.:]) (?=[A-Z])(.{60,})$/s.exec(words) ?? [];
  const more = rest !== "" && h("details", h("summary", "More"), rest);
  return [first !== "" && h("p", first), more].filter((one) => one instanceof HTMLElement);
}

/** Code to paste; where it stands in place of a statement of the user's, both. */
function codeOf({ fix }: AdviceMeta): HTMLElement {
  const lines = diffLines(fix.replaces ?? "", fix.code);
  const about = { tabindex: 0, role: "group", "aria-label": fix.replaces ? "The change" : "The code" };
  const tags = { "+": "ins", "-": "del", " ": "span" } as const;
  return h("pre", about, ...lines.map(({ sign, text }, i) => h(tags[sign], i < lines.length - 1 ? `${text}\n` : text)));
}

/** Lists that may come after the first paint: finding them takes longer than everything else that the overview shows. */
const LATE = ["advice", "advice_notices", "attribution"];

/** The cards; a place of the size that they will take, until they are here. */
class WhatNext {
  readonly element = h("section.tfp-top", { "aria-label": "What to change" });

  constructor(readonly view: TraceView) {
    // In a notebook cards come after the page is laid out: they take the room that is kept until the reader turns to them.
    this.element.classList.toggle("late", !view.data.isOffline);
    const grow = () => this.element.classList.remove("late");
    on(this.element, view.signal, { pointerdown: grow, focusin: grow });
    if (this.#isHere) this.#show();
    else this.#wait();
  }

  get #isHere(): boolean {
    return LATE.every((name) => this.view.data.isWhole(name));
  }

  #wait() {
    const { data, signal } = this.view;
    const words = h("p.q", { role: "status" });
    this.element.append(words);
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
    const { of, meta } = this.view.data;
    const { advice = [], advice_notices = [] } = meta;
    const notices = advice_notices.map((text) => h("p.q", text));
    const head = of !== "" && h("div.tfp-h", h("b", "What to change, all hosts"));
    const cards = advice.length > 0 ? new AdviceCards(this.view, advice).element : nothingStandsOut(this.view);
    this.element.replaceChildren(...[head, cards, ...notices].filter((one) => one instanceof HTMLElement));
  }
}

/** Of a run with steps for which there is no advice. */
function nothingStandsOut(view: TraceView): HTMLElement | null {
  const { meta } = view.whole.data;
  const largest = largestPart(meta.overview);
  const words = frameworkOf(meta) === "PyTorch" ? "There is no advice about PyTorch." : "Nothing to change stands out.";
  return largest ? h("p.tfp-healthy", h("b", words), ` ${largest}`) : null;
}

function header(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const time = overview.step_time;
  const hasSteps = time !== undefined && time.n > 0;
  const style = { "border-left-color": `var(--c-${overview.limiter || "other"}, var(--c-other))` };
  const text = overview.headline || "No steps in this capture, so nothing can be said about a step.";
  const parts = keepTogether(text).map((part, i) => (i % 2 ? h("span.nb", part) : part));
  const head = h("h2", ...parts, hasSteps && placeOf(view), overview.kind && h("span.kind", overview.kind));
  const verdict = h("div.tfp-verdict", { title: overview.verdict, style }, head);
  const since = view.options.since_last;
  if (overview.verdict_detail) verdict.append(h("small.detail", overview.verdict_detail));
  if (typeof since === "string" && since) verdict.append(h("small.since", since));
  const figures = hasSteps ? [...stepFigures(overview, time), goal(view)] : [];
  return h("header.tfp-ov-header", quietLine(view), verdict, h("div.tfp-figs", ...figures));
}

/** The line, layer or op that has most of what card 1 is about in the drawn step; it has room from the beginning, as it may come late. */
function placeOf({ whole: { data }, signal }: TraceView): HTMLElement {
  const place = h("span.place", "\u00a0");
  const say = () => {
    const { advice = [], attribution = [], overview } = data.meta;
    const isOfOne = ({ advice: card, step }: AttributionRow) => card === 0 && step === overview.typical_steps?.[0];
    const rows = nNumbered(advice) > 0 ? attribution.filter(isOfOne) : [];
    const half = rows.reduce((sum, { time_ms }) => sum + time_ms, 0) / 2;
    const all = (["line", "layer", "op"] as const).map((field) => mostOf(rows, (row) => row[field]));
    const at = all.findIndex(([name, ms]) => name && ms > half);
    place.hidden = at < 0 && (data.isOffline || data.isWhole("attribution"));
    if (at < 0) return;
    const [name] = all[at];
    place.replaceChildren(`${numeral(0)} `, h("code", { title: name }, at === 0 ? name : leafOf(name)));
  };
  data.onTables(say, signal, ["attribution", "advice"]);
  say();
  return place;
}

function figureOf(value: string, unit: string, ...notes: (string | HTMLElement)[]): HTMLElement {
  const lines = notes.filter(Boolean).map((note) => h("div.d", note));
  return h("div.tfp-fig", h("span.n.big", value), h("span.u", ` ${unit}`), ...lines);
}

/** How long a step takes, and how much of it the device, or where there is none the CPU, computes. */
function stepFigures(overview: OverviewMeta, time: NonNullable<OverviewMeta["step_time"]>): HTMLElement[] {
  const nHosts = hostsOfOverview(overview).length;
  const steps = nHosts > 1 ? `${plural(time.n, "step")} of ${plural(nHosts, "host")}` : plural(time.n, "step");
  const counted = time.n_averaged < time.n ? `${formatCount(time.n_averaged)} of ${steps}` : steps;
  const [value, unit] = formatMs(time.median).split(" ");
  const isOne = time.n_averaged < 2;
  const step = figureOf(
    value,
    `${unit} a step`,
    isOne ? "" : `median of ${counted}`,
    isOne ? counted : `${formatMsSpan(time.min, time.max)} · mean ${formatMs(time.avg)}`,
    overview.slow_steps ?? "",
    overview.batches ?? "",
    isOne ? "" : `${formatNumber(1000 / time.avg)} steps/s`,
  );
  if (overview.busy_ratio === null || overview.busy_ratio === undefined) return [step];
  const kind = !overview.has_device ? "CPU" : String(overview.environment?.device_type).includes("TPU") ? "TPU" : "GPU";
  const share = formatShare(overview.busy_ratio);
  return [step, figureOf(share, "%", `of a step the ${kind}`, "computes")];
}

/** How long a step would take without what the first card is about. */
function goal({ data, whole, signal }: TraceView): HTMLElement {
  const place = h("div.tfp-goal");
  const say = () => {
    const { advice = [], overview } = whole.data.meta;
    const left = nNumbered(advice) > 0 && data.of === "" ? gainWords(advice[0], overview).left : null;
    place.hidden = data.isOffline && left === null;
    if (left === null) return place.replaceChildren();
    const [value, unit] = formatMs(left.ms).split(" ");
    place.replaceChildren(
      figureOf(`${left.bound} ${value}`, unit, `${left.mean}, if ${numeral(0)} is fixed`, left.times),
    );
  };
  whole.data.onTables(say, signal, ["advice"]);
  say();
  return place;
}

/** The machine, its memory, what was captured, and behind a button all facts. */
function quietLine(view: TraceView): HTMLElement {
  const { meta } = view.data;
  const memory = meta.device_memory;
  const line = h("div.tfp-quiet", h("span", `${formatTime(capturedPs(meta))} captured`));
  if (memory) {
    const [value, unit] = formatBytes(memory.peak_bytes).split(" ");
    const whole = formatBytes(memory.capacity_bytes);
    const title = `In use at the peak of ${memory.allocator}`;
    const words = `${whole.endsWith(unit) ? "" : `${unit} `}of ${whole} GPU memory`;
    line.append(h("span.tfp-fig", { title }, h("span.n", value), h("span.u", ` ${words}`)));
  }
  line.append(details(view, environmentText(meta.overview.environment ?? {}) || "Details"));
  return line;
}

function environmentText(environment: Readonly<Record<string, unknown>>): string {
  const number = (key: string) => (typeof environment[key] === "number" ? (environment[key] as number) : 0);
  const parts: string[] = [];
  if (Array.isArray(environment.hosts)) parts.push(plural(Math.max(1, environment.hosts.length), "host"));
  const device = /\b(GPU|TPU)\b/.exec(String(environment.device_type ?? ""))?.[1] ?? "device";
  if (number("n_active_devices") > 0) parts.push(`${formatCount(number("n_active_devices"))} × ${device}`);
  else if (number("n_threads") > 0) parts.push(plural(number("n_threads"), "thread"));
  return parts.join(" · ");
}

function breakdown(view: TraceView): HTMLElement {
  const { data } = view;
  const { overview } = data.meta;
  const steps = data.table("steps") ?? EMPTY_TABLE;
  const box = h("section.tfp-breakdown", { "aria-label": "A step, on average" });
  const decimals = decimalsOf(overview.step_time?.avg ?? 0);
  const all = overview.breakdown ?? [];
  const most = all.reduce((a, b) => (b.ms > a.ms ? b : a), { category: "", ms: 0 });
  // What the verdict is about is what stands out.
  const emphasized = overview.limiter || most.category;
  const compiling = compilingStep(steps);
  const list = labelList("tfp-cats", "Milliseconds and per cent of a step");
  const isCompiling = (category: string) => category === "compile" && compiling >= 0;
  const parts = all.filter(({ category, ms }) => ms > 0 || isCompiling(category));
  for (const { category, ms, ratio } of parts) {
    const values =
      ms === 0 ? [`in ${stepWords(data.meta.step_names, compiling)}`] : [formatPart(ms, decimals), formatShare(ratio)];
    const emphasis = ms === 0 ? " q" : category === emphasized ? " top" : "";
    const title = `${CATEGORY_LABELS[category] ?? category}: ${formatMs(ms)} a step, ${formatPercent(ratio)}`;
    const name = h("span", categorySwatch(category), CATEGORY_LABELS[category] ?? category);
    list.append(labelled(name, values, { class: `tfp-cat${emphasis}`, title }));
  }
  const average = `A step, on average ${formatMs(overview.step_time?.avg ?? 0)}`;
  box.append(h("div.tfp-h", h("b", average), h("span", "ms · %")), list);
  return box;
}

export const overviewPanel: TraceBuilder = {
  name: "overview_panel",
  build(view) {
    const failure = view.data.meta.memory_failure;
    if (failure) {
      const { element } = new FailurePanel(view, failure, null);
      element.setAttribute("aria-label", "What happened"); // the memory view has the same under its own name
      view.root.append(h("div.tfp-ov-failed", element));
    } else {
      const hasSteps = (view.data.table("steps") ?? EMPTY_TABLE).n > 0;
      const [head, next] = [header(view), new WhatNext(view).element];
      const all = hasSteps ? [head, strips(view), next, breakdown(view)] : [head, next];
      view.root.append(h(hasSteps ? "div.tfp-ov" : "div.tfp-ov.no-steps", ...all));
    }
  },
  needs: ["steps"],
  atHost: "rebuilt",
  reads: "figures",
};
