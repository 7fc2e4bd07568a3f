/** Values of a row -> columns of a table, and what their cells show. */

import { formatAmount, formatTo } from "../model/text/format";
import { h } from "./dom";
import type { CellLook, GridColumn } from "./grid_column";

type Head<R> = Pick<GridColumn<R>, "id" | "title"> & Partial<GridColumn<R>>;

/** A text with another one on hover, such as a cut name with the whole. */
export function titled(text: string, title: string, isQuiet = false): Node {
  return h("span", { title: title || undefined, class: isQuiet && "q" }, text);
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
  amount: (row: R) => number,
  text: (amount: number, look: CellLook) => string,
  color: (row: R) => string,
): GridColumn<R> {
  return {
    ...head,
    value: amount,
    amounts: amount,
    cell: (row, look) =>
      barCell(text(amount(row), look), [{ share: look.most > 0 ? amount(row) / look.most : 0, color: color(row) }]),
  };
}

/** Times in ps as ms with bars. */
export function msBarColumn<R>(head: Head<R>, ps: (row: R) => number, color: (row: R) => string): GridColumn<R> {
  const figures = (row: R) => ps(row) / 1e9;
  return barColumn({ ...head, figures }, ps, (value, { decimals }) => formatTo(value / 1e9, decimals), color);
}

/** Names, cut where they do not fit; on hover the whole, or what `hover` gives. */
export function nameColumn<R>(
  head: Head<R>,
  name: (row: R) => string,
  hover: (row: R) => string = name,
  isQuiet: (row: R) => boolean = () => false,
): GridColumn<R> {
  const cell: GridColumn<R>["cell"] = (row, { cut }) => titled(cut(name(row)), hover(row), isQuiet(row));
  return { value: name, names: name, cell, ...head };
}

/** Short texts. */
export function textColumn<R>(head: Head<R>, text: (row: R) => string): GridColumn<R> {
  return { value: text, cell: (row) => titled(text(row), text(row)), ...head };
}

/** The place of a row in the order in which the table comes. */
export function rankColumn<R extends { readonly rank: number }>(tip?: string): GridColumn<R> {
  const value = (row: R) => -row.rank;
  return { id: "rank", title: "#", tip, width: 36, isRight: true, value, cell: (row) => String(row.rank) };
}

/** How often. */
export function countColumn<R extends { readonly occurrences: number }>(tip: string): GridColumn<R> {
  const head = { id: "count", title: "Count", tip, width: 84, narrowWidth: 76, isOptional: false };
  return numberColumn(head, ({ occurrences }) => occurrences, formatAmount);
}

/** A column of numbers, right-aligned, optional where the table is narrow unless told otherwise; without `text` all to as many decimals. */
export function numberColumn<R>(
  head: Head<R>,
  value: (row: R) => number,
  text?: (value: number) => string,
): GridColumn<R> {
  const cell: GridColumn<R>["cell"] = (row, { decimals }) => {
    const one = value(row);
    if (!Number.isFinite(one)) return "";
    return text === undefined ? formatTo(one, decimals) : text(one);
  };
  const sorted = (row: R) => (Number.isFinite(value(row)) ? value(row) : -1);
  const figures = text === undefined ? { figures: value } : {};
  return { isRight: true, isOptional: true, value: sorted, cell, ...figures, ...head };
}
