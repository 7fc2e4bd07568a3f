/** The views of one profile -> one page: overview, step chart and timeline on top, the others in tabs below. */

import "./dashboard.css";
import { formatCount } from "./core/format";
import type { TraceMeta } from "./core/meta";
import { describeRange } from "./core/span_text";
import { button, h } from "./draw/dom";
import { drawn } from "./draw/page";
import { BRING_VIEW, SHOW_VIEW, VIEW_TITLES } from "./draw/view_links";
import { mount, type TraceView } from "./view";

interface Tab {
  readonly trait: string;
  /** How many things the view lists. */
  readonly count?: (meta: TraceMeta) => number;
}

const TABS: readonly Tab[] = [
  { trait: "op_table", count: (meta) => meta.n_ops ?? meta.op_name.length },
  { trait: "source_view" },
  { trait: "layer_table" },
  { trait: "scope_icicle" },
  { trait: "memory_timeline" },
  { trait: "input_graph" },
  { trait: "kernel_table", count: (meta) => rowsOf(meta, "kernels") },
  { trait: "hlo_table", count: (meta) => rowsOf(meta, "hlo_ops") },
  { trait: "worker_chart", count: (meta) => meta.worker_hosts?.length ?? 0 },
];

/** The timeline may have to wait for its kernel; the others do not wait for it that long. */
const PATIENCE_MS = 1000;

/** Rows of a list, here or still to come. */
function rowsOf(meta: TraceMeta, name: "kernels" | "hlo_ops"): number {
  return meta.sections?.[name]?.n_rows ?? meta[name]?.length ?? 0;
}

/** Draws the child of a trait into `el`; a child that cannot be drawn says so there and leaves the others alone. */
async function renderChild(view: TraceView, trait: string, el: HTMLElement): Promise<void> {
  const ref = view.model.get(trait);
  if (!ref) {
    el.remove();
    return;
  }
  try {
    const child = await view.host.getWidget(String(ref), { signal: view.signal });
    await child.render({ el, signal: view.signal });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    el.append(
      h("div", { class: "tfp-error", role: "alert" }, `The ${trait.replaceAll("_", " ")} view failed: ${reason}`),
    );
  }
}

/** One line a notice; what comes before the first colon is the headline. */
function notices(view: TraceView): HTMLElement[] {
  const given = view.options.notices ?? view.data.meta.notices;
  const texts = Array.isArray(given) ? given.map(String) : [];
  return texts.map((text) => {
    const colon = text.indexOf(": ");
    const parts = colon > 0 && colon < 80 ? [h("b", {}, text.slice(0, colon + 1)), text.slice(colon + 1)] : [text];
    return h("div", { class: "note", role: "status" }, ...parts);
  });
}

class Tabs {
  readonly bar: HTMLElement;
  readonly panels: HTMLElement[];
  readonly #buttons: HTMLButtonElement[];
  readonly #drawn = new Set<number>();
  #chosen = 0;
  #isHeld = true;

  constructor(readonly view: TraceView) {
    const id = Math.random().toString(36).slice(2);
    const { meta } = view.data;
    this.#buttons = TABS.map((tab, i) => {
      const attributes = { role: "tab", id: `tfp-tab-${id}-${i}`, "aria-controls": `tfp-panel-${id}-${i}` };
      const element = button(VIEW_TITLES[tab.trait], () => this.choose(i), view.signal, attributes);
      if (tab.count) element.append(h("span", { class: "n tfp-narrow-off" }, formatCount(tab.count(meta))));
      return element;
    });
    this.panels = TABS.map((_, i) =>
      h("section", {
        class: "tfp-panel",
        role: "tabpanel",
        id: `tfp-panel-${id}-${i}`,
        "aria-labelledby": `tfp-tab-${id}-${i}`,
        hidden: true,
      }),
    );
    const list = h(
      "div",
      { role: "tablist", "aria-label": "Views", "data-lm-suppress-shortcuts": "true" },
      ...this.#buttons,
    );
    list.addEventListener("keydown", (event) => this.#key(event), { signal: view.signal });
    this.bar = h("div", { class: "tfp-tabs" }, list);
  }

  /** Draws the tab that is open, and from now on each when it is opened. */
  start(): void {
    this.#isHeld = false;
    this.#draw();
  }

  choose(chosen: number): void {
    this.#buttons.forEach((element, i) => {
      element.setAttribute("aria-selected", String(i === chosen));
      element.tabIndex = i === chosen ? 0 : -1;
      this.panels[i].hidden = i !== chosen;
    });
    this.#chosen = chosen;
    this.#draw();
  }

  #draw(): void {
    const chosen = this.#chosen;
    if (this.#isHeld || this.#drawn.has(chosen)) return;
    this.#drawn.add(chosen);
    void renderChild(this.view, TABS[chosen].trait, this.panels[chosen]);
  }

  /** Opens the tab of a trait, and where asked to moves there whoever came by keys. */
  show(trait: unknown, { moves }: { readonly moves: boolean }): void {
    const wanted = TABS.findIndex((tab) => tab.trait === trait);
    if (wanted < 0) return;
    this.choose(wanted);
    if (moves) this.#buttons[wanted].focus();
  }

  #key(event: KeyboardEvent): void {
    const now = this.#buttons.indexOf(event.target as HTMLButtonElement);
    const last = this.#buttons.length - 1;
    const next = { ArrowRight: now === last ? 0 : now + 1, ArrowLeft: now === 0 ? last : now - 1, Home: 0, End: last }[
      event.key
    ];
    if (now < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(next);
    this.#buttons[next].focus();
  }
}

/** What the tabs are about, and the way back to the whole capture. */
class Chip {
  readonly element = h("span", { class: "tfp-chip" }, h("span", { class: "q" }, "about"));
  readonly #words = h("span", { role: "status" });
  readonly #box: HTMLElement;
  readonly #clear: HTMLButtonElement;

  constructor(readonly view: TraceView) {
    this.#clear = button("×", () => clearRange(view), view.signal, {
      "aria-label": "Clear the range",
      title: "Clear the range",
    });
    this.#box = h("span", { class: "c" }, this.#words, this.#clear);
    this.element.append(this.#box);
    view.link.on("time_range", () => this.#show(), view.signal);
    this.#show();
  }

  #show(): void {
    const { data, link } = this.view;
    const range = link.timeRange;
    const rangePs = range === null ? null : ([range[0] * 1000, range[1] * 1000] as const);
    this.#words.textContent = describeRange(data.meta, data.table("steps"), rangePs);
    this.#box.classList.toggle("whole", range === null);
    this.#clear.hidden = range === null;
  }
}

function clearRange(view: TraceView): void {
  view.link.setTimeRange(null);
  view.link.setStep(-1);
}

export default mount("dashboard", async (view) => {
  view.root.classList.add("tfp-dashboard");
  const place = () => h("div", { class: "place" });
  const [overview, steps, timeline] = [place(), place(), place()];
  const tabs = new Tabs(view);
  tabs.bar.append(new Chip(view).element);
  const top = h("div", { class: "tfp-dash-top" }, overview, steps);
  view.root.append(h("div", { class: "tfp-body" }, ...notices(view), top, timeline, tabs.bar, ...tabs.panels));
  view.root.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || view.link.timeRange === null) return;
      event.preventDefault();
      clearRange(view);
    },
    { signal: view.signal },
  );
  for (const name of [SHOW_VIEW, BRING_VIEW]) {
    const show = (event: Event) => tabs.show((event as CustomEvent<unknown>).detail, { moves: name === SHOW_VIEW });
    view.root.addEventListener(name, show, { signal: view.signal });
  }
  const wanted = TABS.findIndex((tab) => tab.trait === view.options.tab);
  tabs.choose(Math.max(0, wanted));
  const first = [renderChild(view, "overview_panel", overview), renderChild(view, "timeline", timeline)];
  // The libraries of charts and tables take longer to start than the timeline takes to draw: it goes first.
  await Promise.race([Promise.all(first).then(drawn), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  if (view.signal.aborted) return;
  tabs.start();
  await Promise.all([...first, renderChild(view, "step_chart", steps)]);
});
