/** The views of one profile -> one page: overview, step chart and timeline on top, the others in tabs below. */

import { hostMeta } from "../../model/hosts/host_meta";
import { HostTables } from "../../model/hosts/host_tables";
import { hostCuts, hostsOf } from "../../model/hosts/hosts";
import { formatCount, plural } from "../../model/text/format";
import { hasSteady } from "../../model/time/scope";
import { describeRange } from "../../model/time/span_text";
import { STEADY } from "../../model/time/viewport";
import type { TraceMeta } from "../../model/wire/meta";
import type { Table } from "../../model/wire/wire";
import { renderChild } from "../../ui/child";
import { button, h, on } from "../../ui/dom";
import { HostBar } from "../../ui/host_bar";
import { drawn, textFits, watchSize } from "../../ui/page";
import { TabBar } from "../../ui/tabs";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { BRING_VIEW, SHOW_VIEW, VIEW_TITLES } from "../../ui/view_links";
import { OpenedHost } from "./opened";

/** Room for the name of a host in the chip. */
const HOST_PX = 150;
/** As in the style sheet. */
const NARROW_PX = 1100;

interface Tab {
  readonly trait: string;
  /** How many things the view lists. */
  readonly count?: (meta: TraceMeta) => number;
  /** Whether there is anything for it to show; always when left out. */
  readonly isThere?: (meta: TraceMeta) => boolean;
}

const TABS: readonly Tab[] = [
  { trait: "op_table", count: (meta) => meta.n_ops ?? meta.op_name.length },
  { trait: "source_view" },
  { trait: "layer_table" },
  { trait: "tree_view" },
  { trait: "memory_timeline" },
  { trait: "input_graph" },
  { trait: "kernel_table", count: (meta) => rowsOf(meta, "kernels") },
  { trait: "roofline_chart", isThere: (meta) => meta.sections?.roofline !== undefined || meta.roofline !== undefined },
  { trait: "hlo_table", count: (meta) => rowsOf(meta, "hlo_ops") },
  { trait: "worker_chart", count: (meta) => meta.worker_hosts?.length ?? 0 },
];

/** The timeline may have to wait for its kernel; the others do not wait for it that long. */
const PATIENCE_MS = 1000;

/** Rows of a list, here or still to come. */
function rowsOf(meta: TraceMeta, name: "kernels" | "hlo_ops"): number {
  return meta.sections?.[name]?.n_rows ?? meta[name]?.length ?? 0;
}

/** One line: a single notice, or how many there are and their headlines, which opens. A headline is what comes before a colon. */
function notices(view: TraceView): HTMLElement[] {
  const { meta } = view.data;
  const given = view.options.notices ?? meta.notices;
  const texts = Array.isArray(given) ? given.map(String) : [];
  // The overview tells of a failed allocation, and more of it.
  const failed = meta.memory_failure?.sentence;
  const shown = failed ? texts.filter((text) => !text.startsWith(failed)) : texts;
  const pieces = shown.map((text) => {
    const colon = text.indexOf(": ");
    return colon > 0 && colon < 80 ? [h("b", text.slice(0, colon + 1)), text.slice(colon + 1)] : [text];
  });
  if (pieces.length < 2) return pieces.map((parts) => h("div.note", { role: "status" }, ...parts));
  const headlines = pieces.map(([first]) => (typeof first === "string" ? first : first.textContent?.slice(0, -1)));
  const line = h("summary", h("b", `${plural(shown.length, "limit")} of this capture: `), headlines.join(" · "));
  return [h("details.note", { role: "status" }, line, ...pieces.map((parts) => h("p", ...parts)))];
}

class Tabs {
  readonly #bar: TabBar;
  readonly #tabs: readonly Tab[];
  readonly #drawn = new Set<number>();
  #chosen = 0;
  #isHeld = true;

  constructor(readonly view: TraceView) {
    const { meta } = view.data;
    this.#tabs = TABS.filter(({ isThere }) => isThere?.(meta) ?? true);
    const titles = this.#tabs.map(({ trait, count }) => ({
      text: VIEW_TITLES[trait],
      note: count && formatCount(count(meta)),
    }));
    this.#bar = new TabBar("Views", titles, (chosen) => this.#onChoose(chosen), view.signal);
  }

  get bar(): HTMLElement {
    return this.#bar.bar;
  }
  get panels(): readonly HTMLElement[] {
    return this.#bar.panels;
  }

  /** Draws the tab that is open, and from now on each when it is opened. */
  start(): void {
    this.#isHeld = false;
    this.#draw();
  }

  /** Opens the tab of a trait, the first one where there is none. */
  choose(trait: unknown): void {
    this.#bar.choose(Math.max(0, this.#find(trait)));
  }

  #find(trait: unknown): number {
    return this.#tabs.findIndex((tab) => tab.trait === trait);
  }

  #onChoose(chosen: number): void {
    this.#chosen = chosen;
    this.#draw();
  }

  #draw(): void {
    const chosen = this.#chosen;
    if (this.#isHeld || this.#drawn.has(chosen)) return;
    this.#drawn.add(chosen);
    void renderChild(this.view, this.#tabs[chosen].trait, this.panels[chosen]);
  }

  /** Opens the tab of a trait, and where asked to moves there whoever came by keys. */
  show(trait: unknown, { moves }: { readonly moves: boolean }): void {
    const wanted = this.#find(trait);
    if (wanted < 0) return;
    this.#bar.choose(wanted);
    if (moves) this.#bar.focus(wanted);
  }
}

/** The part of one host, as far as the chip needs it. */
interface About {
  readonly name: string;
  /** The steps of all hosts that it was made from. */
  readonly from: Table | undefined;
  readonly meta: TraceMeta;
  readonly steps: Table | undefined;
}

/** What the tabs are about: a range, else the averaged steps or the whole capture; and the way back to all hosts. */
class Chip {
  #about: About | null = null;
  readonly element = h("span.tfp-chip", h("span.q.lead", "Showing"));
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
    const clearHost = button("×", () => view.link.setHost(""), view.signal, {
      "aria-label": "Show all hosts",
      title: "Show all hosts",
    });
    this.#hostBox = h("span.of-host", { role: "status" }, this.#host, clearHost);
    this.#clear = button("×", () => clearRange(view), view.signal, {
      "aria-label": "Clear the range",
      title: "Clear the range",
    });
    this.#box = h("span.c", this.#words, this.#clear);
    const set = (isWhole: boolean) => () => view.link.setWholeCapture(isWhole);
    this.#steps = button("", set(false), view.signal);
    this.#whole = button("whole capture", set(true), view.signal, {
      title: "Times of the whole capture, start included",
    });
    this.#scopes = h("span.seg", { role: "group", "aria-label": "What all figures are of" }, this.#steps, this.#whole);
    this.element.append(this.#box, this.#scopes);
    for (const field of ["time_range", "whole_capture", "host"] as const)
      view.link.on(field, () => this.#show(), view.signal);
    view.data.onTables(() => this.#show(), view.signal, ["steps", "step_totals"]);
    watchSize(view.root, () => this.#show(), view.signal);
    this.#show();
  }

  /** What the chip says of the linked host; a drag of the range asks with every frame. Null for all hosts. */
  #hostOf(): About | null {
    const { data, link, hasHosts } = this.view;
    if (!hasHosts || !hostsOf(data.meta).includes(link.host)) return null;
    const steps = data.table("steps");
    if (this.#about?.name !== link.host || this.#about.from !== steps) {
      const tables = new HostTables(data.meta, (name) => data.table(name), link.host);
      this.#about = { name: link.host, from: steps, meta: hostMeta(tables), steps: tables.table("steps") };
    }
    return this.#about;
  }

  #show(): void {
    const { data, link } = this.view;
    const range = link.timeRange;
    const rangePs = range === null ? null : ([range[0] * 1000, range[1] * 1000] as const);
    const of = this.#hostOf();
    const name = of?.name ?? "";
    const { clientWidth } = this.view.root;
    const isNarrow = clientWidth > 0 && clientWidth < NARROW_PX;
    const room = isNarrow ? HOST_PX / 2 : HOST_PX;
    this.#host.textContent = hostCuts([name], hostsOf(data.meta), textFits(this.element, room))(name);
    this.#hostBox.title = name;
    if (of === null) this.#hostBox.remove();
    else this.#box.before(this.#hostBox);
    const [meta, steps] = [(of ?? data).meta, of ? of.steps : data.table("steps")];
    this.#words.textContent = describeRange(meta, steps, rangePs);
    this.#words.title = this.#words.textContent ?? "";
    this.#box.classList.toggle("whole", range === null);
    this.#clear.hidden = range === null;
    const isSwitch = range === null && hasSteady((one) => (one === "steps" ? steps : data.table(one)));
    this.#box.hidden = isSwitch;
    this.#scopes.hidden = !isSwitch;
    if (!isSwitch) return;
    const words = describeRange(meta, steps, STEADY);
    this.#steps.textContent = isNarrow ? "a step" : words;
    this.#steps.title = `Times a step, ${words}`;
    this.#steps.setAttribute("aria-pressed", String(!link.isWholeCapture));
    this.#whole.setAttribute("aria-pressed", String(link.isWholeCapture));
  }
}

function clearRange(view: TraceView): void {
  view.link.setTimeRange(null);
  view.link.setStep(-1);
}

/** The box to choose a host, above everything, and what stands in place of it all where a host is opened in full. */
function hostParts(view: TraceView, body: HTMLElement): HTMLElement[] {
  const { link, data, signal, root } = view;
  const opened = new OpenedHost(view, body);
  root.append(opened.element);
  const bar = new HostBar({ link, data, signal, onOpen: (host) => void opened.open(host) });
  return [bar.element, opened.say];
}

export const dashboard: TraceBuilder = {
  name: "dashboard",
  async build(view) {
    const place = () => h("div.place");
    const [overview, steps, timeline] = [place(), place(), place()];
    const tabs = new Tabs(view);
    tabs.bar.append(new Chip(view).element);
    const top = h("div.tfp-dash-top", overview, steps);
    const body = h("div.tfp-body", ...notices(view), top, timeline, tabs.bar, ...tabs.panels);
    if (view.hasHosts) body.prepend(...hostParts(view, body));
    view.root.append(body);
    const keydown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || view.link.timeRange === null) return;
      event.preventDefault();
      clearRange(view);
    };
    on(view.root, view.signal, { keydown });
    for (const name of [SHOW_VIEW, BRING_VIEW]) {
      const show = (event: Event) => tabs.show((event as CustomEvent<unknown>).detail, { moves: name === SHOW_VIEW });
      view.root.addEventListener(name, view.guard(show), { signal: view.signal });
    }
    tabs.choose(view.options.tab);
    const first = [renderChild(view, "overview_panel", overview), renderChild(view, "timeline", timeline)];
    // The libraries of charts and tables take longer to start than the timeline takes to draw: it goes first.
    await Promise.race([Promise.all(first).then(drawn), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    if (view.signal.aborted) return;
    tabs.start();
    await Promise.all([...first, renderChild(view, "step_chart", steps)]);
  },
};
