/** Rows that have a name -> a table in a pane of a view: names cut to their column, sorting, selection, CSV. */

import { type Cell, toCsv } from "../model/text/csv";
import { cutNames } from "../model/text/cut";
import { download } from "./dom";
import { createGrid, type Grid } from "./grid";
import type { GridColumn } from "./grid_column";
import { inFrame, textFits } from "./page";

export interface LedgerRow {
  readonly key: string;
  readonly name: string;
}

export interface LedgerOptions<R extends LedgerRow> {
  readonly label: string;
  /** Gets what cuts a name to the width of its column. */
  readonly columns: (cut: (name: string) => string) => readonly GridColumn<R>[];
  readonly sortBy: string;
  readonly placeholder: string;
  readonly attributes?: (row: R) => Readonly<Record<string, string>>;
  readonly onPick: (row: R) => void;
  readonly isSelected: (row: R) => boolean;
  readonly fileName: string;
  readonly csvHeader: readonly string[];
  readonly csvRow: (row: R) => readonly Cell[];
}

/** Around a name in its cell, px. */
const CELL_PADDING_PX = 14;

export class Ledger<R extends LedgerRow> {
  readonly element: HTMLElement;
  readonly #grid: Grid<R>;
  #rows: readonly R[] = [];
  #cuts = new Map<string, string>();

  /** `root` has the font of the table; the table goes when `signal` aborts. */
  constructor(
    readonly root: HTMLElement,
    signal: AbortSignal,
    readonly options: LedgerOptions<R>,
  ) {
    const { label, columns, sortBy, placeholder, attributes, onPick } = options;
    this.#grid = createGrid<R>(
      columns((name) => this.#cuts.get(name) ?? name),
      {
        label,
        key: (row) => row.key,
        attributes: attributes ?? ((row) => ({ "data-op-name": row.name })),
        onPick,
        sortBy,
        placeholder,
        signal,
        onWidths: inFrame(() => this.#fill(), signal),
      },
    );
    this.element = this.#grid.element;
  }

  show(rows: readonly R[], titles: Readonly<Record<string, string>> = {}): void {
    this.#rows = rows;
    for (const [id, title] of Object.entries(titles)) this.#grid.setTitle(id, title);
    this.#fill();
  }

  #fill(): void {
    const room = (this.#grid.columnWidth("name") || 320) - CELL_PADDING_PX;
    this.#cuts = cutNames([...new Set(this.#rows.map((row) => row.name))], textFits(this.root, room));
    this.#grid.setRows(this.#rows);
    this.mark();
  }

  /** Marks the rows that are selected now. */
  mark(): void {
    const chosen = this.#rows.filter(this.options.isSelected);
    this.#grid.setSelected(new Set(chosen.map((row) => row.key)));
    if (chosen.length > 0 && chosen.length < this.#rows.length) this.#grid.reveal(chosen[0].key);
  }

  save(): void {
    const { fileName, csvHeader, csvRow } = this.options;
    download(fileName, toCsv(csvHeader, this.#grid.shown().map(csvRow)), "text/csv");
  }
}
