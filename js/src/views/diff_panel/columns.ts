/** A row of a comparison -> its cells on the screen and in a CSV file. */
import { type CsvColumns, fields } from "../../model/text/csv";
import { nameColumn, textColumn } from "../../ui/cells";
import { h, unspoken } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { Known } from "./payload";
import { type DiffRow, type TableWords, valueText } from "./rows";
import { isChanged, signed, stateMark, times } from "./words";

export interface ColumnsShown {
  readonly hasWhere: boolean;
  readonly hasPlace: boolean;
  /** What the numbers are in: "ms a step", "ms", "" where each row has a unit of its own. */
  readonly unit: string;
  readonly isNoiseKnown: boolean;
}

/** @param largest change that fills half the bar of a row now */
export function diffColumns(
  words: TableWords,
  shown: ColumnsShown,
  largest: (row: DiffRow) => number,
): GridColumn<DiffRow>[] {
  return [...identity(words, shown), ...numbers(shown, largest)];
}

function identity(words: TableWords, { hasWhere, hasPlace }: ColumnsShown): GridColumn<DiffRow>[] {
  const state: GridColumn<DiffRow> = {
    ...{ id: "state", title: "State", tip: "Whether the row changed by more than its noise", width: 96 },
    value: (row) => row.state,
    cell: (row) => stateMark(row.state),
  };
  const name = nameColumn<DiffRow>({ id: "name", title: words.name }, (row) => row.name);
  const detail = { id: "detail", title: words.detail, width: 130, narrowWidth: 104, isOptional: true };
  const place = { id: "place", title: "Where", width: 190, narrowWidth: 152 };
  return [
    state,
    name,
    ...(words.detail ? [nameColumn<DiffRow>(detail, (row) => row.detail)] : []),
    ...(hasPlace ? [nameColumn<DiffRow>(place, (row) => row.place)] : []),
    ...(hasWhere ? [textColumn<DiffRow>({ id: "where", title: "Side", width: 56 }, (row) => row.where)] : []),
  ];
}

function numbers({ unit, isNoiseKnown }: ColumnsShown, largest: (row: DiffRow) => number): GridColumn<DiffRow>[] {
  const head = (title: string) => (unit.startsWith("ms") ? `${title}, ms` : title);
  const of = unit === "" ? "" : `, ${unit}`;
  const number = (id: "a" | "b" | "noise", title: string, tip: string, width: number): GridColumn<DiffRow> => ({
    ...{ id, title: head(title), tip: `${tip}${of}`, width, narrowWidth: width - 8, isRight: true },
    value: (row) => row[id] ?? -1,
    cell: (row) => text(row, row[id]),
  });
  const noiseTip = "How large a change may be without meaning anything";
  const noise = (row: DiffRow) => (row.noise === null ? "" : `±${text(row, row.noise)}`);
  return [
    number("a", "a", "In the first run", 72),
    number("b", "b", "In the second run", 72),
    {
      ...{ id: "change", title: head("Change"), width: 250, narrowWidth: 156 },
      tip: `b - a${of}; the pale band is what noise may do, a change that ends in it means nothing`,
      value: (row) => Math.abs(row.change ?? 0),
      cell: (row) => changeCell(row, largest(row)),
    },
    {
      ...{ id: "ratio", title: "b / a", width: 62, isRight: true },
      value: (row) => row.ratio ?? -1,
      cell: (row) => times(row.ratio),
    },
    ...(isNoiseKnown ? [{ ...number("noise", "Noise", noiseTip, 74), cell: noise }] : []),
  ];
}

function text(row: DiffRow, value: Known): string {
  return value === null ? "" : valueText(row, value);
}

/** The change as a number and as a bar from the middle: right is more, left is less, the pale band is noise. */
function changeCell(row: DiffRow, largest: number): Node {
  const { change, noise } = row;
  const axis = unspoken("div.ax");
  const share = (value: number) => (largest > 0 ? Math.min(1, value / largest) * 50 : 0);
  if (noise !== null && noise > 0) axis.append(span("noise", 50 - share(noise), 2 * share(noise)));
  if (change !== null && change !== 0) {
    const width = share(Math.abs(change));
    axis.append(span(isChanged(row.state) ? "len on" : "len", change > 0 ? 50 : 50 - width, width));
  }
  axis.append(span("zero", 50));
  const figure = signed(change, (value) => valueText(row, value));
  return h("div.tfp-change", h("span.figure", figure), axis);
}

function span(kind: string, left: number, width?: number): HTMLElement {
  const style = { left: `${left}%`, ...(width !== undefined && { width: `max(1px, ${width}%)` }) };
  return h("i", { class: kind, style });
}

export const DIFF_CSV: CsvColumns<DiffRow> = {
  ...fields<DiffRow>("state", "name", "detail", "place"),
  side: (row) => row.where,
  ...fields<DiffRow>("unit", "a", "b", "change", "ratio", "noise"),
};
