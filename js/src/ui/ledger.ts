/** Rows that have a name -> a table in a pane of a view: sorting, selection, CSV. */

import { type CsvColumns, csvOf } from "../model/text/csv";
import { download } from "./dom";
import { Grid, type GridOptions } from "./grid";

export interface LedgerRow {
  readonly key: string;
  readonly name: string;
}

export interface LedgerOptions<R extends LedgerRow> extends Omit<GridOptions<R>, "key" | "attributes" | "signal"> {
  readonly attributes?: GridOptions<R>["attributes"];
  readonly isSelected: (row: R) => boolean;
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
    this.#grid = new Grid<R>({
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

  /** What stands in place of rows. */
  setPlaceholder(text: string): void {
    this.#grid.setPlaceholder(text);
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
