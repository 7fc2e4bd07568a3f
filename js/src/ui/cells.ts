/** Values of a row -> what a cell of a table shows. */

import { formatCount, formatNumber } from "../model/text/format";
import { h } from "./dom";
import type { GridColumn } from "./grid_column";

/** A text with another one on hover, such as a cut name with the whole. */
export function titled(text: string, title: string): Node {
  return h("span", { title }, text);
}

/** A ratio as a number for a column whose head says per cent. */
export function percent(ratio: number): string {
  return formatNumber(ratio * 100);
}

export interface BarPart {
  /** Of the longest bar of the column. */
  readonly share: number;
  /** A CSS colour. */
  readonly color: string;
  readonly title?: string;
}

/** A number and a bar of its parts. */
export function barCell(text: string, parts: readonly BarPart[]): Node {
  const bars = parts.map(({ share, color, title }) => {
    const bar = h("i", { title });
    bar.style.width = share > 0 ? `max(1px, ${share * 100}%)` : "0";
    bar.style.background = color;
    return bar;
  });
  if (bars.length === 1) return h("div", { class: "tfp-bar-cell" }, h("span", {}, text), ...bars);
  return h("div", { class: "tfp-bar-cell" }, h("span", {}, text), h("div", { class: "tfp-bar-stack" }, ...bars));
}

/** The place of a row in the order in which the table comes. */
export function rankColumn<R extends { readonly rank: number }>(tip: string): GridColumn<R> {
  const value = (row: R) => -row.rank;
  return { id: "rank", title: "#", tip, width: 36, isRight: true, value, cell: (row) => String(row.rank) };
}

/** How often. */
export function countColumn<R extends { readonly occurrences: number }>(tip: string): GridColumn<R> {
  return {
    id: "count",
    title: "Count",
    tip,
    width: 60,
    isRight: true,
    value: (row) => row.occurrences,
    cell: (row) => formatCount(row.occurrences),
  };
}

/** A column of numbers, right-aligned, optional where the table is narrow unless told otherwise. */
export function numberColumn<R>(
  head: Pick<GridColumn<R>, "id" | "title" | "width"> & Partial<GridColumn<R>>,
  value: (row: R) => number,
  text: (value: number) => string = formatNumber,
): GridColumn<R> {
  const cell = (row: R) => (Number.isFinite(value(row)) ? text(value(row)) : "");
  const sorted = (row: R) => (Number.isFinite(value(row)) ? value(row) : -1);
  return { isRight: true, isOptional: true, ...head, value: sorted, cell };
}
