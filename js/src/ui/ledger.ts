/** Rows that have a name -> a table in a pane of a view: sorting, selection, CSV. */

import { type CsvColumns, csvOf } from "../model/text/csv";
import { download } from "./dom";
import { createGrid, type Grid } from "./grid";
import type { GridColumn } from "./grid_column";

export interface LedgerRow {
  readonly key: string;
  readonly name: string;
}

export interface LedgerOptions<R extends LedgerRow> {
  readonly label: string;
  readonly columns: readonly GridColumn<R>[];
  readonly sortBy: string;
  readonly placeholder: string;
  readonly attributes?: (row: R) => Readonly<Record<string, string>>;
  readonly onPick: (row: R) => void;
  readonly isSelected: (row: R) => boolean;
  /** Called when columns got other widths. */
  readonly onWidths?: () => void;
  readonly fileName: string;
  readonly csv: CsvColumns<R>;
}

export class Ledger<R extends LedgerRow> {
  readonly element: HTMLElement;
  readonly #grid: Grid<R>;
  #rows: readonly R[] = [];

  /** The table goes when `signal` aborts. */
  constructor(
    signal: AbortSignal,
    readonly options: LedgerOptions<R>,
  ) {
    this.#grid = createGrid<R>(options.columns, {
      attributes: (row: R) => ({ "data-op-name": row.name }),
      ...options,
      key: ({ key }: R) => key,
      signal,
    });
    this.element = this.#grid.element;
  }

  show(rows: readonly R[], titles: Readonly<Record<string, string>> = {}): void {
    this.#rows = rows;
    this.setTitles(titles);
    this.#grid.setRows(rows);
    this.mark();
  }

  setTitles(titles: Readonly<Record<string, string>>): void {
    for (const [id, title] of Object.entries(titles)) this.#grid.setTitle(id, title);
  }

  /** px, 0 where the column is not shown. */
  columnWidth(id: string): number {
    return this.#grid.columnWidth(id);
  }

  /** Marks the rows that are selected now. */
  mark(): void {
    const chosen = this.#rows.filter(this.options.isSelected);
    this.#grid.setSelected(new Set(chosen.map(({ key }) => key)));
    if (chosen.length > 0 && chosen.length < this.#rows.length) this.#grid.reveal(chosen[0].key);
  }

  save(): void {
    const { fileName, csv } = this.options;
    download(fileName, csvOf(csv, this.#grid.shown()), "text/csv");
  }
}
