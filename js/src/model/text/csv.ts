/** Rows of values -> CSV text (RFC 4180). */

export type Cell = string | number | boolean;

/** Header and rows with CRLF ends; a cell is quoted where it must be. Numbers keep full precision. */
export function toCsv(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header, ...rows].map((cells) => cells.map(quote).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function quote(cell: Cell): string {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
