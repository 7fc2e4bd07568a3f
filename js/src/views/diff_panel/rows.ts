/** A table of a comparison -> its rows, those that pass a filter, and what they are called. */
import { formatBytes, formatCount, formatNumber } from "../../model/text/format";
import type { Columns, DiffTable, TableId } from "./payload";
import { isChanged } from "./words";

/** The columns of a table at one place; `rank` is that place, 0 the largest change. */
export type DiffRow = { readonly [K in keyof Columns]: Columns[K][number] } & { readonly rank: number };

export interface TableWords {
  /** Of the tab. */
  readonly title: string;
  /** Plural. */
  readonly noun: string;
  /** Heads of the columns that tell a row from the others; "" for a column that there is not. */
  readonly name: string;
  readonly detail: string;
}

export const TABLE_WORDS: Readonly<Record<TableId, TableWords>> = {
  ops: { title: "Ops", noun: "ops", name: "Op", detail: "Type" },
  layers: { title: "Layers", noun: "layers", name: "Layer", detail: "Class" },
  source_lines: { title: "Source lines", noun: "lines", name: "Line", detail: "" },
  kernels: { title: "Kernels", noun: "kernels", name: "Kernel", detail: "Op" },
  iterators: { title: "Iterators", noun: "iterators", name: "Iterator", detail: "Long name" },
  memory: { title: "Memory", noun: "figures", name: "Allocator", detail: "Figure" },
};

export const METRIC_WORDS: Readonly<Record<string, string>> = {
  peak_bytes: "peak",
  allocated_bytes: "allocated",
  n_allocations: "allocations",
};

export function rowsOf({ columns }: DiffTable): DiffRow[] {
  return columns.name.map((_, rank) => {
    const row = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[rank]])) as DiffRow;
    return { ...row, rank, detail: METRIC_WORDS[row.detail] ?? row.detail };
  });
}

export function passing(rows: readonly DiffRow[], onlyChanged: boolean, test: (text: string) => boolean): DiffRow[] {
  const isWanted = (row: DiffRow) => test(row.name) || test(row.detail) || test(row.place);
  return rows.filter((row) => (!onlyChanged || isChanged(row.state)) && isWanted(row));
}

/** What the table says of itself: every row that is not shown is counted. */
export function countWords(table: DiffTable, nShown: number, onlyChanged: boolean, isSearched: boolean): string {
  const { noun } = TABLE_WORDS[table.id];
  const parts = [`${formatCount(nShown)} of ${formatCount(table.n_rows)} ${noun}`];
  const nHere = table.columns.name.length;
  if (onlyChanged) {
    const nLess = table.n_rows - table.n_changed;
    parts.push(nLess > 0 ? `${formatCount(nLess)} within noise not shown` : "all beyond noise");
  } else if (table.n_changed === 0 && table.is_noise_known) parts.push("none changed beyond noise");
  const isCut = nHere < table.n_rows && (!onlyChanged || table.n_changed > nHere);
  if (isCut && !isSearched) parts.push(`the first ${formatCount(nHere)} by change are here`);
  else if (isCut) parts.push(`searched in the first ${formatCount(nHere)}`);
  return parts.join(" · ");
}

/** A value in the unit of its row, with the unit where the column does not name it. */
export function valueText(row: DiffRow, value: number): string {
  if (row.unit === "ms") return formatNumber(value);
  return row.unit.startsWith("bytes") ? formatBytes(value) : formatCount(value);
}

/** The largest change among rows of each unit: what a whole bar stands for. */
export function largestChanges(rows: readonly DiffRow[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { unit, change } of rows) found.set(unit, Math.max(found.get(unit) ?? 0, Math.abs(change ?? 0)));
  return found;
}
