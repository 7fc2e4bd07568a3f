/** A row of a comparison -> its cells on the screen and in a CSV file. */
import type { Cell } from "../../model/text/csv";
import { titled } from "../../ui/cells";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { Known } from "./payload";
import { type DiffRow, type TableWords, valueText } from "./rows";
import { isChanged, signed, stateMark, times } from "./words";

/** What cells need beyond their row; read when a cell is drawn. */
export interface DiffLook {
  readonly cut: (id: string, text: string) => string;
  /** Change that fills half a bar, by unit. */
  readonly largest: ReadonlyMap<string, number>;
}

export interface ColumnsShown {
  readonly hasWhere: boolean;
  readonly hasPlace: boolean;
  /** What the numbers are in: "ms a step", "ms", "" where each row has a unit of its own. */
  readonly unit: string;
  readonly isNoiseKnown: boolean;
}

export function diffColumns(words: TableWords, shown: ColumnsShown, look: () => DiffLook): GridColumn<DiffRow>[] {
  return [...identity(words, shown, look), ...numbers(shown, look)];
}

function identity(
  words: TableWords,
  { hasWhere, hasPlace }: ColumnsShown,
  look: () => DiffLook,
): GridColumn<DiffRow>[] {
  const text = (id: "detail" | "place", title: string, width: number): GridColumn<DiffRow> => ({
    id,
    title,
    width,
    narrowWidth: Math.round(width * 0.8),
    isOptional: id === "detail",
    value: (row) => row[id],
    cell: (row) => titled(look().cut(id, row[id]), row[id]),
  });
  const columns: GridColumn<DiffRow>[] = [
    {
      id: "state",
      title: "State",
      tip: "Whether the row changed by more than its noise",
      width: 84,
      value: (row) => row.state,
      cell: (row) => stateMark(row.state),
    },
    {
      id: "name",
      title: words.name,
      value: (row) => row.name,
      cell: (row) => titled(look().cut("name", row.name), row.name),
    },
  ];
  if (words.detail) columns.push(text("detail", words.detail, 130));
  if (hasPlace) columns.push(text("place", "Where", 190));
  if (hasWhere)
    columns.push({ id: "where", title: "Side", width: 56, value: (row) => row.where, cell: (row) => row.where });
  return columns;
}

function numbers({ unit, isNoiseKnown }: ColumnsShown, look: () => DiffLook): GridColumn<DiffRow>[] {
  const head = (title: string) => (unit.startsWith("ms") ? `${title}, ms` : title);
  const of = unit === "" ? "" : `, ${unit}`;
  const number = (id: "a" | "b" | "noise", title: string, tip: string, width: number): GridColumn<DiffRow> => ({
    id,
    title: head(title),
    tip: `${tip}${of}`,
    width,
    narrowWidth: width - 8,
    isRight: true,
    value: (row) => row[id] ?? -1,
    cell: (row) => text(row, row[id]),
  });
  const columns: GridColumn<DiffRow>[] = [
    number("a", "a", "In the first run", 72),
    number("b", "b", "In the second run", 72),
    {
      id: "change",
      title: head("Change"),
      tip: `b - a${of}; the pale band is what noise may do, a change that ends in it means nothing`,
      width: 250,
      narrowWidth: 156,
      value: (row) => Math.abs(row.change ?? 0),
      cell: (row) => changeCell(row, look().largest.get(row.unit) ?? 0),
    },
    {
      id: "ratio",
      title: "b / a",
      width: 62,
      isRight: true,
      value: (row) => row.ratio ?? -1,
      cell: (row) => times(row.ratio),
    },
  ];
  if (isNoiseKnown) {
    const tip = "How large a change may be without meaning anything";
    columns.push({
      ...number("noise", "Noise", tip, 74),
      cell: (row) => (row.noise === null ? "" : `±${text(row, row.noise)}`),
    });
  }
  return columns;
}

function text(row: DiffRow, value: Known): string {
  return value === null ? "" : valueText(row, value);
}

/** The change as a number and as a bar from the middle: right is more, left is less, the pale band is noise. */
function changeCell(row: DiffRow, largest: number): Node {
  const { change, noise } = row;
  const axis = h("div", { class: "ax", "aria-hidden": "true" });
  const share = (value: number) => (largest > 0 ? Math.min(1, value / largest) * 50 : 0);
  if (noise !== null && noise > 0) axis.append(span("noise", 50 - share(noise), 2 * share(noise)));
  if (change !== null && change !== 0) {
    const width = share(Math.abs(change));
    axis.append(span(isChanged(row.state) ? "len on" : "len", change > 0 ? 50 : 50 - width, width));
  }
  axis.append(span("zero", 50));
  return h(
    "div",
    { class: "tfp-change" },
    h(
      "span",
      { class: "figure" },
      signed(change, (value) => valueText(row, value)),
    ),
    axis,
  );
}

function span(kind: string, left: number, width?: number): HTMLElement {
  const element = h("i", { class: kind });
  element.style.left = `${left}%`;
  if (width !== undefined) element.style.width = `max(1px, ${width}%)`;
  return element;
}

export const CSV_HEADER = ["state", "name", "detail", "place", "side", "unit", "a", "b", "change", "ratio", "noise"];

export function csvRow(row: DiffRow): Cell[] {
  const known = [row.a, row.b, row.change, row.ratio, row.noise].map((value) => value ?? "");
  return [row.state, row.name, row.detail, row.place, row.where, row.unit, ...known];
}
