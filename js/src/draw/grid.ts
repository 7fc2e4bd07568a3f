/** Rows and column descriptions -> a sortable table with virtual rows (Tabulator), keyboard selection and no markup from data. */

import {
  type CellComponent,
  type ColumnDefinition,
  FormatModule,
  InteractionModule,
  ResizeColumnsModule,
  type RowComponent,
  SortModule,
  Tabulator,
} from "tabulator-tables";
import { h } from "./dom";

Tabulator.registerModule([FormatModule, InteractionModule, ResizeColumnsModule, SortModule]);

export interface GridColumn<R> {
  /** Unique in its grid. */
  readonly id: string;
  readonly title: string;
  /** What the column means, on hover. */
  readonly tip?: string;
  /** What the column sorts by. */
  readonly value: (row: R) => number | string;
  /** What a cell shows; text is set as text. */
  readonly cell: (row: R) => Node | string;
  /** px; a column without a width takes a share of the rest. */
  readonly width?: number;
  readonly narrowWidth?: number;
  readonly isRight?: boolean;
  /** Left out where the table is narrow. */
  readonly isOptional?: boolean;
}

export interface GridOptions<R> {
  readonly label: string;
  readonly key: (row: R) => string;
  /** Attributes of a row's element. */
  readonly attributes: (row: R) => Readonly<Record<string, string>>;
  readonly onPick: (row: R) => void;
  readonly sortBy: string;
  readonly placeholder: string;
  readonly signal: AbortSignal;
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

interface Entry<R> {
  readonly key: string;
  readonly row: R;
  readonly [value: string]: unknown;
}

export function createGrid<R>(columns: readonly GridColumn<R>[], options: GridOptions<R>): Grid<R> {
  const element = h("div", { class: "tfp-grid" });
  const placeholder = h("span", {}, options.placeholder);
  const elements = new Map<string, HTMLElement>();
  const heads = new Map(columns.map((column) => [column.id, headOf(column, options.signal)]));
  let selected: ReadonlySet<string> = new Set();
  let entries: Entry<R>[] = [];
  let isBuilt = false;
  const table = new Tabulator(element, {
    height: "100%",
    layout: "fitColumns",
    index: "key",
    data: [],
    placeholder,
    columnHeaderSortMulti: false,
    initialSort: [{ column: options.sortBy, dir: "desc" }],
    columns: columns.map((column) => definition(column, heads.get(column.id) as HTMLElement)),
    rowFormatter: (row) => {
      const entry = row.getData() as Entry<R>;
      const rowElement = row.getElement();
      elements.set(entry.key, rowElement);
      for (const [name, value] of Object.entries(options.attributes(entry.row))) rowElement.setAttribute(name, value);
      rowElement.setAttribute("aria-selected", String(selected.has(entry.key)));
    },
  });
  const whenBuilt = new Promise<void>((resolve) => {
    table.on("tableBuilt", () => {
      isBuilt = true;
      label(element, options.label);
      resolve();
    });
  });
  table.on("rowClick", (_event, row) => options.onPick((row.getData() as Entry<R>).row));
  const shown = () => (table.getRows("active") as RowComponent[]).map((row) => row.getData() as Entry<R>);
  walkByKeys(element, options.signal, (step) => {
    const rows = shown();
    const at = rows.findIndex((entry) => selected.has(entry.key));
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
    if (next !== undefined && rows[at] !== next) options.onPick(next.row);
  });
  let isPending = false;
  /** Tabulator drops all rows when it gets data while hidden, so data waits until the table has a size. */
  const apply = () => {
    isPending = isHidden(element);
    if (isPending || options.signal.aborted) return;
    elements.clear();
    void table.replaceData([...entries]);
  };
  const retry = () => {
    if (isPending) apply();
  };
  fitToWidth(table, element, columns, whenBuilt, retry, options.signal);
  options.signal.addEventListener("abort", () => void whenBuilt.then(() => table.destroy()), { once: true });
  return {
    element,
    setRows(rows) {
      entries = rows.map((row) => toEntry(row, columns, options.key));
      const own = entries;
      void whenBuilt.then(() => {
        if (own === entries) apply();
        // A page that hides everything for part of a frame (a change of theme) tells no observer.
        if (isPending) requestAnimationFrame(() => requestAnimationFrame(retry));
      });
    },
    setTitle(id, text) {
      const head = heads.get(id);
      if (head) head.textContent = text;
    },
    setPlaceholder(text) {
      placeholder.textContent = text;
    },
    shown: () => (isBuilt ? shown() : entries).map((entry) => entry.row),
    setSelected(keys) {
      selected = keys;
      for (const [key, rowElement] of elements) rowElement.setAttribute("aria-selected", String(keys.has(key)));
    },
    reveal(key) {
      void whenBuilt.then(() => {
        if (!options.signal.aborted) return table.scrollToRow(key, "center", false).catch(() => undefined);
      });
    },
    columnWidth: (id) => {
      const column = isBuilt ? table.getColumn(id) : undefined;
      return column ? Number(column.getWidth()) : 0;
    },
  };
}

function toEntry<R>(row: R, columns: readonly GridColumn<R>[], key: (row: R) => string): Entry<R> {
  const entry: Record<string, unknown> = { key: key(row), row };
  for (const column of columns) entry[column.id] = column.value(row);
  return entry as Entry<R>;
}

/** Tabulator's headers take no keys; a focusable title that clicks its header does. */
function headOf<R>(column: GridColumn<R>, signal: AbortSignal): HTMLElement {
  const head = h("span", { class: "tfp-head", tabindex: 0, title: column.tip }, column.title);
  head.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      head.click();
    },
    { signal },
  );
  return head;
}

function definition<R>(column: GridColumn<R>, head: HTMLElement): ColumnDefinition {
  return {
    field: column.id,
    title: column.title,
    titleFormatter: () => head,
    formatter: (cell: CellComponent) => {
      const content = column.cell((cell.getData() as Entry<R>).row);
      // Tabulator takes a string as markup.
      return typeof content === "string" ? h("span", {}, content) : (content as HTMLElement);
    },
    sorter: (a, b) => (typeof a === "number" ? a - Number(b) : String(a) < String(b) ? -1 : a === b ? 0 : 1),
    headerSortStartingDir: "desc",
    hozAlign: column.isRight ? "right" : "left",
    headerHozAlign: column.isRight ? "right" : "left",
    ...(column.width === undefined ? { minWidth: 90, widthGrow: 1 } : { width: column.width, minWidth: 24 }),
  };
}

function label(element: HTMLElement, text: string): void {
  element.setAttribute("aria-label", text);
  const holder = element.querySelector(".tabulator-tableholder");
  holder?.setAttribute("aria-label", `${text}: arrow keys select a row`);
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
  signal: AbortSignal,
): void {
  if (typeof ResizeObserver === "undefined") return;
  let wasNarrow = false;
  let lastWidth = 0;
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.round(entry?.contentRect.width ?? 0);
    if (width === lastWidth) return;
    lastWidth = width;
    // A hidden table has no size; what changed meanwhile is drawn when it is shown again.
    if (width === 0) return;
    void whenBuilt.then(() => {
      if (signal.aborted) return;
      const isNarrow = width < NARROW_PX;
      if (isNarrow !== wasNarrow) setNarrow(table, columns, isNarrow);
      wasNarrow = isNarrow;
      if (isHidden(element)) return;
      table.redraw(true);
      onShown();
    });
  });
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}

function setNarrow<R>(table: Tabulator, columns: readonly GridColumn<R>[], isNarrow: boolean): void {
  for (const column of columns) {
    if (column.isOptional && isNarrow) table.hideColumn(column.id);
    if (column.isOptional && !isNarrow) table.showColumn(column.id);
    if (column.narrowWidth === undefined) continue;
    const width = isNarrow ? column.narrowWidth : (column.width ?? column.narrowWidth);
    const component = table.getColumn(column.id);
    // Filling the table's width goes by the definitions, not by the widths set later.
    component.getDefinition().width = width;
    component.setWidth(width);
  }
}
