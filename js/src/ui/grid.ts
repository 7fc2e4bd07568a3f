/** Rows and columns -> a table that sorts its rows and marks those that are selected; arrow keys select. */

import type { GridColumn } from "./grid_column";
import { Sheet } from "./sheet";

export interface GridOptions<R> {
  /** What the rows are, for a screen reader. */
  readonly label: string;
  readonly columns: readonly GridColumn<R>[];
  readonly key: (row: R) => string;
  /** Attributes of a row's element. */
  readonly attributes: (row: R) => Readonly<Record<string, string>>;
  readonly onPick: (row: R) => void;
  readonly sortBy: string;
  readonly placeholder?: string;
  readonly signal: AbortSignal;
  /** Called when columns got other widths. */
  readonly onWidths?: () => void;
}

export class Grid<R> {
  readonly element: HTMLElement;
  readonly #sheet: Sheet<R>;
  /** As they came. */
  #rows: readonly R[] = [];
  #sorted: readonly R[] = [];
  #selected: ReadonlySet<string> = new Set();
  #sortBy: string;
  #isDown = true;
  /** The row to scroll to as soon as it is among the rows. */
  #sought: string | null = null;

  constructor(readonly options: GridOptions<R>) {
    const { label, signal, key, attributes, onPick, placeholder = "", onWidths } = options;
    this.#sortBy = options.sortBy;
    this.#sheet = new Sheet({
      role: "grid",
      label: `${label}: arrow keys select a row`,
      signal,
      attributes: (row) => ({ ...attributes(row), "aria-selected": String(this.#selected.has(key(row))) }),
      onSort: (id) => this.#sort(id),
      onClick: onPick,
      onWalk: (place) => place !== this.#sheet.at && onPick(this.#sorted[place]),
      onWidths,
    });
    this.element = this.#sheet.element;
    this.#sheet.setPlaceholder(placeholder);
  }

  setRows(rows: readonly R[]): void {
    this.#rows = rows;
    const values = this.options.columns.find(({ id }) => id === this.#sortBy)?.value;
    this.#sorted = values === undefined ? rows : sorted(rows, values, this.#isDown);
    this.#sheet.show(
      this.options.columns,
      this.#sorted,
      { id: this.#sortBy, isDown: this.#isDown },
      this.#firstSelected,
    );
    if (this.#sought !== null) this.reveal(this.#sought);
  }

  setPlaceholder(text: string): void {
    this.#sheet.setPlaceholder(text);
  }

  setTitle(id: string, text: string): void {
    this.#sheet.setTitle(id, text);
  }

  /** Width of a column in px, 0 where it is not shown. */
  columnWidth(id: string): number {
    return this.#sheet.columnWidth(id);
  }

  /** The rows in the order shown. */
  shown(): readonly R[] {
    return this.#sorted;
  }

  setSelected(keys: ReadonlySet<string>): void {
    this.#selected = keys;
    if (this.#sought !== null && !keys.has(this.#sought)) this.#sought = null;
    this.#sheet.update(this.#firstSelected);
  }

  /** Scrolls to a row unless it is in sight. */
  reveal(key: string): void {
    const place = this.#sorted.findIndex((row) => this.options.key(row) === key);
    this.#sought = place < 0 ? key : null;
    if (place >= 0) this.#sheet.reveal(place);
  }

  get #firstSelected(): number {
    if (this.#selected.size === 0) return -1;
    return this.#sorted.findIndex((row) => this.#selected.has(this.options.key(row)));
  }

  #sort(id: string): void {
    this.#isDown = id !== this.#sortBy || !this.#isDown;
    this.#sortBy = id;
    this.setRows(this.#rows);
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
