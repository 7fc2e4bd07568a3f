/** The views of one profile -> one page: overview, step chart and timeline on top, the others in tabs below. */

import { hostMeta } from "../../model/hosts/host_meta";
import { HostTables } from "../../model/hosts/host_tables";
import { hostCuts, hostsOf } from "../../model/hosts/hosts";
import { hasSteady } from "../../model/time/scope";
import { describeRange } from "../../model/time/span_text";
import { STEADY } from "../../model/time/viewport";
import type { TraceMeta } from "../../model/wire/meta";
import type { Table } from "../../model/wire/wire";
import { renderChild } from "../../ui/child";
import { button, h, on, setAria } from "../../ui/dom";
import { HostBar } from "../../ui/host_bar";
import { drawn, textFits, watchSize } from "../../ui/page";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { BRING_VIEW, SHOW_VIEW } from "../../ui/view_links";
import { limitLine, limitsOf } from "./limits";
import { OpenedHost } from "./opened";
import { Tabs } from "./tabs";

/** Room for the name of a host in the chip. */
const HOST_PX = 150;
/** As in the style sheet. */
const NARROW_PX = 1100;

/** The timeline may have to wait for its kernel; the others do not wait for it that long. */
const PATIENCE_MS = 1000;

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
    setAria(this.#steps, "pressed", !link.isWholeCapture);
    setAria(this.#whole, "pressed", link.isWholeCapture);
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

/** What the compact form leaves away until it is asked for: all below the steps, and all cards but the first. */
function openingOf(view: TraceView, body: HTMLElement, rest: HTMLElement) {
  const { promise, resolve } = promised();
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
  return { open, opened: promise };
}

function promised(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

export const dashboard: TraceBuilder = {
  name: "dashboard",
  async build(view) {
    const place = () => h("div.place");
    const [overview, steps, timeline] = [place(), place(), place()];
    const limits = limitsOf(view);
    const tabs = new Tabs(view, limits);
    tabs.bar.append(new Chip(view).element);
    const top = h("div.tfp-dash-top", overview, steps);
    const rest = h("div.tfp-rest", timeline, tabs.bar, ...tabs.panels);
    const body = h("div.tfp-body", ...limitLine(view, limits, tabs), top, rest);
    const opening = view.options.compact === true ? openingOf(view, body, rest) : null;
    if (view.hasHosts) body.prepend(...hostParts(view, body));
    view.root.append(body);
    const keydown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || view.link.timeRange === null) return;
      event.preventDefault();
      clearRange(view);
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
    if (opening) {
      await Promise.all([renderChild(view, "overview_panel", overview), renderChild(view, "step_chart", steps)]);
      await opening.opened;
      if (view.signal.aborted) return;
      tabs.start();
      await renderChild(view, "timeline", timeline);
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
