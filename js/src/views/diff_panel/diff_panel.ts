/** A comparison of two runs: verdict, step times, what a step is made of, tables of what changed, and both timelines, linked. */

import { connectLink, type Link } from "../../data/link";
import { CATEGORIES, CATEGORY_LABELS } from "../../data/meta";
import { unpacked } from "../../data/widget";
import { keepTogether, SHOW_WINDOW, SharedWindow, type ShownWindow, WINDOW_SHOWN } from "../../model/range";
import { niceTicks } from "../../model/steps";
import { type CsvColumns, fields, formatCount, formatMs, formatNumber } from "../../model/text";
import { labelList, labelled, TabBar, type TabTitle } from "../../ui/controls";
import { button, h, segmented, svg, titledAlike, unspoken } from "../../ui/dom";
import { categorySwatch } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import { FilteredTable, nameColumn, textColumn } from "../../ui/table";
import { renderChild, type View, type ViewBuilder } from "../../ui/view";
import {
  type Category,
  countWords,
  type DiffContent,
  type DiffRow,
  type DiffTable,
  isChanged,
  type Known,
  largestChanges,
  Partners,
  passing,
  ratioMarks,
  rowsOf,
  runBadge,
  SharedSelection,
  type StepTimes,
  signed,
  stateMark,
  TABLE_WORDS,
  type TableWords,
  times,
  valueText,
} from "./comparison";

const MOST_TICKS = 8;

/** Null without steps. */
function breakdown(categories: readonly Category[], steps: StepTimes | null): HTMLElement | null {
  const ordered = CATEGORIES.flatMap((name) => categories.filter((one) => one.category === name));
  if (ordered.length === 0) return null;
  const sums = [sum(ordered, "a_ms"), sum(ordered, "b_ms")];
  const top = Math.max(...sums);
  if (!(top > 0)) return null;
  const about = { "aria-label": "A step by category, in a and in b" };
  const title = h("div.head", h("b", "What a step is made of"), h("span.q", "ms a step, both on one scale"));
  const total = (ms: number) => h("span.total", formatMs(ms));
  const gap = () => h("span");
  const a = [runBadge(0), stack(ordered, "a_ms", top), total(steps?.a_ms ?? sums[0])];
  const b = [runBadge(1), stack(ordered, "b_ms", top), total(steps?.b_ms ?? sums[1])];
  const stacks = h("div.stacks", ...a, gap(), joints(ordered, top), gap(), ...b, gap(), axis(top));
  return h("section.tfp-diff-parts", about, title, stacks, figures(ordered));
}

type Side = "a_ms" | "b_ms";

function sum(categories: readonly Category[], side: Side): number {
  return categories.reduce((all, one) => all + Math.max(0, one[side]), 0);
}

function label(category: string): string {
  return CATEGORY_LABELS[category] ?? category;
}

function stack(categories: readonly Category[], side: Side, top: number): HTMLElement {
  const words = categories.map((one) => `${label(one.category)} ${formatMs(one[side])}`).join(", ");
  const track = h("div.track", { role: "img", "aria-label": `${side[0]}: ${words}` });
  for (const one of categories) {
    if (!(one[side] > 0)) continue;
    const style = { width: `${(one[side] / top) * 100}%`, background: `var(--c-${one.category})` };
    track.append(h("i", { title: `${label(one.category)} in ${side[0]}: ${formatMs(one[side])}`, style }));
  }
  return track;
}

/** Lines from where a category ends in a to where it ends in b: their slant is the change. */
function joints(categories: readonly Category[], top: number): SVGSVGElement {
  const lines: SVGElement[] = [];
  let [a, b] = [0, 0];
  for (const one of categories) {
    a += Math.max(0, one.a_ms);
    b += Math.max(0, one.b_ms);
    if (one.a_ms <= 0 && one.b_ms <= 0) continue;
    const ends = { x1: (a / top) * 100, y1: 0, x2: (b / top) * 100, y2: 10 };
    lines.push(svg("line", { ...ends, "vector-effect": "non-scaling-stroke" }));
  }
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...lines);
}

function axis(top: number): HTMLElement {
  const mark = (tick: number) => h("span.tick", { style: { left: `${(tick / top) * 100}%` } }, String(tick));
  return unspoken("div.axis", ...niceTicks(top, MOST_TICKS).map(mark));
}

function figures(categories: readonly Category[]): HTMLElement {
  const isThere = (one: Category) => one.a_ms !== 0 || one.b_ms !== 0;
  const list = labelList("cats", "The parts of a step", ...categories.filter(isThere).map(entry));
  const others = categories.filter((one) => !isThere(one)).map((one) => label(one.category));
  const none = others.length > 0 && h("div.q", `0 in both runs: ${others.join(", ")}`);
  return h("div", list, none);
}

function entry(one: Category): HTMLElement {
  const noise = one.noise_ms === null ? "" : `, noise ${formatMs(one.noise_ms)}`;
  const title = `${label(one.category)}: ${formatMs(one.a_ms)} in a, ${formatMs(one.b_ms)} in b${noise}`;
  const values = [`${formatNumber(one.a_ms)} → ${formatNumber(one.b_ms)}`, signed(one.change_ms), stateMark(one.state)];
  const name = h("span", categorySwatch(one.category), label(one.category));
  return labelled(name, values, { class: isChanged(one.state) ? "cat top" : "cat", title });
}

interface ColumnsShown extends Readonly<Record<"hasWhere" | "hasPlace" | "isNoiseKnown", boolean>> {
  /** What the numbers are in: "ms a step", "ms", "" where each row has a unit of its own. */
  readonly unit: string;
}

function identity(words: TableWords, { hasWhere, hasPlace }: ColumnsShown): GridColumn<DiffRow>[] {
  const state: GridColumn<DiffRow> = {
    ...{ id: "state", title: "State", tip: "Whether the row changed by more than its noise", width: 96 },
    value: (row) => row.state,
    cell: (row) => stateMark(row.state),
  };
  const name = nameColumn<DiffRow>({ id: "name", title: words.name }, "name");
  const detail = { id: "detail", title: words.detail, width: 130, narrowWidth: 104, isOptional: true };
  const place = { id: "place", title: "Where", width: 190, narrowWidth: 152 };
  return [
    state,
    name,
    ...(words.detail ? [nameColumn<DiffRow>(detail, "detail")] : []),
    ...(hasPlace ? [nameColumn<DiffRow>(place, "place")] : []),
    ...(hasWhere ? [textColumn<DiffRow>({ id: "where", title: "Side", width: 56 }, "where")] : []),
  ];
}

/** `largest`: change that fills half the bar of a row now. */
function numbers({ unit, isNoiseKnown }: ColumnsShown, largest: (row: DiffRow) => number): GridColumn<DiffRow>[] {
  const head = (title: string) => (unit.startsWith("ms") ? `${title}, ms` : title);
  const of = unit === "" ? "" : `, ${unit}`;
  const text = (row: DiffRow, value: Known) => (value === null ? "" : valueText(row, value));
  const number = (id: "a" | "b" | "noise", title: string, tip: string, width: number): GridColumn<DiffRow> => ({
    ...{ id, title: head(title), tip: `${tip}${of}`, width, narrowWidth: width - 8, isRight: true },
    value: (row) => row[id] ?? -1,
    cell: (row) => text(row, row[id]),
  });
  const noiseTip = "How large a change may be without meaning anything";
  const noise = (row: DiffRow) => (row.noise === null ? "" : `±${text(row, row.noise)}`);
  return [
    number("a", "a", "In the first run", 72),
    number("b", "b", "In the second run", 72),
    {
      ...{ id: "change", title: head("Change"), width: 250, narrowWidth: 156 },
      tip: `b - a${of}; the pale band is what noise may do, a change that ends in it means nothing`,
      value: (row) => Math.abs(row.change ?? 0),
      cell: (row) => changeCell(row, largest(row)),
    },
    {
      ...{ id: "ratio", title: "b / a", width: 62, isRight: true },
      value: (row) => row.ratio ?? -1,
      cell: (row) => times(row.ratio),
    },
    ...(isNoiseKnown ? [{ ...number("noise", "Noise", noiseTip, 74), cell: noise }] : []),
  ];
}

/** The change as a number and as a bar from the middle: right is more, left is less, the pale band is noise. */
function changeCell(row: DiffRow, largest: number): Node {
  const { change, noise } = row;
  const axis = unspoken("div.ax");
  const share = (value: number) => (largest > 0 ? Math.min(1, value / largest) * 50 : 0);
  if (noise !== null && noise > 0) axis.append(span("noise", 50 - share(noise), 2 * share(noise)));
  if (change !== null && change !== 0) {
    const width = share(Math.abs(change));
    axis.append(span(isChanged(row.state) ? "len on" : "len", change > 0 ? 50 : 50 - width, width));
  }
  axis.append(span("zero", 50));
  const figure = signed(change, (value) => valueText(row, value));
  return h("div.tfp-change", h("span.figure.v", figure), axis);
}

function span(kind: string, left: number, width?: number): HTMLElement {
  const style = { left: `${left}%`, ...(width !== undefined && { width: `max(1px, ${width}%)` }) };
  return h("i", { class: kind, style });
}

const DIFF_CSV: CsvColumns<DiffRow> = {
  ...fields<DiffRow>("state", "name", "detail", "place"),
  side: (row) => row.where,
  ...fields<DiffRow>("unit", "a", "b", "change", "ratio", "noise"),
};

type TableActions = { readonly pick: (row: DiffRow) => void; readonly isPicked: (row: DiffRow) => boolean };

/** @param unit what the numbers are in where rows have no unit of their own: "ms a step" or "ms of the whole capture" */
function diffTable(view: View, table: DiffTable, unit: string, actions: TableActions): FilteredTable<DiffRow> {
  const words = TABLE_WORDS[table.id];
  const rows = rowsOf(table);
  let onlyChanged = table.n_changed > 0;
  let largest: ReadonlyMap<string, number> = new Map();
  const shown = {
    hasWhere: new Set(rows.map((row) => row.where)).size > 1,
    hasPlace: rows.some((row) => row.place !== ""),
    unit: table.id === "memory" ? "" : unit,
    isNoiseKnown: rows.some((row) => row.noise !== null),
  };
  const choices = [
    { value: "changed", text: "Beyond noise" },
    { value: "all", text: "All" },
  ] as const;
  const choose = (value: "changed" | "all") => {
    onlyChanged = value === "changed";
    made.apply();
  };
  const made: FilteredTable<DiffRow> = new FilteredTable<DiffRow>(view, {
    label: `Changes of ${words.noun}`,
    filterLabel: `Filter ${words.noun} by name`,
    columns: [...identity(words, shown), ...numbers(shown, (row) => largest.get(row.unit) ?? 0)],
    sortBy: "change",
    key: (row) => String(row.rank),
    attributes: (row) => ({ "data-diff-name": row.name, "data-state": row.state }),
    onPick: actions.pick,
    isMarked: actions.isPicked,
    passing: (test) => passing(rows, onlyChanged, test),
    describe: (passed, isOff) => [countWords(table, passed.length, onlyChanged, !isOff)],
    whyEmpty: () => "No row matches the filter. Clear it, or show all rows.",
    onShown: (passed) => {
      largest = largestChanges(passed);
    },
    csv: { file: `diff_${table.id}.csv`, columns: () => DIFF_CSV },
    // Nothing to leave out where nothing changed, or noise is not known.
    controls: table.n_changed > 0 ? [segmented("Rows", choices, "changed", choose, view.signal)] : [],
  });
  made.apply();
  return made;
}

function head(content: DiffContent): HTMLElement {
  const { step_times: steps, verdict } = content;
  const words = keepTogether(verdict).map((part, i) => (i % 2 ? h("span.nb", part) : part));
  const run = (which: 0 | 1) =>
    h("span.run", { title: content.titles[which] }, runBadge(which), h("span", content.titles[which]));
  const runs = h("div.tfp-diff-runs", run(0), unspoken("span.q", "→"), run(1));
  const said = h("div.tfp-diff-verdict", ...words);
  return h("header.tfp-diff-head", runs, figure(steps), said, interval(steps));
}

function figure(steps: StepTimes | null): HTMLElement {
  if (steps === null || steps.a_ms === null || steps.b_ms === null) {
    return h("div.tfp-fig", h("span.n.big", "–"), h("span.u", " ms a step"), h("div.d", "a run has no steps"));
  }
  const unit = formatMs(Math.max(steps.a_ms, steps.b_ms)).split(" ").pop() ?? "ms";
  const scale = unit === "s" ? 1e3 : unit === "µs" ? 1e-3 : 1;
  const [a, b] = [steps.a_ms / scale, steps.b_ms / scale];
  return h(
    "div.tfp-fig",
    h("span.n.was", formatNumber(a)),
    h("span.u", " → "),
    h("span.n.big", formatNumber(b)),
    h("span.u", ` ${unit} a step`),
    h("div.d", `median of ${formatCount(steps.n_a)} and ${formatCount(steps.n_b)} steps`),
  );
}

const AXIS_PX = 240;

/** "×1.75, beyond noise" over a bar from the lower to the upper bound, and a line at 1. */
function interval(steps: StepTimes | null): HTMLElement {
  const marks = steps && ratioMarks(steps.ratio, steps.interval);
  if (!steps || !marks) {
    const why = steps === null ? "no step times to compare" : "too few steps to know the noise";
    return h("div.tfp-interval", h("div.q", why));
  }
  const [low, high] = steps.interval.map((bound) => formatNumber(bound ?? Number.NaN));
  const judged = steps.is_beyond_noise ? "beyond noise" : "within noise";
  const reach = { ...placed(marks.low), width: `${Math.max(marks.high - marks.low, 2 / AXIS_PX) * 100}%` };
  const bar = h("i", { class: steps.is_beyond_noise ? "reach on" : "reach", style: reach });
  const dot = h("i.dot", { style: placed(marks.ratio) });
  const one = h("i.one", { style: placed(marks.one) });
  const ticks = marks.ticks.map(({ at, ratio }) =>
    h("span", { class: ratio === 1 ? "tick base" : "tick", style: placed(at) }, `×${ratio}`),
  );
  const words = `Step time of b over that of a: ${times(steps.ratio)}, 95 % interval ${low} to ${high}, ${judged}`;
  return h(
    "div.tfp-interval",
    { title: words },
    h("div.say", h("b", times(steps.ratio)), h("span.q", ` 95 %: ${low}–${high} · `), judged),
    h("div.axis", { role: "img", "aria-label": words }, one, bar, dot),
    unspoken("div.ticks", ...ticks),
  );
}

function placed(at: number) {
  return { left: `${at * 100}%` };
}

const TRAITS = ["timeline_a", "timeline_b"] as const;
/** Of what is shown at first, before the moments at which the runs are aligned, and behind it. */
const MARGIN = 0.03;

class Timelines {
  readonly element: HTMLElement;
  readonly #places: readonly HTMLElement[];
  readonly #window: SharedWindow;

  constructor(
    readonly view: View,
    readonly content: DiffContent,
  ) {
    const { start_ps, span_ps } = content.alignment;
    const pad = content.is_per_step ? span_ps * MARGIN : 0;
    this.#places = TRAITS.map(() => h("div.place"));
    this.#window = new SharedWindow(start_ps, { t0: -pad, t1: span_ps + pad }, (run, wanted) => {
      const root = this.#places[run].querySelector('[data-tfprof="timeline"]');
      root?.dispatchEvent(new CustomEvent(SHOW_WINDOW, { detail: wanted }));
    });
    const shown = (event: Event, run: number) => {
      event.stopPropagation();
      this.#window.told(run, (event as CustomEvent<ShownWindow>).detail);
    };
    for (const [run, place] of this.#places.entries())
      place.addEventListener(WINDOW_SHOWN, (event) => shown(event, run), { signal: view.signal });
    const runs = this.#places.map((place, run) => {
      const title = content.titles[run];
      return h("div.run", h("div.name", { title }, runBadge(run as 0 | 1), h("span", title)), place);
    });
    const about = { "aria-label": "Timelines of both runs" };
    this.element = h("section.tfp-diff-lines", about, this.#head(), h("div.runs", ...runs));
  }

  async draw(): Promise<void> {
    await Promise.all(this.#places.map((place, run) => this.#draw(place, run)));
  }

  async #draw(place: HTMLElement, run: number): Promise<void> {
    if (this.view.model.get(TRAITS[run])) await renderChild(this.view, TRAITS[run], place);
    else place.append(h("div.empty", { role: "status" }, h("p", "This run recorded no event: it has no timeline.")));
  }

  #head(): HTMLElement {
    const [a, b] = this.content.alignment.step;
    const steps = `aligned at the start of step ${a} of a and step ${b} of b`;
    const where = a && b ? steps : "aligned at the start of the captures";
    const title = "Back to the steps at which the comparison began";
    const reset = button("Align again", () => this.#window.reset(), this.view.signal, { title });
    const words = h("span.q", `one time scale, ${where}; pan or zoom one and the other follows`);
    return h("div.bar", h("b", "Timelines"), words, h("span.sp"), reset);
  }
}

/** The link of a run's timeline; null where the run has none. */
async function linkOf(view: View, trait: string): Promise<Link | null> {
  const ref = view.model.get(trait);
  if (!ref) return null;
  const timeline = await view.host.getModel(String(ref), { signal: view.signal });
  return connectLink(view.host, String(timeline.get("link")), view.signal);
}

function limits({ options }: View): HTMLElement[] {
  const found = Array.isArray(options.notices) ? options.notices.map(String) : [];
  return found.map((text) => h("p.q.tfp-limit", { role: "status" }, text));
}

class Tables {
  readonly elements: readonly HTMLElement[];
  readonly #views = new Map<number, FilteredTable<DiffRow>>();
  readonly #chip: HTMLElement;
  readonly #chosen = h("span.cut", { role: "status" });

  constructor(
    readonly view: View,
    readonly content: DiffContent,
    readonly selection: SharedSelection,
    readonly showTimelines: () => void,
  ) {
    const titles = content.tables.map(tabTitle);
    const tabs = new TabBar("What changed", titles, (chosen) => this.#draw(tabs, chosen), view.signal);
    const show = button("Show in timelines", showTimelines, view.signal, { class: "link" });
    const clear = button("×", () => selection.clear(), view.signal, titledAlike("Clear the selection"));
    this.#chip = h("span.tfp-diff-chip", { hidden: true }, this.#chosen, show, clear);
    tabs.bar.append(this.#chip);
    this.elements = [tabs.bar, ...tabs.panels];
    selection.onChange(() => this.#follow());
    const firstChanged = content.tables.findIndex((table) => table.n_changed > 0);
    tabs.choose(Math.max(0, firstChanged));
    this.#follow();
  }

  #draw(tabs: TabBar, chosen: number): void {
    if (this.#views.has(chosen)) return;
    const { tables: all, is_per_step } = this.content;
    const unit = is_per_step ? "ms a step" : "ms of the whole capture";
    const made = diffTable(this.view, all[chosen], unit, {
      pick: (row) => {
        if (row.ops[0].length + row.ops[1].length > 0) this.selection.toggle(row.ops);
      },
      isPicked: (row) => this.#isPicked(row),
    });
    this.#views.set(chosen, made);
    tabs.panels[chosen].append(made.element);
    made.followSelection(true);
  }

  #isPicked(row: DiffRow): boolean {
    return ([0, 1] as const).some((run) => {
      const chosen = this.selection.of(run);
      return chosen.length > 0 && row.ops[run].some((name) => chosen.includes(name));
    });
  }

  #follow(): void {
    for (const table of this.#views.values()) table.followSelection(true);
    const names = [this.selection.of(0), this.selection.of(1)];
    const all = names[1].length > 0 ? names[1] : names[0];
    this.#chip.hidden = all.length === 0;
    const where = names[0].length === 0 ? " in b alone" : names[1].length === 0 ? " in a alone" : "";
    this.#chosen.textContent = all.length === 1 ? `${all[0]}${where}` : `${formatCount(all.length)} ops${where}`;
    this.#chip.title = all.slice(0, 20).join("\n");
  }
}

function tabTitle({ id, n_rows, n_changed, is_noise_known }: DiffTable): TabTitle {
  const [changed, all] = [formatCount(n_changed), formatCount(n_rows)];
  const text = TABLE_WORDS[id].title;
  if (!is_noise_known) return { text, note: all, title: `${all} rows; how much of a change is noise is not known` };
  return { text, note: `${changed}/${all}`, title: `${changed} of ${all} changed beyond noise` };
}

export const diffPanel: ViewBuilder = {
  name: "diff_panel",
  async build(view) {
    view.root.classList.add("tfp-diff");
    const [text, linkA, linkB] = await Promise.all([
      unpacked(view.model.get("packed")),
      linkOf(view, "timeline_a"),
      linkOf(view, "timeline_b"),
    ]);
    const content: DiffContent = JSON.parse(text);
    const timelines = new Timelines(view, content);
    const selection = new SharedSelection([linkA, linkB], new Partners(content.pairs, content.lone), view.signal);
    const parts = breakdown(content.categories, content.step_times);
    const tables = h("div.tables");
    const notices = content.notices.map((text) => h("div.note", { role: "status" }, text));
    const below = [parts, tables, ...limits(view), timelines.element];
    const body = h("div.tfp-diff-body", ...notices, head(content), ...below);
    view.root.append(body);
    const drawing = timelines.draw();
    if (content.tables.length > 0) {
      const show = () => timelines.element.scrollIntoView({ block: "nearest" });
      tables.append(...new Tables(view, content, selection, show).elements);
    }
    await drawing;
  },
};
