/** Rows of values -> CSV text (RFC 4180). */

export type Cell = string | number | boolean | null | undefined;

/** Name of a column -> its value in a row, in the order of the file. */
export type CsvColumns<R> = Readonly<Record<string, (row: R) => Cell>>;

/** Columns of the values that rows have under the same names. */
export function fields<R>(...names: readonly (keyof R & string)[]): CsvColumns<R> {
  return Object.fromEntries(names.map((name) => [name, (row: R) => row[name] as Cell]));
}

/** The columns of Python's tables that are sums. */
const IS_SUM = /^(?!avg_|min_|max_)(?:\w*time_[um]s|occurrences|bytes|round_trips)$/;

/** The same columns under names that say that their sums are a step. */
export function aStep<R>(columns: CsvColumns<R>): CsvColumns<R> {
  const named = ([name, value]: [string, CsvColumns<R>[string]]) => [
    IS_SUM.test(name) ? `${name}_per_step` : name,
    value,
  ];
  return Object.fromEntries(Object.entries(columns).map(named));
}

/** A header and a line for each row. */
export function csvOf<R>(columns: CsvColumns<R>, rows: readonly R[]): string {
  const values = Object.values(columns);
  return toCsv(
    Object.keys(columns),
    rows.map((row) => values.map((value) => value(row))),
  );
}

/** Header and rows with CRLF ends; a cell is quoted where it must be. Numbers keep full precision; what is unknown is empty. */
export function toCsv(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header, ...rows].map((cells) => cells.map(quote).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function quote(cell: Cell): string {
  const text = Number.isNaN(cell) ? "" : String(cell ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
