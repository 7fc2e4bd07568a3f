/** A build function as a widget: its root element, theme, data and link, the host it follows, and what stands for it while data is missing. */

import type { Span } from "../data/columns";
import { Chosen, type Needs } from "../data/hosts";
import { connectLink, type Link } from "../data/link";
import type { TraceMeta } from "../data/meta";
import { noteDrawn } from "../data/page";
import { connectData, type Reads, type TraceData } from "../data/store";
import {
  type AnyModel,
  atEnd,
  guarded,
  type Host,
  type RenderProps,
  reasonOf,
  showFailures,
  type WidgetModule,
  within,
} from "../data/widget";
import { shortHost } from "../model/hosts";
import { hostOverview } from "../model/overview";
import { NOT_HERE, notKnownWords, waitingWords } from "../model/range";
import { button, emptyState, h, MANY_ROWS, paced, watchTheme } from "./dom";
import { HostBar } from "./host_bar";

interface Followers {
  /** The range or scope, or tables that figures of it are made from. */
  readonly compute: () => void;
  readonly select: () => void;
  readonly hover?: () => void;
}

/** What all views of the ops of a range follow; errors are shown in the view. */
export function follow(view: TraceView, { compute, select, hover }: Followers, more: readonly string[] = []): void {
  const { signal, data, link } = view;
  const later = paced(compute, signal, () => data.nRows("occurrences") > MANY_ROWS);
  for (const field of ["time_range", "whole_capture"] as const) link.on(field, later, signal);
  data.onTables(later, signal, ["occurrences", "steps", ...more]);
  link.on("selection", select, signal);
  if (hover) link.on("hover", hover, signal);
}

/** Selects ops, or nothing when exactly they are selected; no names change nothing. */
export function toggleSelection(link: Link, names: readonly string[]): void {
  if (names.length === 0) return;
  const wanted = new Set(names);
  const isChosen = wanted.size === link.selection.length && link.selection.every((name) => wanted.has(name));
  link.setSelection(isChosen ? [] : [...wanted]);
}

/** Makes all views be about a range, which may be a step; null is no range. */
export function chooseRange(link: Link, range: readonly [number, number] | null, step = -1): void {
  link.setTimeRange(range);
  link.setStep(step);
}

/** Draws the child of a trait into `el`; a child that cannot be drawn says so there and leaves the others alone. */
export async function renderChild(view: View, trait: string, el: HTMLElement): Promise<void> {
  const ref = view.model.get(trait);
  if (ref) await renderWidget(view, ref, trait.replaceAll("_", " "), el);
  else el.remove();
}

/** The same of a widget that is referred to anywhere else; `name` is what it is called where it cannot be drawn. */
export async function renderWidget(
  { host, signal }: Pick<View, "host" | "signal">,
  ref: unknown,
  name: string,
  el: HTMLElement,
): Promise<void> {
  try {
    const child = await host.getWidget(String(ref), { signal });
    await child.render({ el, signal });
  } catch (error) {
    el.append(h("div.tfp-error", { role: "alert" }, `The ${name} view failed: ${reasonOf(error)}`));
  }
}

/** Whether views are of one of several hosts, or of a host that may be opened in full. */
export function hasHosts({ hosts = [], is_summed }: TraceMeta): boolean {
  return hosts.length > 1 || is_summed === true;
}

/** A view that is built sooner shows no placeholder: it would only flash. */
const PATIENCE_MS = 200;
const PS_PER_NS = 1000;

/** Resolves when the tables and lists are here; until then the view's place says what it waits for. */
async function waitFor(view: TraceView, names: readonly string[]): Promise<void> {
  const { data, root, signal } = view;
  const isMissing = (name: string) => !data.isWhole(name);
  if (names.some(isMissing)) await data.unpacked("all");
  const missing = names.filter(isMissing);
  if (missing.length === 0 || (data.window && data.isOffline)) return;
  const ended = within(signal);
  const bar = h("progress", { "aria-label": "Parts that have arrived" });
  const words = h("span");
  const box = h("div.tfp-waiting", { role: "status" }, words, bar);
  const say = () => {
    const [here, all] = data.arrived(missing);
    const text = data.problem || (data.isOffline ? NOT_HERE : waitingWords(missing, here, all, data.hasKernel));
    if (words.textContent !== text) words.textContent = text;
    bar.hidden = data.isOffline || data.problem !== "";
    bar.max = all;
    bar.value = here;
  };
  say();
  const timer = setTimeout(() => root.append(box), data.isOffline ? 0 : PATIENCE_MS);
  data.onChange(say, ended.signal);
  await data.ready(missing);
  clearTimeout(timer);
  ended.abort();
  box.remove();
}

/** A note above the view, which goes where there are no words. */
function noteAbove(root: HTMLElement): (...words: (string | HTMLElement)[]) => void {
  const box = h("div.tfp-left-out", { role: "note" });
  return (...words) => {
    box.replaceChildren(...words);
    if (words.length === 0) box.remove();
    else if (!box.isConnected) root.prepend(box);
  };
}

/** Hides the view where its figures would be of what happens to be here, and says why, for as long as that is so. */
function sayWhatIsMissing(view: TraceView, chosen: Chosen) {
  const { root, signal, whole } = view;
  const note = noteAbove(root);
  const update = () => {
    const { missing } = chosen;
    root.classList.toggle("tfp-unknown", missing.length > 0);
    note(...(missing.length > 0 ? whyMissing(view, missing) : []));
  };
  whole.data.onChange(update, signal);
  for (const field of ["time_range", "host"] as const) whole.link.on(field, update, signal);
  update();
}

/** Of executions, of the whole capture: a window has none. */
const TOTALS = ["unit_totals", "host_totals", "step_totals", "kernel_totals", "kernel_step_totals"];

function whyMissing(view: TraceView, missing: readonly string[]): (string | HTMLElement)[] {
  const { data, link } = view;
  const { window } = data;
  const [here, all] = data.arrived(missing);
  if (window === null && !data.isOffline)
    return [
      `${link.timeRange ? "Figures of a range follow. " : ""}${waitingWords(missing, here, all, data.hasKernel)}`,
    ];
  if (window === null || missing.some((name) => !TOTALS.includes(name) && data.table(name) === undefined))
    return [NOT_HERE];
  return offerKept(view, window);
}

/** That the figures are not known, and a button that makes all views be about what is here. */
export function offerKept({ data, link, signal }: TraceView, window: Span): (string | HTMLElement)[] {
  const [why, held] = notKnownWords(data.meta, data.table("steps"), window, link.timeRange !== null);
  const inside = [Math.ceil(window.t0 / PS_PER_NS), Math.floor(window.t1 / PS_PER_NS)] as const;
  const show = button(`Show ${held}`, () => link.setTimeRange(inside), signal, { class: "link" });
  return [`${why} `, show];
}

const GROUP = '[role="group"][aria-label]';
const BOX = 'input[type="search"][aria-label]';

/** What the reader chose, by the names of the controls. */
function keptControls(root: HTMLElement): (next: HTMLElement) => void {
  const pressed = new Map<string, string>();
  for (const group of root.querySelectorAll(GROUP)) {
    const button = group.querySelector(':scope > button[aria-pressed="true"]');
    if (button) pressed.set(labelOf(group), button.textContent ?? "");
  }
  const written = new Map<string, string>();
  for (const input of root.querySelectorAll<HTMLInputElement>(BOX)) {
    if (input.value !== "") written.set(labelOf(input), input.value);
  }
  return (next) => {
    for (const group of next.querySelectorAll(GROUP)) {
      const text = pressed.get(labelOf(group));
      for (const button of group.querySelectorAll<HTMLElement>(':scope > button[aria-pressed="false"]')) {
        if (button.textContent === text) button.click();
      }
    }
    for (const input of next.querySelectorAll<HTMLInputElement>(BOX)) {
      const text = written.get(labelOf(input));
      if (text === undefined) continue;
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
}

const labelOf = (element: Element) => element.getAttribute("aria-label") ?? "";

/** The view as long as what is drawn is of one host: drawn anew, or built anew for another one. */
class Hosted {
  readonly #note: ReturnType<typeof noteAbove>;
  #built: AbortController | null = null;
  #isEmpty = false;

  constructor(
    readonly view: TraceView,
    readonly chosen: Chosen,
    readonly builder: TraceBuilder,
  ) {
    const { whole, signal } = view;
    this.#note = noteAbove(view.root);
    whole.link.on("host", () => this.#follow(), signal);
    whole.link.on("time_range", () => this.#say(), signal);
    whole.data.onTables(() => chosen.tell(), signal, ["host_totals"]);
  }

  async start(): Promise<void> {
    if (this.view.signal.aborted) return;
    const built = within(this.view.signal);
    this.#built = built;
    // What was built for another host must not draw.
    const onTheme = (listener: () => void) => this.view.onTheme(() => !built.signal.aborted && listener());
    const view = { ...this.view, signal: built.signal, onTheme };
    const { nothing } = this.chosen;
    this.#isEmpty = nothing !== "";
    if (this.#isEmpty) view.root.append(this.#emptyState(nothing));
    else {
      await this.builder.build(view);
      if (built.signal.aborted) return;
      sayWhatIsMissing(view, this.chosen);
    }
    this.#say();
  }

  #follow(): void {
    const { chosen } = this;
    const { whole } = this.view;
    void whole.data.ready(["host_totals"]);
    if (!chosen.choose()) return;
    if (this.builder.atHost !== "rebuilt" && !this.#isEmpty && chosen.nothing === "") {
      chosen.tell();
      this.#say();
    } else void this.#rebuild();
  }

  async #rebuild(): Promise<void> {
    const { root } = this.view;
    this.#built?.abort();
    const keep = keptControls(root);
    // The page must not jump.
    root.style.minHeight = `${root.offsetHeight}px`;
    root.replaceChildren();
    try {
      await this.start();
      keep(root);
    } catch (error) {
      this.view.fail(error);
    } finally {
      root.style.minHeight = "";
    }
  }

  #emptyState(words: string): HTMLElement {
    const { signal, link, data } = this.view;
    const why = "Other hosts did. Choose another one, or all of them.";
    const box = emptyState(`${data.of} ${words}`, why, "", signal);
    box.append(
      h(
        "p",
        button("All hosts", () => link.setHost(""), signal),
      ),
    );
    return box;
  }

  /** What the figures are not of. */
  #say(): void {
    const { caveats } = this.chosen;
    this.#note(...(caveats ? [caveats] : []));
  }
}

export interface View {
  /** `.tfp` element with `data-tfprof` and `data-theme`; empty when the build starts. */
  readonly root: HTMLElement;
  readonly model: AnyModel;
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly options: Readonly<Record<string, unknown>>;
  onTheme(listener: () => void): void;
  /** Shows an error in the view's own place; the other views stay alive. */
  fail(error: unknown): void;
  /** `fn` with its errors shown by `fail`: `on`, the link and the data do so with what they tell until `signal`. */
  guard<A extends unknown[]>(fn: (...args: A) => unknown): (...args: A) => void;
}

export interface TraceView extends View {
  /** Of what is chosen; steps are then those of the chosen host. */
  readonly link: Link;
  readonly data: TraceData;
  /** Of all hosts, for what is about hosts. */
  readonly whole: { readonly link: Link; readonly data: TraceData };
}

const ALWAYS = ["ops", "op_shares"];

export interface ViewBuilder {
  readonly name: string;
  build(view: View): void | Promise<void>;
}

/** A kind of view with the `link` and `data` references; it is built when what it needs is here. */
export interface TraceBuilder extends Needs {
  readonly name: string;
  /** When another host is chosen it is built anew, or stays the same, being of all hosts; else its tables change, which it follows. */
  readonly atHost?: "rebuilt" | "same";
  /** All that it reads at first; a view in sight when the page opens says it, so as not to wait for more. */
  readonly reads?: Reads;
  build(view: TraceView): void | Promise<void>;
}

export function mount(builder: TraceBuilder): WidgetModule {
  const { name, build, needs = [], atHost } = builder;
  const buildAll = async (view: View) => {
    const [link, data] = await Promise.all([
      connectLink(view.host, String(view.model.get("link")), view.signal),
      connectData(view.host, String(view.model.get("data")), view.signal, builder.reads),
    ]);
    if (view.signal.aborted) return;
    const whole = { link, data };
    const chosen = new Chosen(whole, { overview: hostOverview, shortName: shortHost }, builder);
    const { link: own, data: part } = chosen;
    const traceView: TraceView = { ...view, ...(atHost === "same" ? whole : { link: own, data: part }), whole };
    // A view of a dashboard or of a comparison is inside another one.
    const isAlone = view.root.parentElement?.closest("[data-tfprof]") === null;
    if (hasHosts(data.meta) && isAlone && name !== "dashboard") addHostBar(traceView);
    await waitFor(traceView, [...ALWAYS, ...needs, ...(link.host === "" ? [] : ["host_totals"])]);
    if (view.signal.aborted) return;
    if (atHost !== "same") return new Hosted(traceView, chosen, builder).start();
    await build(traceView);
    sayWhatIsMissing(traceView, chosen);
  };
  return mountPlain({ name, build: buildAll });
}

function addHostBar({ root, whole: { link, data }, signal }: TraceView): void {
  const place = h("div.tfp.tfp-hosts", new HostBar({ link, data, signal }).element);
  watchTheme(place, () => undefined, signal);
  root.before(place);
  atEnd(signal, () => place.remove());
}

export function mountPlain({ name, build }: ViewBuilder): WidgetModule {
  return {
    async render(props: RenderProps) {
      if (props.signal?.aborted) return;
      const view = prepare(name, props);
      noteDrawn(name, props.model.get("data"), view.signal); // from here on it is its own place that tells what goes wrong
      try {
        const text = props.model.get("options");
        if (typeof text === "string" && text) Object.assign(view.options, JSON.parse(text));
        await build(view);
      } catch (error) {
        view.fail(error);
      }
    },
  };
}

function prepare(name: string, { model, el, host, signal: given }: RenderProps): View {
  // One of its own, which no other view has: errors are shown where what listens until it belongs.
  const { signal } = within(given ?? new AbortController().signal);
  const root = h(`div.tfp.tfp-${name}`, { "data-tfprof": name });
  el.append(root);
  atEnd(signal, () => root.remove());
  const fail = (error: unknown) => {
    if (!signal.aborted) showError(root, name, error);
  };
  showFailures(signal, fail);
  const guard: View["guard"] = (fn) => guarded(fn, signal);
  const listeners: (() => void)[] = [];
  watchTheme(root, () => listeners.forEach((listener) => void listener()), signal);
  const onTheme = (listener: () => void) => void listeners.push(guard(listener));
  return { root, model, host, signal, options: {}, onTheme, fail, guard };
}

/** One error box per view, at its top; the last error wins. Text only: a message may quote the trace. */
function showError(root: HTMLElement, name: string, error: unknown) {
  console.error(`tfprof_widgets ${name}:`, error);
  const box = root.querySelector<HTMLElement>(":scope > .tfp-error") ?? h("div.tfp-error", { role: "alert" });
  if (!root.contains(box)) root.prepend(box);
  box.textContent = `The ${name.replace("_", " ")} view failed: ${reasonOf(error)} The other views still work; re-running the cell makes a new one.`;
}
