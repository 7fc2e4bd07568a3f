/** How long a step takes, what limits it, where its time goes, what to do next. */

import { numbers, STEADY } from "../../data/columns";
import { type AdviceMeta, CATEGORY_LABELS, type OverviewMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { reasonOf, within } from "../../data/widget";
import { opColors } from "../../model/colors";
import { cutNames } from "../../model/names";
import { type LayerRow, layerRows, opsOfScope, withoutWaiting } from "../../model/ops";
import {
  compilingStep,
  decimalsOf,
  evidenceFacts,
  formatMsSpan,
  formatPart,
  formatShare,
  frameworkOf,
  gainWords,
  hostsOfOverview,
  isShown,
  largestPart,
  limitingSide,
  MARK_STEPS_CODE,
  markedWords,
  meanFigure,
  overviewFacts,
  selectsNothing,
  type TopOp,
  timeRangeOf,
  topOps,
} from "../../model/overview";
import { capturedPs, keepTogether, NOT_HERE, stepWords } from "../../model/range";
import { formatBytes, formatCount, formatMs, formatNumber, formatPercent, formatTime, plural } from "../../model/text";
import { BRING_VIEW, labelList, labelled, VIEW_TITLES } from "../../ui/controls";
import {
  button,
  copyButton,
  h,
  inFrame,
  on,
  onKeys,
  segmented,
  setAria,
  textFits,
  unspoken,
  watchSize,
} from "../../ui/dom";
import { FailurePanel } from "../../ui/failure_panel";
import { categorySwatch } from "../../ui/share_bar";
import { chooseRange, type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";

const N_CARDS = 3;
const BARS = { high: 3, medium: 2, low: 1 } as const;

interface Card extends Readonly<Record<"element" | "body" | "facts", HTMLElement>> {
  readonly title: HTMLButtonElement;
  readonly evidence: HTMLButtonElement;
}

class AdviceCards {
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
    const flip = () => show(rest.getAttribute("aria-expanded") !== "true");
    const rest = button("", flip, this.view.signal, { class: "link" });
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
    const flip = () => this.#open(title.getAttribute("aria-expanded") === "true" ? -1 : index);
    const about = { class: "title bare", "aria-controls": id, "aria-describedby": gain.id };
    const title = button("", flip, signal, about, h("span", one.headline || one.title));
    const where = VIEW_TITLES[one.view] ? ` and open ${VIEW_TITLES[one.view]}` : "";
    const tip = { title: `Select the evidence in every view${where}` };
    const evidence = button("Show evidence", () => this.#choose(index), signal, tip);
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
    const element = h("li", { class: `tfp-card ${one.severity}`, "data-rule": one.rule }, title, gain, body);
    return { element, title, body, evidence, facts };
  }

  #gain(one: AdviceMeta, id: string): HTMLElement {
    const [head, gain, time] = gainWords(one, this.view.data.meta.overview.step_time?.avg);
    const bars = Array.from({ length: 3 }, (_, i) => h("i", { class: i < BARS[one.severity] ? "on" : "off" }));
    const severity = h("span.sev", unspoken("span.bars", ...bars), ` ${one.severity}`);
    return h("div.gain", { id }, h("span", `${head} `, h("b", gain)), time && h("span.time", time), severity);
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
  const facts = evidenceFacts(one.evidence);
  if (one.n_stretches > 0) facts.push({ name: "marked in the timeline", value: markedWords(one) });
  const rows = facts.map(({ name, value }) => labelled(name, [value]));
  return labelList("evidence", "Evidence", ...rows);
}

const N_TOP_OPS = 6;

class TopOps {
  readonly list = h("ol");
  readonly unit = h("span.unit");
  /** Which side the ops are of; empty where only one has any. */
  readonly side: HTMLElement;
  #isDevice: boolean;

  constructor(readonly view: TraceView) {
    const { op_device } = view.data.meta;
    const sides = [1, 0].filter((side) => op_device.includes(side));
    this.#isDevice = sides[0] === 1;
    const choices = sides.map((side) => ({ value: String(side), text: side === 1 ? "device" : "host" }));
    const choose = (side: string) => {
      this.#isDevice = side === "1";
      this.draw();
    };
    const label = "Side of the ops";
    const isOne = choices.length < 2;
    const chosen = choices[0]?.value ?? "";
    this.side = isOne ? h("span") : segmented(label, choices, chosen, choose, view.signal, "tfp-words");
    const draw = inFrame(() => this.draw(), view.signal);
    view.link.on("selection", () => this.#followSelection(), view.signal);
    view.data.onTables(draw, view.signal, ["top_ops"]);
    watchSize(this.list, view.signal, draw);
    this.draw();
  }

  draw(): void {
    if (this.list.hidden) return;
    const { data } = this.view;
    const side = this.#isDevice ? 1 : 0;
    const top = topOps(data.meta, data.table("top_ops") ?? EMPTY_TABLE, side).slice(0, N_TOP_OPS);
    const isOfStep = numbers(data.table("steps") ?? EMPTY_TABLE, "is_averaged").some(Boolean);
    this.unit.textContent = `self time, ms ${isOfStep ? "a step " : ""}· %`;
    if (top.length === 0) {
      this.list.replaceChildren(h("li.q", "No op to list."));
      return;
    }
    const room = (this.list.clientWidth || 400) * 0.78 - 110;
    const names = top.map((row) => row.name);
    const cuts = cutNames(names, textFits(this.view.root, room));
    const items = top.map((row) => this.#item(row, cuts.get(row.name) ?? row.name, top[0].ms));
    this.list.replaceChildren(...items);
    this.#followSelection();
  }

  #item(row: TopOp, text: string, most: number): HTMLElement {
    const { link, data, signal } = this.view;
    const { categoryOf } = opColors(data.meta);
    const color = `var(--c-${categoryOf(row.op)})`;
    const bar = h("i", { style: { width: `max(1px, ${(row.ms / most) * 100}%)`, background: color } });
    const title = `${row.name}\n${row.type} on the ${this.#isDevice ? "device" : "host"}, ${plural(row.occurrences, "time")}`;
    const figures = [h("span.v", formatNumber(row.ms)), h("span.v.q", formatShare(row.ratio))];
    const attributes = { title, "data-op-name": row.name, class: "bare" };
    const pick = () => toggleSelection(link, [row.name]);
    return h("li", button("", pick, signal, attributes, h("span.name.cut", text), bar, ...figures));
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    for (const element of this.list.querySelectorAll("button")) {
      setAria(element, "pressed", chosen.has(element.getAttribute("data-op-name") ?? ""));
    }
  }
}

class Details {
  readonly element = h("span.tfp-more");
  readonly #button: HTMLButtonElement;
  readonly #box: HTMLElement;

  constructor(view: TraceView, label: string) {
    const { signal } = view;
    const id = `tfp-more-${Math.random().toString(36).slice(2)}`;
    const about = { "aria-expanded": "false", "aria-controls": id, title: "The machine, the capture and more figures" };
    this.#button = button(`${label} ▾`, () => this.#show(this.#box.hidden === true), signal, about);
    this.#box = h("div.tfp-facts", { id, role: "region", "aria-label": "Details", hidden: true });
    for (const { title, facts, notes } of overviewFacts(view.data.meta)) {
      const rows = facts.map(({ name, value, hint }) => labelled(name, [value], { title: hint }));
      const said = notes.map((note) => h("p.q", note));
      const list = rows.length > 0 && labelList("tfp-fact-list", title, ...rows);
      this.#box.append(h("section", h("h3", title), list, ...said));
    }
    this.element.append(this.#button, this.#box);
    const close = (event: Event) => {
      if (!event.composedPath().includes(this.element)) this.#show(false);
    };
    on(document, signal, { pointerdown: close });
    onKeys(this.element, signal, ({ key }) => this.#key(key));
  }

  #show(isShown: boolean): void {
    this.#box.hidden = !isShown;
    setAria(this.#button, "expanded", isShown);
  }

  #key(key: string): boolean {
    if (key !== "Escape" || this.#box.hidden) return false;
    this.#show(false);
    this.#button.focus();
    return true;
  }
}

/** What the tables call ops that send tensors from one device to another. */
const COPIES = "copies";
const SECTIONS = ["layers", "op_places", "step_totals", "batch_room"];

/** It has its height from the beginning: its words may come late, and nothing below may move. */
function glance({ data }: TraceView): HTMLElement {
  const line = h("small.glance", "\u00a0");
  void data.ready(SECTIONS).then(() => {
    const words = [costliest(data), data.meta.batch_room?.[0] ?? ""].filter(Boolean).join(" · ");
    line.textContent = words || "\u00a0";
    line.title = words;
  });
  return line;
}

/** As the layer table says it of the averaged steps, on the side whose ops limit them; empty where no side's do. */
function costliest(data: TraceView["data"]): string {
  const { meta } = data;
  const side = limitingSide(meta.overview);
  if (side === null) return "";
  const totals = withoutWaiting(meta, opsOfScope(meta, data.table, STEADY));
  const table = data.table("op_places") ?? EMPTY_TABLE;
  const places = { layer: numbers(table, "layer"), phase: numbers(table, "phase"), device: meta.op_device };
  // What the input pipeline computes runs beside the steps.
  const top = layerRows(meta.layers ?? [], places, totals, side, false).find(({ kind }) => kind !== "input");
  const name = top && top.selfPs > 0 ? nameOf(top) : "";
  if (!top || !name) return "";
  return `${name}, ${formatMs(top.selfPs / 1e9)} a step (${formatPercent(top.ratio)} of the ${side ? "device" : "host"})`;
}

/** Empty for ops of which it is not known what they are of. */
function nameOf({ kind, layer }: LayerRow): string {
  if (kind === "layer") return `Costliest layer: ${layer}`;
  if (kind === "other") return layer === COPIES ? "Costliest part: copies" : "";
  return `Costliest part: ${layer === kind ? layer : `${layer} (${kind})`}`;
}

/** Lists that may come after the first paint: finding them takes longer than everything else that the overview shows. */
const LATE = ["advice", "advice_notices"];

/** Reached by keys, as it may scroll; the notebook must not take those for its own. */
const LIST = {
  class: "tfp-next",
  tabindex: 0,
  "aria-label": "What to look at and to change",
  "data-lm-suppress-shortcuts": "true",
};

type Pane = "next" | "top";

class WhatNext {
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
    const { advice = [], advice_notices = [] } = this.view.data.meta;
    const notices = advice_notices.map((text) => h("li.tfp-healthy", text));
    if (advice.length > 0) {
      const cards = new AdviceCards(this.view, advice);
      cards.list.append(...notices);
      this.#panes("What to change", [cards.side], cards.list);
      return;
    }
    const healthy = nothingStandsOut(this.view);
    if (notices.length > 0) {
      this.#panes("What to change", [], h("ul", LIST, healthy && h("li", ...healthy), ...notices));
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
      { value: "next" as Pane, text: this.view.data.of === "" ? title : `${title}, all hosts` },
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
  const { meta } = view.whole.data;
  const largest = largestPart(meta.overview);
  const words = frameworkOf(meta) === "PyTorch" ? "There is no advice about PyTorch." : "Nothing to change stands out.";
  return largest ? [h("b", words), ` ${largest}`] : null;
}

function header(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const time = overview.step_time;
  const style = { "border-left-color": `var(--c-${overview.limiter || "other"}, var(--c-other))` };
  const verdict = h("div.tfp-verdict", { title: overview.verdict_detail, style });
  const words = overview.verdict || "No steps in this capture, so nothing can be said about a step.";
  verdict.append(...keepTogether(words).map((part, i) => (i % 2 ? h("span.nb", part) : part)));
  const detail = overview.verdict_detail || "";
  const since = view.options.since_last;
  if (detail) verdict.append(h("small.detail", detail));
  if (time && time.n > 0) verdict.append(glance(view));
  if (typeof since === "string" && since) verdict.append(h("small.since", since));
  const hasSteps = time !== undefined && time.n > 0;
  const none = h("div.tfp-fig", h("span.n.big", "–"), h("span.u", " ms a step"), h("div.d", "no step found"));
  const nHosts = hostsOfOverview(overview).length;
  const figure = hasSteps ? stepFigure(time, nHosts, overview.batches ?? "") : none;
  return h("header.tfp-ov-header", figure, verdict, sideFigures(view));
}

function stepFigure(time: NonNullable<OverviewMeta["step_time"]>, nHosts: number, batches: string) {
  const figure = meanFigure(time.avg, time.std);
  const steps = nHosts > 1 ? `${plural(time.n, "step")} of ${plural(nHosts, "host")}` : plural(time.n, "step");
  const counted = time.n_averaged < time.n ? `${formatCount(time.n_averaged)} of ${steps}` : steps;
  const range = time.n_averaged > 1 ? ` · ${formatMsSpan(time.min, time.max)}` : "";
  return h(
    "div.tfp-fig",
    h("span.n.big", figure.value),
    time.n_averaged > 1 ? h("span.n", ` ± ${figure.deviation}`) : "",
    h("span.u", ` ${figure.unit} a step`),
    batches ? h("div.d", batches) : "",
    h("div.d", `${counted}${range}`),
  );
}

function sideFigures(view: TraceView): HTMLElement {
  const { overview } = view.data.meta;
  const figures = h("div.tfp-figs");
  const add = (value: string, unit: string, note: string | HTMLElement) =>
    figures.append(h("div.tfp-fig", h("span.n", value), h("span.u", ` ${unit}`), h("div.d", note || " ")));
  const environment = environmentText(overview.environment ?? {});
  const avg = overview.step_time?.avg ?? 0;
  if (avg > 0) add(formatNumber(1000 / avg), "steps/s", `${formatTime(capturedPs(view.data.meta))} captured`);
  const details = new Details(view, environment || "Details").element;
  const memory = view.data.meta.device_memory;
  if (memory) {
    const [value, unit] = formatBytes(memory.peak_bytes).split(" ");
    const whole = formatBytes(memory.capacity_bytes);
    add(value, `${whole.endsWith(unit) ? "" : `${unit} `}of ${whole} GPU memory`, details);
    figures.lastElementChild?.setAttribute("title", `In use at the peak of ${memory.allocator}`);
  } else figures.append(h("div.tfp-fig", h("div.d", details)));
  return figures;
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

/** Categories that the guide to the profiler has not: each has a line only where it takes time. */
const BEYOND_THE_GUIDE: readonly string[] = ["copy_to_device", "dispatch", "sync", "checkpoint"];

function breakdown(view: TraceView): HTMLElement {
  const { data, signal } = view;
  const { overview } = data.meta;
  const steps = data.table("steps") ?? EMPTY_TABLE;
  const box = h("section.tfp-breakdown", { "aria-label": "A step, on average" });
  if (steps.n === 0 || !overview.breakdown?.length) {
    const why = "No step marker and nothing that repeats was found. Mark the steps of your loop:";
    const code = MARK_STEPS_CODE[frameworkOf(data.meta)];
    const copy = copyButton("Copy", () => code, signal);
    box.append(h("div.tfp-ov-none", { role: "status" }, h("p", why), h("pre", code), copy));
    return box;
  }
  const decimals = decimalsOf(overview.step_time?.avg ?? 0);
  const most = overview.breakdown.reduce((a, b) => (b.ms > a.ms ? b : a));
  // What the verdict is about is what stands out.
  const emphasized = overview.limiter || most.category;
  const compiling = compilingStep(steps);
  const list = labelList("tfp-cats", "Milliseconds and per cent of a step");
  const parts = overview.breakdown.filter(({ category, ms }) => ms > 0 || !BEYOND_THE_GUIDE.includes(category));
  for (const { category, ms, ratio } of parts) {
    const values =
      category === "compile" && ms === 0 && compiling >= 0
        ? [`in ${stepWords(data.meta.step_names, compiling)}`]
        : [formatPart(ms, decimals), formatShare(ratio)];
    const emphasis = ms === 0 ? " q" : category === emphasized ? " top" : "";
    const title = `${CATEGORY_LABELS[category] ?? category}: ${formatMs(ms)} a step, ${formatPercent(ratio)}`;
    const name = h("span", categorySwatch(category), CATEGORY_LABELS[category] ?? category);
    list.append(labelled(name, values, { class: `tfp-cat${emphasis}`, title }));
  }
  box.append(h("div.tfp-h", h("b", "A step, on average"), h("span", "ms · %")), list);
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
    } else view.root.append(h("div.tfp-ov", header(view), breakdown(view), new WhatNext(view).element));
  },
  needs: ["steps", "top_ops"],
  atHost: "rebuilt",
  reads: "figures",
};
