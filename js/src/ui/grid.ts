/** Rows and column descriptions -> a sortable table with virtual rows (Tabulator), keyboard selection and no markup from data. */

import {
  FormatModule,
  InteractionModule,
  ResizeColumnsModule,
  type RowComponent,
  SortModule,
  Tabulator,
} from "tabulator-tables";
import { h } from "./dom";
import { definition, type Entry, type GridColumn, headOf, toEntry } from "./grid_column";

Tabulator.registerModule([FormatModule, InteractionModule, ResizeColumnsModule, SortModule]);

export interface GridOptions<R> {
  readonly label: string;
  readonly key: (row: R) => string;
  /** Attributes of a row's element. */
  readonly attributes: (row: R) => Readonly<Record<string, string>>;
  readonly onPick: (row: R) => void;
  readonly sortBy: string;
  readonly placeholder: string;
  readonly signal: AbortSignal;
  /** Called when columns got other widths: names are cut to them. */
  readonly onWidths: () => void;
}

export interface Grid<R> {
  readonly element: HTMLElement;
  setRows(rows: readonly R[]): void;
  setPlaceholder(text: string): void;
  setTitle(id: string, text: string): void;
  /** The rows in the order shown. */
  shown(): R[];
  setSelected(keys: ReadonlySet<string>): void;
  /** Scrolls to a row unless it is in sight. */
  reveal(key: string): void;
  /** Width of a column in px, 0 before the table is laid out. */
  columnWidth(id: string): number;
}

const NARROW_PX = 1080;

/** The rows and their elements, under Tabulator; what needs the table waits until it is built. */
class TabulatorGrid<R> implements Grid<R> {
  readonly element = h("div", { class: "tfp-grid" });
  readonly #placeholder: HTMLElement;
  readonly #heads: ReadonlyMap<string, HTMLElement>;
  readonly #table: Tabulator;
  readonly #whenBuilt: Promise<void>;
  readonly #elements = new Map<string, HTMLElement>();
  #entries: Entry<R>[] = [];
  #selected: ReadonlySet<string> = new Set();
  #isBuilt = false;
  #isPending = false;
  /** The row to scroll to as soon as there are rows and room. */
  #sought: string | null = null;

  constructor(
    readonly columns: readonly GridColumn<R>[],
    readonly options: GridOptions<R>,
  ) {
    const { signal } = options;
    this.#placeholder = h("span", {}, options.placeholder);
    this.#heads = new Map(columns.map((column) => [column.id, headOf(column, signal)]));
    this.#table = this.#createTable();
    this.#whenBuilt = new Promise((resolve) => {
      this.#table.on("tableBuilt", () => {
        this.#isBuilt = true;
        label(this.element, options.label);
        resolve();
      });
    });
    this.#table.on("rowClick", (_event, row) => options.onPick((row.getData() as Entry<R>).row));
    walkByKeys(this.element, signal, (step) => this.#walk(step));
    fitToWidth(this.#table, this.element, columns, this.#whenBuilt, () => this.#retry(), options);
    signal.addEventListener("abort", () => void this.#whenBuilt.then(() => this.#table.destroy()), { once: true });
  }

  #createTable(): Tabulator {
    return new Tabulator(this.element, {
      height: "100%",
      layout: "fitColumns",
      index: "key",
      data: [],
      placeholder: this.#placeholder,
      columnHeaderSortMulti: false,
      initialSort: [{ column: this.options.sortBy, dir: "desc" }],
      columns: this.columns.map((column) => definition(column, this.#heads.get(column.id) as HTMLElement)),
      rowFormatter: (row) => this.#format(row),
    });
  }

  #format(row: RowComponent): void {
    const entry = row.getData() as Entry<R>;
    const rowElement = row.getElement();
    this.#elements.set(entry.key, rowElement);
    for (const [name, value] of Object.entries(this.options.attributes(entry.row))) {
      rowElement.setAttribute(name, value);
    }
    rowElement.setAttribute("aria-selected", String(this.#selected.has(entry.key)));
  }

  #walk(step: number): void {
    const rows = this.#shownEntries();
    const at = rows.findIndex((entry) => this.#selected.has(entry.key));
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
    if (next !== undefined && rows[at] !== next) this.options.onPick(next.row);
  }

  /** Tabulator drops all rows when it gets data while hidden, so data waits until the table has a size. */
  #apply(): void {
    this.#isPending = isHidden(this.element);
    if (this.#isPending || this.options.signal.aborted) return;
    this.#elements.clear();
    void this.#table.replaceData([...this.#entries]).then(() => this.#seek());
  }

  #retry(): void {
    if (this.#isPending) this.#apply();
    else this.#seek();
  }

  #seek(): void {
    const key = this.#sought;
    if (key === null || this.options.signal.aborted || isHidden(this.element)) return;
    const found = () => {
      if (this.#sought === key) this.#sought = null;
    };
    // A row that is not there yet is sought again with the next rows.
    this.#table.scrollToRow(key, "center", false).then(found, () => undefined);
  }

  #shownEntries(): Entry<R>[] {
    return (this.#table.getRows("active") as RowComponent[]).map((row) => row.getData() as Entry<R>);
  }

  setRows(rows: readonly R[]): void {
    const own = rows.map((row) => toEntry(row, this.columns, this.options.key));
    this.#entries = own;
    // A group of no rows is incomplete in the eyes of a screen reader.
    this.element.querySelector(".tabulator-tableholder")?.setAttribute("aria-busy", String(own.length === 0));
    void this.#whenBuilt.then(() => {
      if (own === this.#entries) this.#apply();
      // A page that hides everything for part of a frame (a change of theme) tells no observer.
      if (this.#isPending) requestAnimationFrame(() => requestAnimationFrame(() => this.#retry()));
    });
  }

  setTitle(id: string, text: string): void {
    const head = this.#heads.get(id);
    if (head === undefined) return;
    head.textContent = text;
    const tip = this.columns.find((column) => column.id === id)?.tip;
    if (head.classList.contains("cut")) head.title = tip ? `${text}\n${tip}` : text;
  }

  setPlaceholder(text: string): void {
    this.#placeholder.textContent = text;
  }

  shown(): R[] {
    return (this.#isBuilt ? this.#shownEntries() : this.#entries).map((entry) => entry.row);
  }

  setSelected(keys: ReadonlySet<string>): void {
    this.#selected = keys;
    if (this.#sought !== null && !keys.has(this.#sought)) this.#sought = null;
    for (const [key, rowElement] of this.#elements) rowElement.setAttribute("aria-selected", String(keys.has(key)));
  }

  reveal(key: string): void {
    this.#sought = key;
    void this.#whenBuilt.then(() => this.#seek());
  }

  columnWidth(id: string): number {
    const column = this.#isBuilt ? this.#table.getColumn(id) : undefined;
    return column ? Number(column.getWidth()) : 0;
  }
}

export function createGrid<R>(columns: readonly GridColumn<R>[], options: GridOptions<R>): Grid<R> {
  return new TabulatorGrid(columns, options);
}

function label(element: HTMLElement, text: string): void {
  element.setAttribute("aria-label", text);
  const holder = element.querySelector(".tabulator-tableholder");
  // Tabulator leaves what takes the focus without a role, which nothing in a grid may be.
  holder?.setAttribute("role", "rowgroup");
  holder?.setAttribute("aria-busy", "true");
  holder?.setAttribute("aria-label", `${text}: arrow keys select a row`);
  holder?.querySelector(".tabulator-table")?.setAttribute("role", "presentation");
  holder?.setAttribute("data-lm-suppress-shortcuts", "true");
}

function walkByKeys(element: HTMLElement, signal: AbortSignal, move: (step: number) => void): void {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: 8,
    PageUp: -8,
    Home: -Infinity,
    End: Infinity,
  };
  element.addEventListener(
    "keydown",
    (event) => {
      const step = steps[event.key];
      if (step === undefined || !(event.target as Element).classList.contains("tabulator-tableholder")) return;
      event.preventDefault();
      event.stopPropagation();
      move(step);
    },
    { signal },
  );
}

/** Where sizes are not known at all (a test without layout), nothing counts as hidden. */
function isHidden(element: HTMLElement): boolean {
  return typeof ResizeObserver !== "undefined" && element.offsetWidth === 0;
}

/** Leaves optional columns out below a width, as the page does. */
function fitToWidth<R>(
  table: Tabulator,
  element: HTMLElement,
  columns: readonly GridColumn<R>[],
  whenBuilt: Promise<void>,
  onShown: () => void,
  { onWidths, signal }: GridOptions<R>,
): void {
  if (typeof ResizeObserver === "undefined") return;
  let wasNarrow = false;
  let lastWidth = 0;
  const hidden = new Set<string>();
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.round(entry?.contentRect.width ?? 0);
    if (width === lastWidth) return;
    lastWidth = width;
    // A hidden table has no size; what changed meanwhile is drawn when it is shown again.
    if (width === 0) return;
    void whenBuilt.then(() => {
      if (signal.aborted) return;
      const isNarrow = width < NARROW_PX;
      leaveOut(table, columns, hidden, width);
      if (isNarrow !== wasNarrow) setNarrow(table, columns, isNarrow);
      wasNarrow = isNarrow;
      if (isHidden(element)) return;
      table.redraw(true);
      onShown();
      onWidths();
    });
  });
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}

/** Shows the optional columns that there is room for; `hidden` keeps the others. */
function leaveOut<R>(table: Tabulator, columns: readonly GridColumn<R>[], hidden: Set<string>, width: number): void {
  for (const { id, isOptional, shownFrom } of columns) {
    const isShown = !isOptional || width >= Math.max(NARROW_PX, shownFrom ?? 0);
    if (isShown === !hidden.has(id)) continue;
    if (isShown) table.showColumn(id);
    else table.hideColumn(id);
    if (isShown) hidden.delete(id);
    else hidden.add(id);
  }
}

function setNarrow<R>(table: Tabulator, columns: readonly GridColumn<R>[], isNarrow: boolean): void {
  for (const column of columns) {
    if (column.narrowWidth === undefined) continue;
    const width = isNarrow ? column.narrowWidth : (column.width ?? column.narrowWidth);
    const component = table.getColumn(column.id);
    // Filling the table's width goes by the definitions, not by the widths set later.
    component.getDefinition().width = width;
    component.setWidth(width);
  }
}
