/** Tables of rows with a name: columns and cells, sorting, selection, filter, CSV, and the link to the time range. */

import { type Scope, STEADY } from "../data/columns";
import { textFilter } from "../model/ops";
import { describeRange, perStep, scopeOf, stepsOfScope } from "../model/range";
import { aStep, type CsvColumns, csvOf, formatAmount, formatCount, formatPercent, formatTo } from "../model/text";
import type { Pane } from "./controls";
import { button, type Child, download, h, inFrame, on, say, setAria } from "./dom";
import { type CellLook, type GridColumn, Sheet } from "./sheet";
import { follow, type TraceView, toggleSelection, type View } from "./view";

interface GridOptions<R> {
  readonly label: string;
  readonly columns: readonly GridColumn<R>[];
  readonly key: (row: R) => string;
  readonly attributes: (row: R) => Readonly<Record<string, string>>;
  readonly onPick: (row: R) => void;
  readonly sortBy: string;
  readonly placeholder?: string;
  readonly signal: AbortSignal;
  readonly onHover?: (row: R | null) => void;
  readonly onWidths?: () => void;
}

/** Rows of which a view gives all at once, sorted by the head that is pressed. */
export class Grid<R> {
  readonly element: HTMLElement;
  readonly sheet: Sheet<R>;
  shown: readonly R[] = [];
  protected rows: readonly R[] = [];
  #selected: ReadonlySet<string> = new Set();
  #sortBy: string;
  #isDown = true;
  /** The row to scroll to as soon as it is among the rows. */
  #sought: string | null = null;

  constructor(readonly options: GridOptions<R>) {
    const { label, signal, key, attributes, onPick, placeholder = "", onHover, onWidths } = options;
    this.#sortBy = options.sortBy;
    this.sheet = new Sheet({
      role: "grid",
      label: `${label}: arrow keys select a row`,
      signal,
      attributes: (row) => ({ ...attributes(row), "aria-selected": String(this.#selected.has(key(row))) }),
      onSort: (id) => this.#sort(id),
      onClick: onPick,
      onWalk: (place) => place !== this.sheet.at && onPick(this.shown[place]),
      onHover,
      onWidths,
    });
    this.element = this.sheet.element;
    this.sheet.setPlaceholder(placeholder);
  }

  setRows(rows: readonly R[]): void {
    this.rows = rows;
    const values = this.options.columns.find(({ id }) => id === this.#sortBy)?.value;
    this.shown = values === undefined ? rows : sorted(rows, values, this.#isDown);
    const sorting = { id: this.#sortBy, isDown: this.#isDown };
    this.sheet.show(this.options.columns, this.shown, sorting, this.#firstSelected);
    if (this.#sought !== null) this.reveal(this.#sought);
  }

  setSelected(keys: ReadonlySet<string>): void {
    this.#selected = keys;
    if (this.#sought !== null && !keys.has(this.#sought)) this.#sought = null;
    this.sheet.update(this.#firstSelected);
  }

  reveal(key: string): void {
    const place = this.shown.findIndex((row) => this.options.key(row) === key);
    this.#sought = place < 0 ? key : null;
    if (place >= 0) this.sheet.reveal(place);
  }

  get #firstSelected(): number {
    if (this.#selected.size === 0) return -1;
    return this.shown.findIndex((row) => this.#selected.has(this.options.key(row)));
  }

  #sort(id: string): void {
    this.#isDown = id !== this.#sortBy || !this.#isDown;
    this.#sortBy = id;
    this.setRows(this.rows);
  }
}

/** Rows of one value stay in the order in which they came. */
function sorted<R>(rows: readonly R[], value: (row: R) => number | string, isDown: boolean): readonly R[] {
  const sign = isDown ? -1 : 1;
  const values = rows.map(value);
  const compare = (a: number | string, b: number | string) => (a < b ? -sign : a > b ? sign : 0);
  const places = rows.map((_, place) => place).sort((a, b) => compare(values[a], values[b]) || a - b);
  return places.map((place) => rows[place]);
}

type Head<R> = Pick<GridColumn<R>, "id" | "title"> & Partial<GridColumn<R>>;

/** What a column shows of a row: a field of it, or what is made of it. */
export type Field<R, V> = ((row: R) => V) | { [K in keyof R]: R[K] extends V ? K : never }[keyof R];

export function reader<R, V>(field: Field<R, V>): (row: R) => V {
  return typeof field === "function" ? field : (row) => row[field as keyof R] as V;
}

/** A text with another one on hover, such as a cut name with the whole. */
export function titled(text: string, title: string, isQuiet = false): Node {
  return h("span", { title: title || undefined, class: isQuiet && "q" }, text);
}

export interface BarPart {
  readonly share: number;
  readonly color: string;
  readonly title?: string;
}

export function barCell(text: string, parts: readonly BarPart[]): Node {
  const width = (share: number) => (share > 0 ? `max(1px, ${share * 100}%)` : "0");
  const bars = parts.map(({ share, color, title }) =>
    h("i", { title, style: { width: width(share), background: color } }),
  );
  if (bars.length === 1) return h("div.tfp-bar-cell", h("span", text), ...bars);
  return h("div.tfp-bar-cell", h("span", text), h("div.tfp-bar-stack", ...bars));
}

/** Amounts as numbers with bars, the largest of which fills the column. */
export function barColumn<R>(
  head: Head<R>,
  field: Field<R, number>,
  text: (amount: number, look: CellLook) => string,
  color: (row: R) => string,
): GridColumn<R> {
  const amount = reader(field);
  return {
    ...head,
    value: amount,
    amounts: amount,
    cell: (row, look) =>
      barCell(text(amount(row), look), [{ share: look.most > 0 ? amount(row) / look.most : 0, color: color(row) }]),
  };
}

export function msBarColumn<R>(head: Head<R>, ps: (row: R) => number, color: (row: R) => string): GridColumn<R> {
  const figures = (row: R) => ps(row) / 1e9;
  return barColumn({ ...head, figures }, ps, (value, { decimals }) => formatTo(value / 1e9, decimals), color);
}

/** Names, cut where they do not fit; on hover the whole, or what `hover` gives. */
export function nameColumn<R>(
  head: Head<R>,
  name: Field<R, string>,
  hover: Field<R, string> = name,
  isQuiet: (row: R) => boolean = () => false,
): GridColumn<R> {
  const [names, title] = [reader(name), reader(hover)];
  const cell: GridColumn<R>["cell"] = (row, { cut }) => titled(cut(names(row)), title(row), isQuiet(row));
  return { value: names, names, cell, ...head };
}

export function textColumn<R>(head: Head<R>, field: Field<R, string>): GridColumn<R> {
  const text = reader(field);
  return { value: text, cell: (row) => titled(text(row), text(row)), ...head };
}

export function rankColumn<R extends { readonly rank: number }>(tip?: string): GridColumn<R> {
  const value = (row: R) => -row.rank;
  return { id: "rank", title: "#", tip, width: 36, isRight: true, value, cell: (row) => String(row.rank) };
}

export function countColumn<R extends { readonly occurrences: number }>(tip: string): GridColumn<R> {
  const head = { id: "count", title: "Count", tip, width: 84, narrowWidth: 76, isOptional: false };
  return numberColumn(head, ({ occurrences }) => occurrences, formatAmount);
}

/** A column of numbers, right-aligned, optional where the table is narrow unless told otherwise; without `text` all to as many decimals. */
export function numberColumn<R>(
  head: Head<R>,
  field: Field<R, number>,
  text?: (value: number) => string,
): GridColumn<R> {
  const value = reader(field);
  const cell: GridColumn<R>["cell"] = (row, { decimals }) => {
    const one = value(row);
    if (!Number.isFinite(one)) return "";
    return text === undefined ? formatTo(one, decimals) : text(one);
  };
  const sorted = (row: R) => (Number.isFinite(value(row)) ? value(row) : -1);
  const figures = text === undefined ? { figures: value } : {};
  return { isRight: true, isOptional: true, value: sorted, cell, ...figures, ...head };
}

type OpTimes = Readonly<Record<"occurrences" | "totalPs" | "selfPs", number>>;

function eachUs({ occurrences }: OpTimes, ps: number): number {
  return occurrences > 0 ? ps / occurrences / 1e6 : 0;
}

export function selfColumn<R extends OpTimes>(
  width: number,
  narrowWidth: number,
  color: (row: R) => string,
): GridColumn<R> {
  const tip = "Time in the op itself, without the ops inside it";
  const head = { id: "self", title: "Self time, ms", tip, width, narrowWidth };
  return msBarColumn(head, ({ selfPs }) => selfPs, color);
}

export function timeTitles(nSteps: number | null): Readonly<Record<string, string>> {
  return { self: perStep("Self time, ms", nSteps), count: perStep("Count", nSteps) };
}

export function totalColumn<R extends OpTimes>(shownFrom = 0): GridColumn<R> {
  const tip = "Time from start to end, with the ops inside it";
  return numberColumn({ id: "total", title: "Total, ms", tip, width: 74, shownFrom }, ({ totalPs }) => totalPs / 1e9);
}

export function averageColumn<R extends OpTimes>(tip: string): GridColumn<R> {
  return numberColumn({ id: "average", title: "Average, µs", tip, width: 84 }, (row) => eachUs(row, row.totalPs));
}

export const TIMES_CSV: CsvColumns<OpTimes> = {
  occurrences: (row) => row.occurrences,
  total_time_us: (row) => row.totalPs / 1e6,
  avg_time_us: (row) => eachUs(row, row.totalPs),
  total_self_time_us: (row) => row.selfPs / 1e6,
  avg_self_time_us: (row) => eachUs(row, row.selfPs),
};

export type LedgerRow = Readonly<Record<"key" | "name", string>>;

export interface LedgerOptions<R extends LedgerRow> extends Omit<GridOptions<R>, "key" | "attributes" | "signal"> {
  readonly attributes?: GridOptions<R>["attributes"];
  readonly isSelected: (row: R) => boolean;
  readonly fileName: string;
  readonly csv: CsvColumns<R>;
}

export class Ledger<R extends LedgerRow> extends Grid<R> {
  /** The table goes when `signal` aborts. */
  constructor(
    signal: AbortSignal,
    readonly ledger: LedgerOptions<R>,
  ) {
    super({ attributes: (row: R) => ({ "data-op-name": row.name }), ...ledger, key: ({ key }: R) => key, signal });
  }

  show(rows: readonly R[], titles: Readonly<Record<string, string>> = {}): void {
    this.sheet.setTitles(titles);
    this.setRows(rows);
    this.mark();
  }

  mark(): void {
    const chosen = this.rows.filter(this.ledger.isSelected);
    this.setSelected(new Set(chosen.map(({ key }) => key)));
    if (chosen.length > 0 && chosen.length < this.rows.length) this.reveal(chosen[0].key);
  }

  save(): void {
    download(this.ledger.fileName, csvOf(this.ledger.csv, this.shown), "text/csv");
  }
}

/** A table as a part of a view: `rows` of what the view is about now, and heads that change with them. */
export function ledgerPane<R extends LedgerRow, S>(
  { link, signal }: Pick<TraceView, "link" | "signal">,
  options: LedgerOptions<R>,
  rows: (scene: S) => readonly R[],
  titles: (rows: readonly R[], scene: S) => Readonly<Record<string, string>>,
): Pane<S> {
  const ledger = new Ledger<R>(signal, options);
  for (const field of ["selection", "step"] as const) link.on(field, () => ledger.mark(), signal);
  const show = (scene: S) => {
    const shown = rows(scene);
    ledger.show(shown, titles(shown, scene));
  };
  return { element: ledger.element, show, save: () => ledger.save() };
}

interface FilteredTableOptions<R>
  extends Pick<GridOptions<R>, "label" | "columns" | "sortBy" | "key" | "attributes" | "onPick"> {
  readonly filterLabel: string;
  readonly isMarked: (row: R) => boolean;
  /** The rows that pass a filter; `isOff` says that nothing is written in the box. */
  readonly passing: (test: (text: string) => boolean, isOff: boolean) => readonly R[];
  /** What is said of the rows that pass, and behind it what is of less weight. */
  readonly describe: (shown: readonly R[], isOff: boolean) => readonly [text: string, about?: string];
  readonly whyEmpty: () => string;
  readonly onShown?: (shown: readonly R[]) => void;
  readonly csv: { readonly file: string; readonly columns: () => CsvColumns<R> };
  readonly controls?: readonly HTMLElement[] | undefined;
  readonly above?: readonly HTMLElement[] | undefined;
}

export class FilteredTable<R> {
  readonly element: HTMLElement;
  #shown: readonly R[] = [];
  readonly grid: Grid<R>;
  readonly #count = h("span.q", { role: "status" });
  readonly #input: HTMLInputElement;

  constructor(
    { signal }: Pick<View, "signal">,
    readonly options: FilteredTableOptions<R>,
  ) {
    const { controls = [], above = [], csv } = options;
    const attributes = { type: "search", placeholder: "Filter: text or /regex/", "aria-label": options.filterLabel };
    this.#input = h("input", attributes);
    this.grid = new Grid<R>({ ...options, signal });
    on(this.#input, signal, { input: inFrame(() => this.apply(), signal) });
    const save = () => download(csv.file, csvOf(csv.columns(), this.grid.shown), "text/csv");
    const saver = button("CSV", save, signal, { title: "Save the rows shown, with full names and precision" });
    const bar = h("div.bar", this.#input, ...controls, h("span.sp"), this.#count, saver);
    this.element = h("div.tfp-fill.tfp-linked", bar, ...above, this.grid.element);
  }

  apply(): void {
    const { passing, whyEmpty, onShown } = this.options;
    const text = this.#input.value;
    const { test, error } = textFilter(text);
    const isOff = text.trim() === "";
    setAria(this.#input, "invalid", error !== "");
    this.#input.title = error;
    this.#shown = passing(test, isOff);
    onShown?.(this.#shown);
    this.grid.sheet.setPlaceholder(whyEmpty());
    this.grid.setRows(this.#shown);
    this.#describe(error, isOff);
    this.followSelection(false);
  }

  #describe(error: string, isOff: boolean): void {
    const [text, about] = this.options.describe(this.#shown, isOff);
    const parts: Child[] = error ? [`Filter not applied: ${error}`] : [text, about && h("span.tfp-about", about)];
    // Where there is no room the text is cut.
    say(this.#count, ...parts.filter((part) => part !== undefined && part !== null && part !== false));
  }

  /** Marks the rows that are selected; `reveals`: scrolls to the first of them. */
  followSelection(reveals: boolean): void {
    const { key, isMarked } = this.options;
    const keys = this.#shown.filter(isMarked).map(key);
    this.grid.setSelected(new Set(keys));
    if (reveals && keys[0] !== undefined) this.grid.reveal(keys[0]);
  }
}

interface LinkedTableOptions<R>
  extends Omit<
    FilteredTableOptions<R>,
    "onPick" | "isMarked" | "passing" | "describe" | "whyEmpty" | "onShown" | "csv"
  > {
  readonly csv: { readonly file: string; readonly columns: CsvColumns<R> };
  readonly noun: () => string;
  readonly weightNoun: string;
  readonly weight: (row: R) => number;
  /** All rows of a scope; where that is of whole steps times and counts are a step. */
  readonly rows: (scope: Scope) => readonly R[];
  readonly texts: (row: R) => readonly string[];
  /** Rows under a filter, where that is more than leaving rows out. */
  readonly regroup?: (test: (text: string) => boolean) => readonly R[];
  /** Names of the ops that a row stands for: what a click selects, and whose selection marks the row. */
  readonly opsOf: (row: R) => readonly string[];
  /** Where that is more than that none ran in the range. */
  readonly whyEmpty?: (scope: Scope) => string;
  /** Called with all rows of the scope, also when only the filter changed. */
  readonly onRows?: (all: readonly R[], nSteps: number | null) => void;
  /** Heads that change with the scope, by column; `nSteps` is null where times are not a step. */
  readonly titles?: (nSteps: number | null) => Readonly<Record<string, string>>;
  /** Whether times of a row may be of several threads at once. */
  readonly isOverThreads?: (row: R) => boolean;
  readonly onSelection?: (chosen: ReadonlySet<string>) => void;
  readonly onPick?: (row: R) => void;
  /** What the rows are about, in place of words on the scope. */
  readonly about?: () => string;
  /** What the rows are of, where that is not what views are linked to. */
  readonly scope?: (linked: Scope) => Scope;
  /** Shown instead of everything else, when it gives something. */
  readonly empty?: () => HTMLElement | null;
}

/** Several threads do more in a step than it takes. */
export const OVER_THREADS = "host times summed over threads";

export class LinkedTable<R> {
  #all: readonly R[] = [];
  #chosen: ReadonlySet<string> = new Set();
  readonly #table: FilteredTable<R>;
  readonly compute: () => void;

  constructor(
    readonly view: TraceView,
    readonly options: LinkedTableOptions<R>,
  ) {
    const { file, columns } = options.csv;
    const named = () => (this.nSteps === null ? columns : aStep(columns));
    this.#table = new FilteredTable<R>(view, {
      ...options,
      csv: { file, columns: named },
      onPick: (row) => (options.onPick ? options.onPick(row) : this.pick(options.opsOf(row))),
      isMarked: (row) => this.#chosen.size > 0 && options.opsOf(row).some((name) => this.#chosen.has(name)),
      passing: (test, isOff) => this.#passing(test, isOff),
      describe: (shown) => this.#describe(shown),
      whyEmpty: () => this.#whyEmpty(),
      onShown: () => this.#tellRows(),
    });
    view.root.append(this.#table.element);
    this.compute = view.guard(() => this.#compute());
    follow(view, { compute: this.compute, select: () => this.#followSelection() }, ["kernel_runs", "copy_runs"]);
    this.compute();
    this.#followSelection();
  }

  get scope(): Scope {
    const linked = scopeOf(this.view.link, this.view.data.table);
    return this.options.scope?.(linked) ?? linked;
  }
  /** By how many steps times are divided; null where they are not. */
  get nSteps(): number | null {
    return stepsOfScope(this.view.data.table("steps"), this.scope);
  }

  /** Selects ops, or nothing when exactly they are selected. */
  pick(names: readonly string[]): void {
    toggleSelection(this.view.link, names);
  }

  #compute(): void {
    const nothing = this.options.empty?.() ?? null;
    if (nothing !== null) {
      this.view.root.replaceChildren(nothing);
      return;
    }
    this.#all = this.options.rows(this.scope);
    this.#table.apply();
    this.options.onSelection?.(this.#chosen);
  }

  #passing(test: (text: string) => boolean, isOff: boolean): readonly R[] {
    const { regroup, texts } = this.options;
    return isOff ? this.#all : (regroup?.(test) ?? this.#all.filter((row) => texts(row).some(test)));
  }

  #tellRows(): void {
    const { onRows, titles } = this.options;
    onRows?.(this.#all, this.nSteps);
    this.#table.grid.sheet.setTitles(titles?.(this.nSteps) ?? {});
  }

  #whyEmpty(): string {
    const host = this.view.data.of;
    const noun = this.options.noun();
    if (this.#all.length > 0)
      return `None of the ${noun} matches the filter. Clear it, or write /pattern/i for a regular expression.`;
    const { scope } = this;
    if (host === "" || (scope !== null && scope !== STEADY))
      return this.options.whyEmpty?.(scope) ?? `No ${noun} in this time range. Clear the range to see all.`;
    return `${host} has no ${noun}. Choose another host, or all of them.`;
  }

  #describe(shown: readonly R[]): [string, string] {
    const { data } = this.view;
    const { weight, weightNoun, noun, about, isOverThreads } = this.options;
    const sum = (rows: readonly R[]) => rows.reduce((total, row) => total + weight(row), 0);
    const all = sum(this.#all);
    const parts = [`${formatCount(shown.length)} of ${formatCount(this.#all.length)} ${noun()}`];
    if (all > 0) parts.push(`${formatPercent(sum(shown) / all)} of ${weightNoun}`);
    const linked = about?.() ?? ` · ${describeRange(data.meta, data.table("steps"), this.scope)}`;
    if (isOverThreads && this.#all.some(isOverThreads)) parts.push(OVER_THREADS);
    return [parts.join(" · "), `${data.of && ` · ${data.of}`}${linked}`];
  }

  #followSelection(): void {
    this.#chosen = new Set(this.view.link.selection);
    this.#table.followSelection(true);
    this.options.onSelection?.(this.#chosen);
  }
}
