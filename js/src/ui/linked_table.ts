/** Rows of the linked time range -> a table to filter, sort, save and select by; what all tables of ops have in common. */

import { hostsOf, shortHost } from "../model/hosts/hosts";
import { textFilter } from "../model/ops/ops";
import { type Cell, toCsv } from "../model/text/csv";
import { cutNames } from "../model/text/cut";
import { formatCount, formatPercent } from "../model/text/format";
import { describeRange, rangeInPs } from "../model/time/span_text";
import type { RangePs } from "../model/time/viewport";
import { button, download, h } from "./dom";
import { createGrid, type Grid } from "./grid";
import type { GridColumn } from "./grid_column";
import { inFrame, MANY_ROWS, paced, textFits } from "./page";
import type { TraceView } from "./view";

/** A column whose texts are cut to its width, so that no two different ones look alike. */
export interface CutColumn<R> {
  readonly text: (row: R) => string;
  /** px, where the table is not laid out yet. */
  readonly width: number;
  /** Of it, what stands before the text, in px. */
  readonly leadPx?: number;
}

export interface LinkedTableOptions<R> {
  /** What the rows are, for a screen reader. */
  readonly label: string;
  readonly filterLabel: string;
  /** Plural, such as "kernels". */
  readonly noun: () => string;
  /** What the shares in the count are of, such as "kernel time". */
  readonly weightNoun: string;
  readonly weight: (row: R) => number;
  /** `cut(id, text)` gives a text of a cut column as it is shown. */
  readonly columns: (cut: (id: string, text: string) => string) => GridColumn<R>[];
  readonly cuts: Readonly<Record<string, CutColumn<R>>>;
  readonly sortBy: string;
  readonly key: (row: R) => string;
  readonly attributes: (row: R) => Readonly<Record<string, string>>;
  /** All rows of a range. */
  readonly rows: (range: RangePs) => readonly R[];
  /** What the filter looks at. */
  readonly texts: (row: R) => readonly string[];
  /** Rows under a filter, where that is more than leaving rows out. */
  readonly regroup?: (test: (text: string) => boolean) => readonly R[];
  /** Names of the ops that a row stands for: what a click selects, and whose selection marks the row. */
  readonly opsOf: (row: R) => readonly string[];
  readonly whyEmpty: (range: RangePs) => string;
  readonly csv: { readonly file: string; readonly header: readonly string[]; readonly row: (row: R) => Cell[] };
  /** Between the filter and the count. */
  readonly controls?: readonly HTMLElement[];
  /** Between the toolbar and the table. */
  readonly above?: readonly HTMLElement[];
  /** Called with all rows of the range and those shown. */
  readonly onRows?: (all: readonly R[], shown: readonly R[]) => void;
  /** Heads that change with the range, by column. */
  readonly titles?: () => Readonly<Record<string, string>>;
  readonly onSelection?: (chosen: ReadonlySet<string>) => void;
  /** What a click on a row does; selecting its ops when left out. */
  readonly onPick?: (row: R) => void;
  /** What the rows are about, where that is not the linked range. */
  readonly about?: () => string;
  /** Shown instead of everything else, when it gives something. */
  readonly empty?: () => HTMLElement | null;
}

const CELL_PADDING_PX = 14;

export class LinkedTable<R> {
  #text = "";
  /** All rows of the range, before the filter. */
  #all: readonly R[] = [];
  #shown: readonly R[] = [];
  readonly #cuts = new Map<string, { readonly width: number; readonly texts: ReadonlyMap<string, string> }>();
  readonly #grid: Grid<R>;
  readonly #count = h("span", { class: "q", role: "status" });
  readonly #input: HTMLInputElement;
  readonly #filter: () => void;
  readonly compute: () => void;

  constructor(
    readonly view: TraceView,
    readonly options: LinkedTableOptions<R>,
  ) {
    const { signal, data, link } = view;
    const columns = options.columns((id, text) => this.#cuts.get(id)?.texts.get(text) ?? text);
    const label = options.filterLabel;
    this.#input = h("input", { type: "search", placeholder: "Filter: text or /regex/", "aria-label": label });
    this.#grid = createGrid<R>(columns, {
      ...{ label: options.label, key: options.key, attributes: options.attributes, sortBy: options.sortBy },
      ...{ placeholder: "", signal },
      onPick: (row) => (options.onPick ? options.onPick(row) : this.pick(options.opsOf(row))),
      onWidths: () => this.#filter(),
    });
    this.#filter = inFrame(
      view.guard(() => this.#applyFilter()),
      signal,
    );
    this.compute = view.guard(() => this.#compute());
    const later = paced(this.compute, signal, () => data.nRows("occurrences") > MANY_ROWS);
    const above = options.above ?? [];
    view.root.append(h("div", { class: "tfp-fill tfp-linked" }, this.#toolbar(), ...above, this.#grid.element));
    link.on("time_range", later, signal);
    link.on(
      "selection",
      view.guard(() => this.#followSelection(true)),
      signal,
    );
    data.onTables(later, signal, ["occurrences", "kernel_runs", "steps"]);
    this.compute();
    this.#followSelection(true);
  }

  get range(): RangePs {
    return rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
  }

  /** Selects ops, or nothing when exactly they are selected. */
  pick(names: readonly string[]): void {
    if (names.length === 0) return;
    const { link } = this.view;
    const wanted = new Set(names);
    const isChosen = wanted.size === link.selection.length && link.selection.every((name) => wanted.has(name));
    link.setSelection(isChosen ? [] : [...wanted]);
  }

  #toolbar(): HTMLElement {
    const { signal } = this.view;
    const onInput = () => {
      this.#text = this.#input.value;
      this.#filter();
    };
    this.#input.addEventListener("input", onInput, { signal });
    const title = "Save the rows shown, with full names and precision";
    const save = button("CSV", () => this.#save(), signal, { title });
    return h(
      "div",
      { class: "bar" },
      this.#input,
      ...(this.options.controls ?? []),
      h("span", { class: "sp" }),
      this.#count,
      save,
    );
  }

  #compute(): void {
    const nothing = this.options.empty?.() ?? null;
    if (nothing !== null) {
      this.view.root.replaceChildren(nothing);
      return;
    }
    this.#all = this.options.rows(this.range);
    this.#applyFilter();
  }

  #applyFilter(): void {
    const { options } = this;
    const { test, error } = textFilter(this.#text);
    this.#input.setAttribute("aria-invalid", String(error !== ""));
    this.#input.title = error;
    if (this.#text.trim() === "") this.#shown = this.#all;
    else this.#shown = options.regroup?.(test) ?? this.#all.filter((row) => options.texts(row).some(test));
    for (const [id, column] of Object.entries(options.cuts)) this.#cut(id, column);
    options.onRows?.(this.#all, this.#shown);
    for (const [id, title] of Object.entries(options.titles?.() ?? {})) this.#grid.setTitle(id, title);
    const noun = options.noun();
    const noMatch = `None of the ${noun} matches the filter. Clear it, or write /pattern/i for a regular expression.`;
    this.#grid.setPlaceholder(this.#all.length > 0 ? noMatch : this.#whyEmpty());
    this.#grid.setRows(this.#shown);
    this.#describe(error);
    this.#followSelection(false);
  }

  #whyEmpty(): string {
    const { host } = this.view.link;
    if (host === "" || this.range !== null) return this.options.whyEmpty(this.range);
    return `${shortHost(host, hostsOf(this.view.data.meta))} has no ${this.options.noun()}. Choose another host, or all of them.`;
  }

  /** Cuts all texts of a column once for a width: to cut thousands takes longer than all else. */
  #cut(id: string, column: CutColumn<R>): void {
    const width = (this.#grid.columnWidth(id) || column.width) - CELL_PADDING_PX - (column.leadPx ?? 0);
    const last = this.#cuts.get(id);
    const isCut = (row: R) => last?.texts.has(column.text(row));
    if (last?.width === width && this.#all.every(isCut) && this.#shown.every(isCut)) return;
    const texts = cutNames([...this.#all, ...this.#shown].map(column.text), textFits(this.view.root, width));
    this.#cuts.set(id, { width, texts });
  }

  #describe(error: string): void {
    const { data } = this.view;
    const { weight, weightNoun, noun } = this.options;
    const sum = (rows: readonly R[]) => rows.reduce((total, row) => total + weight(row), 0);
    const all = sum(this.#all);
    const parts = [`${formatCount(this.#shown.length)} of ${formatCount(this.#all.length)} ${noun()}`];
    if (all > 0) parts.push(`${formatPercent(sum(this.#shown) / all)} of ${weightNoun}`);
    const linked = () => (this.range === null ? "" : ` · ${describeRange(data.meta, data.table("steps"), this.range)}`);
    const { host } = this.view.link;
    const about = `${host === "" ? "" : ` · ${shortHost(host, hostsOf(this.view.data.meta))}`}${this.options.about?.() ?? linked()}`;
    const text = error ? `Filter not applied: ${error}` : parts.join(" · ");
    this.#count.replaceChildren(text, error ? "" : h("span", { class: "tfp-about" }, about));
    // Where there is no room the text is cut.
    this.#count.title = this.#count.textContent ?? "";
  }

  #followSelection(reveal: boolean): void {
    const { key, opsOf, onSelection } = this.options;
    const chosen = new Set(this.view.link.selection);
    const isMarked = (row: R) => chosen.size > 0 && opsOf(row).some((name) => chosen.has(name));
    const keys = this.#shown.filter(isMarked).map(key);
    this.#grid.setSelected(new Set(keys));
    onSelection?.(chosen);
    if (reveal && keys[0] !== undefined) this.#grid.reveal(keys[0]);
  }

  #save(): void {
    const { file, header, row } = this.options.csv;
    download(file, toCsv(header, this.#grid.shown().map(row)), "text/csv");
  }
}
