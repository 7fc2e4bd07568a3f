/** Column descriptions -> Tabulator's definitions and headers, and a row -> the values that its columns sort by. */

import type { CellComponent, ColumnDefinition } from "tabulator-tables";
import { h } from "./dom";

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
  /** Width of the table in px from which an optional column is shown, where that is more than not being narrow. */
  readonly shownFrom?: number;
}

/** A row as Tabulator keeps it: under each column's id what the column sorts by. */
export interface Entry<R> {
  readonly key: string;
  readonly row: R;
  readonly [value: string]: unknown;
}

export function toEntry<R>(row: R, columns: readonly GridColumn<R>[], key: (row: R) => string): Entry<R> {
  const entry: Record<string, unknown> = { key: key(row), row };
  for (const column of columns) entry[column.id] = column.value(row);
  return entry as Entry<R>;
}

/** Tabulator's headers take no keys; a focusable title that clicks its header does. */
export function headOf<R>(column: GridColumn<R>, signal: AbortSignal): HTMLElement {
  // The column that takes the room left may have a head of any length.
  const name = column.width === undefined && !column.isRight ? "tfp-head cut" : "tfp-head";
  const head = h("span", { class: name, tabindex: 0, title: column.tip }, column.title);
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

export function definition<R>(column: GridColumn<R>, head: HTMLElement): ColumnDefinition {
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
