/** Small parts of views: tabs, crumbs, lists of labels, switches, and words that open a view. */

import { type Attributes, button, type Child, type Choice, h, onKeys, segmented, setAria, unspoken } from "./dom";

export function labelList(className: string, label: string, ...rows: HTMLElement[]): HTMLElement {
  return h("div", { class: `tfp-labels ${className}`, role: "list", "aria-label": label }, ...rows);
}

/** A row; a value alone takes the columns of all. */
export function labelled(label: Child, values: readonly Child[], attributes: Attributes = {}): HTMLElement {
  const cells = values.map((value) => h("span.value", value));
  return h("div", { ...attributes, role: "listitem" }, h("span.label.q", label), ...cells);
}

/** At most `most` entries, the first and the last ones; a joint of its own says that some between are not named. */
export function crumbButtons(
  path: readonly { readonly row: number; readonly text: string }[],
  most: number,
  open: (row: number) => void,
  signal: AbortSignal,
): HTMLElement[] {
  const skipped = Math.max(0, path.length - most);
  const parts: HTMLElement[] = [];
  path.forEach(({ row, text }, i) => {
    if (i > 0 && i <= skipped) return;
    if (i > 0) {
      const joint = i === skipped + 1 && skipped > 0 ? "› … ›" : "›";
      parts.push(unspoken("span.sep.q.fix", joint));
    }
    const attributes = { title: text, "aria-current": i === path.length - 1 ? "true" : undefined };
    parts.push(button(text, () => open(row), signal, attributes));
  });
  return parts;
}

export interface TabTitle {
  readonly text: string;
  /** Behind the text, such as how many rows there are. */
  readonly note?: Child;
  readonly title?: string;
  /** Not offered, as there is nothing in it, until something chooses it. */
  readonly isHidden?: boolean;
}

export class TabBar {
  readonly bar: HTMLElement;
  readonly panels: readonly HTMLElement[];
  readonly #buttons: readonly HTMLButtonElement[];

  constructor(
    label: string,
    titles: readonly TabTitle[],
    readonly onChoose: (index: number) => void,
    signal: AbortSignal,
  ) {
    const id = Math.random().toString(36).slice(2);
    this.#buttons = titles.map(({ text, note, title, isHidden }, i) => {
      const [own, panel] = [`tfp-tab-${id}-${i}`, `tfp-panel-${id}-${i}`];
      const attributes = { role: "tab", id: own, "aria-controls": panel, title, hidden: isHidden };
      const element = button(text, () => this.choose(i), signal, attributes);
      if (note) element.append(h("span.n", note));
      return element;
    });
    this.panels = titles.map((_, i) => {
      const attributes = { role: "tabpanel", id: `tfp-panel-${id}-${i}`, "aria-labelledby": `tfp-tab-${id}-${i}` };
      return h("section.tfp-panel", { ...attributes, hidden: true });
    });
    const list = h("div", { role: "tablist", "aria-label": label }, ...this.#buttons);
    onKeys(list, signal, (event) => this.#key(event));
    this.bar = h("div.tfp-tabs", list);
  }

  /** Chooses a tab, which from then on is offered. */
  choose(chosen: number): void {
    this.#buttons[chosen].hidden = false;
    this.#buttons.forEach((element, i) => {
      setAria(element, "selected", i === chosen);
      element.tabIndex = i === chosen ? 0 : -1;
      this.panels[i].hidden = i !== chosen;
    });
    this.onChoose(chosen);
  }

  focus(index: number): void {
    this.#buttons[index].focus();
  }

  #key(event: KeyboardEvent): boolean {
    const offered = this.#buttons.filter((element) => !element.hidden);
    const now = offered.indexOf(event.target as HTMLButtonElement);
    const last = offered.length - 1;
    const [right, left] = [now === last ? 0 : now + 1, now === 0 ? last : now - 1];
    const next = { ArrowRight: right, ArrowLeft: left, Home: 0, End: last }[event.key];
    if (now < 0 || next === undefined) return false;
    const index = this.#buttons.indexOf(offered[next]);
    this.choose(index);
    this.focus(index);
    return true;
  }
}

export interface Pane<S> {
  readonly element: HTMLElement;
  show(scene: S): void;
  save?(): void;
}

export class PaneSwitch<P extends string, S> {
  readonly element = h("div.tfp-panes");
  readonly control: HTMLElement;
  readonly csvButton: HTMLButtonElement;
  readonly #made = new Map<P, Pane<S>>();

  constructor(
    label: string,
    readonly choices: readonly Choice<P>[],
    public chosen: P,
    readonly make: (chosen: P) => Pane<S>,
    readonly onChoose: () => void,
    csvTitle: string,
    signal: AbortSignal,
  ) {
    this.control = segmented(label, choices, chosen, (pane) => this.choose(pane), signal);
    this.csvButton = button("CSV", () => this.pane.save?.(), signal, { title: csvTitle });
  }

  get pane(): Pane<S> {
    const pane = this.#made.get(this.chosen) ?? this.make(this.chosen);
    this.#made.set(this.chosen, pane);
    if (!pane.element.isConnected) this.element.append(pane.element);
    return pane;
  }

  choose(chosen: P): void {
    this.chosen = chosen;
    this.choices.forEach(({ value }, i) => void setAria(this.control.children[i], "pressed", value === chosen));
    const { pane } = this;
    for (const { element } of this.#made.values()) element.hidden = element !== pane.element;
    this.csvButton.hidden = pane.save === undefined;
    this.onChoose();
  }
}

export type Where = "both" | "host" | "device";

const CHOICES: readonly Choice<Where>[] = [
  { value: "both", text: "Both" },
  { value: "host", text: "Host" },
  { value: "device", text: "Device" },
];

/** At first both; false, which draws nothing, where only one side ran ops. `opDevice` is 1 for an op of a device. */
export function whereSwitch(
  opDevice: ArrayLike<number>,
  onWhere: (where: Where) => void,
  signal: AbortSignal,
): HTMLElement | false {
  const sides = new Set(Array.from(opDevice));
  return sides.size > 1 && segmented("Where: host, device or both", CHOICES, "both", onWhere, signal);
}

/** Asks the dashboard around a view for another view; `detail` is its trait. */
export const SHOW_VIEW = "tfprof-show-view";
/** The same, but whoever asks stays where she is, as a second press takes back what the first selected. */
export const BRING_VIEW = "tfprof-bring-view";

export const VIEW_TITLES: Readonly<Record<string, string>> = {
  op_table: "Ops",
  source_view: "Lines",
  layer_table: "Layers",
  tree_view: "Structure",
  memory_timeline: "Memory",
  input_graph: "Input",
  kernel_table: "Kernels",
  copy_table: "Copies",
  roofline_chart: "Roofline",
  hlo_table: "HLO ops",
  worker_chart: "Hosts",
};

export function isInDashboard(root: HTMLElement): boolean {
  return root.parentElement?.closest('[data-tfprof="dashboard"]') != null;
}
