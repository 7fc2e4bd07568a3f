/** The views of one profile on one page: overview, step chart and timeline on top, the others in tabs, drawn when first looked at. */

import { STEADY } from "../../data/columns";
import type { TraceMeta } from "../../data/meta";
import { type AnyModel, atEnd, drawn, reasonOf, within } from "../../data/widget";
import { hostCuts, hostsOf, shortHost } from "../../model/hosts";
import { describeRange, hasSteady } from "../../model/range";
import { formatCount, formatMs, formatPercent, plural } from "../../model/text";
import { BRING_VIEW, SHOW_VIEW, TabBar, VIEW_TITLES } from "../../ui/controls";
import { button, h, on, say, setAria, textFits, titledAlike, watchSize } from "../../ui/dom";
import { HostBar, openCode } from "../../ui/host_bar";
import { chooseRange, hasHosts, renderChild, type TraceBuilder, type TraceView } from "../../ui/view";

interface TabView {
  readonly trait: string;
  readonly count?: (meta: TraceMeta) => number;
  /** Whether there is anything for it to show; always when left out. */
  readonly isThere?: (meta: TraceMeta) => boolean;
}

interface Tab {
  /** Of several views; a single one gives its own. */
  readonly title?: (meta: TraceMeta) => string;
  /** The part of a step that it is about. */
  readonly part?: string;
  readonly views: readonly TabView[];
}

type List = "kernels" | "hlo_ops" | "pipelines";

function rowsOf(meta: TraceMeta, name: List): number {
  return meta.sections?.[name]?.n_rows ?? meta[name]?.length ?? 0;
}

const has = (name: List) => (meta: TraceMeta) => rowsOf(meta, name) > 0;

function hasInput(meta: TraceMeta): boolean {
  return has("pipelines")(meta) || (meta.input?.ops.length ?? 0) > 0;
}

function hasMemory(meta: TraceMeta): boolean {
  return Boolean(meta.memory_failure) || (meta.n_allocators ?? meta.allocators?.length ?? 0) > 0;
}

/** XLA compiles for CPUs, too. */
function deviceTitle(meta: TraceMeta): string {
  const names = meta.planes.filter(({ kind }) => kind === "device").map(({ name }) => name);
  return names.length === 0 ? "XLA" : names.every((name) => name.includes("TPU")) ? "TPU" : "GPU";
}

function countHosts(meta: TraceMeta): number {
  return Math.max(meta.hosts?.length ?? 0, meta.worker_hosts?.length ?? 0);
}

const TABS: readonly Tab[] = [
  { views: [{ trait: "op_table", count: (meta) => meta.n_ops ?? meta.op_name.length }] },
  { title: () => "Code", views: [{ trait: "source_view" }, { trait: "tree_view" }] },
  { views: [{ trait: "layer_table" }] },
  { views: [{ trait: "memory_timeline", isThere: hasMemory }] },
  { part: "input", views: [{ trait: "input_graph", isThere: hasInput }] },
  {
    title: deviceTitle,
    part: "device_compute",
    views: [
      { trait: "kernel_table", count: (meta) => rowsOf(meta, "kernels"), isThere: has("kernels") },
      { trait: "hlo_table", count: (meta) => rowsOf(meta, "hlo_ops"), isThere: has("hlo_ops") },
      { trait: "copy_table", isThere: (meta) => meta.sections?.copies !== undefined || meta.copies !== undefined },
      { trait: "roofline_chart", isThere: ({ sections, roofline }) => (sections?.roofline ?? roofline) !== undefined },
    ],
  },
  { views: [{ trait: "worker_chart", count: countHosts, isThere: (meta) => countHosts(meta) > 1 }] },
];

interface Limit {
  readonly text: string;
  /** Trait of the view that it is about; "" for the capture as a whole. */
  readonly view: string;
  readonly is_told?: boolean;
}

interface TabNames {
  titleOf(trait: string): string | undefined;
  isOffered(trait: string): boolean;
  show(trait: unknown, how: { readonly moves: boolean }): void;
}

/** Of a text, what comes before a colon; a longer beginning is no headline. */
const HEADLINE = /^(.{1,80}?): /;

function limitsOf({ data, options }: TraceView): readonly Limit[] {
  const { memory_failure: failure, memory_remedy: remedy } = data.meta;
  const limits = (options.limits ?? []) as readonly Limit[];
  // The overview tells of a failed allocation, and more of it.
  const told = failure ? limits.filter(({ text }) => !text.startsWith(failure.sentence)) : limits;
  // Where there is some memory, its view tells what is missing.
  if (!remedy || hasMemory(data.meta)) return told;
  const text = `Memory was not recorded: ${remedy.split("\n")[0].replace(/:$/, ".")}`;
  return [...told, { text, view: "memory_timeline" }];
}

/** How many limits there are, which of them are about everything, and where the others are told; opened, all of them. */
function limitLine({ options, signal }: TraceView, limits: readonly Limit[], tabs: TabNames): HTMLElement | null {
  if (limits.length === 0) return null;
  const counted = plural(limits.length, "limit");
  const head = options.outcome === "complete" ? `Capture complete, ${counted}` : `${counted} of this capture`;
  const placeOf = (view: string) =>
    view === "timeline" ? "Timeline" : tabs.isOffered(view) ? tabs.titleOf(view) : undefined;
  const others = limits.filter(({ view }) => placeOf(view) === undefined);
  const places = [...new Set(limits.flatMap(({ view }) => placeOf(view) ?? []))];
  const about = [
    ...others.map(({ text }) => HEADLINE.exec(text)?.[1] ?? text.replace(/\.$/, "")),
    ...(places.length > 0 ? [`in ${places.join(", ")}`] : []),
  ];
  const items = limits.map(({ text, view }) => {
    const title = tabs.titleOf(view);
    const head = HEADLINE.exec(text)?.[1];
    const words = head ? [h("b", `${head}:`), text.slice(head.length + 1)] : [text];
    const open = () => tabs.show(view, { moves: true });
    const link = title === undefined ? [] : [" ", button(`See ${title}`, open, signal, { class: "link" })];
    return h("p", ...words, ...link);
  });
  const line = h("summary", h("b", head), about.length > 0 && h("span", `: ${about.join(" · ")}`));
  const isCalm = limits.every(({ view }) => view !== "");
  return h(
    isCalm ? "details.note.calm" : "details.note",
    { role: "status" },
    line,
    h(isCalm ? "div.tfp-over" : "div", ...items),
  );
}

function limitNote(limits: readonly Limit[], trait: string): HTMLElement | null {
  const words = limits.filter(({ view, is_told }) => view === trait && !is_told).map(({ text }) => text);
  return words.length > 0 ? h("p.tfp-limit.q", words.join(" ")) : null;
}

/** One view or several of which one is shown, each drawn when it is first looked at. */
class Views {
  readonly elements: readonly HTMLElement[];
  readonly #bar: TabBar | null;
  readonly #places: readonly HTMLElement[];
  readonly #drawn = new Set<number>();
  #chosen: number;

  constructor(
    readonly view: TraceView,
    readonly tab: Tab,
    readonly title: string,
    limits: readonly Limit[],
  ) {
    const { meta } = view.data;
    const { views } = tab;
    const isThere = views.map((one) => one.isThere?.(meta) ?? true);
    this.#chosen = Math.max(0, isThere.indexOf(true));
    const titles = views.map(({ trait, count }, i) => {
      return { text: VIEW_TITLES[trait], note: count && formatCount(count(meta)), isHidden: !isThere[i] };
    });
    this.#bar = views.length > 1 ? new TabBar(title, titles, (chosen) => this.#choose(chosen), view.signal) : null;
    this.#places = views.map(({ trait }, i) => {
      const note = isThere[i] ? limitNote(limits, trait) : null; // an empty view says why
      const place = h(note ? "div.place.limited" : "div.place", note);
      this.#bar?.panels[i].append(place);
      return place;
    });
    this.elements = this.#bar ? [this.#bar.bar, ...this.#bar.panels] : this.#places;
    this.#bar?.choose(this.#chosen);
  }

  #choose(chosen: number): void {
    this.#chosen = chosen;
    if (this.#drawn.size > 0) this.draw();
  }

  draw(): void {
    const chosen = this.#chosen;
    if (this.#drawn.has(chosen)) return;
    this.#drawn.add(chosen);
    void renderChild(this.view, this.tab.views[chosen].trait, this.#places[chosen]);
  }

  show(trait: unknown): void {
    this.#bar?.choose(this.tab.views.findIndex((one) => one.trait === trait));
  }
}

class Tabs implements TabNames {
  readonly #bar: TabBar;
  readonly #titles: readonly string[];
  readonly #offered: readonly boolean[];
  readonly #views: readonly Views[];
  #chosen = 0;
  #isHeld = true;
  #isTouched = false;

  constructor(
    readonly view: TraceView,
    limits: readonly Limit[],
  ) {
    const { meta } = view.data;
    const ofStep = (part?: string) => {
      const found = meta.overview.breakdown?.find(({ category }) => category === part);
      return found && found.ms > 0 && `${formatMs(found.ms)} · ${formatPercent(found.ratio)}`;
    };
    const titles = TABS.map(({ title, views, part }) => ({
      text: title?.(meta) ?? VIEW_TITLES[views[0].trait],
      note: ofStep(part) || (views.length === 1 && views[0].count && formatCount(views[0].count(meta))),
      isHidden: !views.some(({ isThere }) => isThere?.(meta) ?? true),
    }));
    this.#titles = titles.map(({ text }) => text);
    this.#offered = titles.map(({ isHidden }) => !isHidden);
    this.#views = TABS.map((tab, i) => new Views(view, tab, this.#titles[i], limits));
    this.#bar = new TabBar("Views", titles, (chosen) => this.#onChoose(chosen), view.signal);
    const touch = () => {
      this.#isTouched = true;
    };
    for (const element of [this.bar, ...this.panels]) on(element, view.signal, { pointerdown: touch, focusin: touch });
    this.#views.forEach(({ elements }, i) => {
      this.panels[i].append(...elements);
    });
  }

  get bar(): HTMLElement {
    return this.#bar.bar;
  }
  get panels(): readonly HTMLElement[] {
    return this.#bar.panels;
  }

  titleOf(trait: string): string | undefined {
    return this.#titles[tabOf(trait)];
  }

  isOffered(trait: string): boolean {
    return this.#offered[tabOf(trait)] ?? false;
  }

  start(): void {
    this.#isHeld = false;
    this.#views[this.#chosen].draw();
  }

  /** Opens the tab that shows what the first card is about, or what ran out of memory, unless a reader was at the tabs. */
  async followAdvice(): Promise<void> {
    const { data, signal } = this.view;
    await data.ready(["advice", "attribution"]);
    const { advice = [], attribution = [], memory_failure: failure } = data.meta;
    const [first] = advice;
    if (signal.aborted || this.#isTouched) return;
    if (failure && this.isOffered("memory_timeline")) return this.choose("memory_timeline");
    if (first === undefined) return;
    const hasLine = attribution.some(({ advice, line }) => advice === 0 && line !== "");
    const wanted = tabOf(first.view) >= 0 || !hasLine ? first.view : "source_view";
    if (first.gain_ratio > 0 && this.isOffered(wanted)) this.choose(wanted);
  }

  choose(trait: unknown): void {
    const wanted = tabOf(trait);
    this.#views[Math.max(0, wanted)].show(wanted < 0 ? TABS[0].views[0].trait : trait);
    this.#bar.choose(Math.max(0, wanted));
  }

  #onChoose(chosen: number): void {
    this.#chosen = chosen;
    if (!this.#isHeld) this.#views[chosen].draw();
  }

  /** Opens the tab of a trait, also one that had nothing to offer, and where asked to moves there whoever came by keys. */
  show(trait: unknown, { moves }: { readonly moves: boolean }): void {
    const wanted = tabOf(trait);
    this.#isTouched = true;
    if (wanted < 0) return;
    this.choose(trait);
    if (moves) this.#bar.focus(wanted);
  }
}

function tabOf(trait: unknown): number {
  return TABS.findIndex(({ views }) => views.some((one) => one.trait === trait));
}

/** From then on it is said that reading takes a while. */
const SLOW_MS = 3000;

export class OpenedHost {
  readonly element = h("div", { hidden: true });
  readonly say = h("div.tfp-opening", { role: "status", hidden: true });
  #drawn: AbortController | null = null;
  #asked: AbortController | null = null;
  #ref: unknown = null;

  constructor(
    readonly view: TraceView,
    readonly place: HTMLElement,
  ) {
    const { model, signal, guard } = view;
    const update = guard(() => this.#update());
    model.on("change:opened", update);
    atEnd(signal, () => model.off("change:opened", update));
    this.#update();
  }

  /** Has the kernel read a host. Its answer is the dashboard, however long that takes. */
  async open(host: string): Promise<void> {
    this.#asked?.abort();
    const asked = within(this.view.signal);
    this.#asked = asked;
    const short = shortHost(host, hostsOf(this.view.data.meta));
    const say = (...words: (string | HTMLElement)[]) => {
      this.say.hidden = false;
      this.say.replaceChildren(...words);
    };
    const bar = () => h("progress", { "aria-label": `Reading ${short}` });
    say(bar(), ` Reading ${short} …`);
    const slow = setTimeout(() => {
      const words = ` Reading ${short} … The kernel answers when it is free. `;
      say(bar(), words, ...openCode(host, asked.signal));
    }, SLOW_MS);
    try {
      await this.view.data.call("open_host", { host }, asked.signal);
      if (!asked.signal.aborted) this.say.hidden = true;
    } catch (error) {
      if (asked.signal.aborted) return;
      const words = h("span", { role: "alert" }, `${short} could not be opened: ${reasonOf(error)} `);
      say(words, ...openCode(host, asked.signal));
    } finally {
      clearTimeout(slow);
    }
  }

  #update(): void {
    const { model } = this.view;
    const ref = model.get("opened") ?? null;
    if (ref === this.#ref) return;
    this.#ref = ref;
    this.#drawn?.abort();
    this.element.replaceChildren();
    this.element.hidden = ref === null;
    this.place.hidden = ref !== null;
    if (ref === null) return;
    this.#drawn = within(this.view.signal);
    this.say.hidden = true;
    void this.#show(model, this.#drawn.signal);
  }

  async #show(model: AnyModel, signal: AbortSignal): Promise<void> {
    const close = () => {
      model.set("opened", null);
      model.save_changes();
    };
    const title = h("b", await this.#title());
    if (signal.aborted) return;
    const back = button("Back to all hosts", close, signal);
    const bar = h("div.tfp-host-bar", { role: "region", "aria-label": "Opened host" }, title, back);
    const place = h("div");
    this.element.append(bar, place);
    back.focus({ preventScroll: true });
    await renderChild({ ...this.view, signal }, "opened", place);
  }

  async #title(): Promise<string> {
    const { host, signal } = this.view;
    try {
      const opened = await host.getModel(String(this.#ref), { signal });
      const { title } = JSON.parse(String(opened.get("options") ?? "{}")) as { title?: unknown };
      return typeof title === "string" ? title : "";
    } catch {
      return "";
    }
  }
}

const HOST_PX = 150;
const NARROW_PX = 1100;

/** The timeline may have to wait for its kernel; the others do not wait for it that long. */
const PATIENCE_MS = 1000;

/** What the tabs are about: a range, else the averaged steps or the whole capture; and the way back to all hosts. */
class Chip {
  readonly element = h("span.tfp-chip", h("span.q.opt", "Showing"));
  readonly #words = h("span.cut", { role: "status" });
  readonly #box: HTMLElement;
  readonly #clear: HTMLButtonElement;
  /** Without a range: the averaged steps, or the whole capture. */
  readonly #scopes: HTMLElement;
  readonly #steps: HTMLButtonElement;
  readonly #whole: HTMLButtonElement;
  readonly #host = h("span.cut");
  readonly #hostBox: HTMLElement;

  constructor(readonly view: TraceView) {
    const clearHost = button("×", () => view.link.setHost(""), view.signal, titledAlike("Show all hosts"));
    this.#hostBox = h("span.of-host.fix", { role: "status" }, this.#host, clearHost);
    this.#clear = button("×", () => chooseRange(view.link, null), view.signal, titledAlike("Clear the range"));
    this.#box = h("span.c", this.#words, this.#clear);
    const set = (isWhole: boolean) => () => view.link.setWholeCapture(isWhole);
    this.#steps = button("", set(false), view.signal);
    const title = "Times of the whole capture, start included";
    this.#whole = button("whole capture", set(true), view.signal, { title });
    this.#scopes = h("span.seg", { role: "group", "aria-label": "What all figures are of" }, this.#steps, this.#whole);
    this.element.append(this.#box, this.#scopes);
    for (const field of ["time_range", "whole_capture"] as const) view.link.on(field, () => this.#show(), view.signal);
    view.data.onTables(() => this.#show(), view.signal, ["steps", "step_totals"]);
    watchSize(view.root, view.signal, () => this.#show());
    this.#show();
  }

  #show(): void {
    const { link, data } = this.view;
    const { host } = link;
    const range = link.timeRange;
    const rangePs = range === null ? null : ([range[0] * 1000, range[1] * 1000] as const);
    const { clientWidth } = this.view.root;
    const isNarrow = clientWidth > 0 && clientWidth < NARROW_PX;
    const room = isNarrow ? HOST_PX / 2 : HOST_PX;
    this.#host.textContent = hostCuts([host], hostsOf(data.meta), textFits(this.element, room))(host);
    this.#hostBox.title = host;
    if (host === "") this.#hostBox.remove();
    else this.#box.before(this.#hostBox);
    const { meta } = data;
    const steps = data.table("steps");
    say(this.#words, describeRange(meta, steps, rangePs));
    this.#box.classList.toggle("whole", range === null);
    this.#clear.hidden = range === null;
    const isSwitch = range === null && hasSteady(data.table);
    this.#box.hidden = isSwitch;
    this.#scopes.hidden = !isSwitch;
    if (!isSwitch) return;
    const words = describeRange(meta, steps, STEADY);
    this.#steps.textContent = isNarrow ? "a step" : words;
    this.#steps.title = `Times a step, ${words}`;
    setAria(this.#steps, "pressed", !link.isWholeCapture);
    setAria(this.#whole, "pressed", link.isWholeCapture);
  }
}

/** The box to choose a host, above everything, and what stands in place of it all where a host is opened in full. */
function hostParts(view: TraceView, body: HTMLElement): HTMLElement[] {
  const { signal, root, whole } = view;
  const opened = new OpenedHost(view, body);
  root.append(opened.element);
  const bar = new HostBar({ ...whole, signal, onOpen: (host) => void opened.open(host) });
  return [bar.element, opened.say];
}

/** What the compact form leaves away until it is asked for: all below the overview, and all cards but the first. */
function openingOf(view: TraceView, body: HTMLElement, rest: HTMLElement) {
  let resolve = () => {};
  const opened = new Promise<void>((done) => {
    resolve = done;
  });
  const more = button("Show all views", () => open(), view.signal, { class: "tfp-more" });
  const open = () => {
    if (!rest.hidden) return;
    rest.hidden = false;
    body.classList.remove("short");
    more.remove();
    resolve();
  };
  rest.hidden = true;
  body.classList.add("short");
  body.append(more);
  return { open, opened };
}

export const dashboard: TraceBuilder = {
  name: "dashboard",
  reads: "figures",
  async build(view) {
    // Tabs and limits are of all hosts, whichever is chosen.
    const all = { ...view, ...view.whole };
    const [overview, steps, timeline] = [h("div.place"), h("div.place"), h("div.place.timeline")];
    const limits = limitsOf(all);
    const tabs = new Tabs(all, limits);
    tabs.bar.append(new Chip(view).element);
    const limit = limitLine(view, limits, tabs);
    const isCalm = limit?.classList.contains("calm");
    const top = h("div.tfp-dash-top", overview, isCalm && limit, steps, timeline);
    const rest = h("div.tfp-rest", tabs.bar, ...tabs.panels);
    const body = h("div.tfp-body", !isCalm && limit, top, rest);
    const opening = view.options.compact === true ? openingOf(view, body, rest) : null;
    if (hasHosts(view.data.meta)) body.prepend(...hostParts(view, body));
    view.root.append(body);
    const keydown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || view.link.timeRange === null) return;
      event.preventDefault();
      chooseRange(view.link, null);
    };
    on(view.root, view.signal, { keydown });
    for (const name of [SHOW_VIEW, BRING_VIEW]) {
      const show = (event: Event) => {
        opening?.open();
        tabs.show((event as CustomEvent<unknown>).detail, { moves: name === SHOW_VIEW });
      };
      view.root.addEventListener(name, view.guard(show), { signal: view.signal });
    }
    tabs.choose(view.options.tab);
    if (!view.options.tab) void tabs.followAdvice();
    if (opening) {
      await renderChild(view, "overview_panel", overview);
      await opening.opened;
      if (view.signal.aborted) return;
      tabs.start();
      await Promise.all([renderChild(view, "step_chart", steps), renderChild(view, "timeline", timeline)]);
      return;
    }
    const first = [renderChild(view, "overview_panel", overview), renderChild(view, "timeline", timeline)];
    // The libraries of charts and tables take longer to start than the timeline takes to draw: it goes first.
    await Promise.race([Promise.all(first).then(drawn), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    if (view.signal.aborted) return;
    tabs.start();
    await Promise.all([...first, renderChild(view, "step_chart", steps)]);
  },
};
