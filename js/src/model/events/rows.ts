/** Turns the table `rows` into the rows of the capture: one per line and depth, each a run of positions. */
import { upperBound } from "../wire/bisect";
import { columns } from "../wire/column";
import { EMPTY_TABLE, type Table } from "../wire/wire";

/**
 * The position of an event is its rank in the order (line, depth, start): a row is a run of positions, and inside it
 * events follow each other in time.
 */
export interface Rows {
  readonly n: number;
  readonly nLines: number;
  /** Row of (line, depth) is firstRow[line] + depth; firstRow[nLines] is the number of rows. */
  readonly firstRow: Uint32Array;
  /** By row: */
  readonly line: ArrayLike<number>;
  readonly depth: ArrayLike<number>;
  /** Positions of row r: [offset[r], offset[r + 1]). */
  readonly offset: Uint32Array;
  /** 1 where the events of the next depth fill those that have children. */
  readonly isFilled: Uint8Array;
}

export function readRows(table: Table | undefined, nLines: number): Rows {
  const rows = table ?? EMPTY_TABLE;
  const [line, depth, count] = columns(rows, "line", "depth", "n");
  const firstRow = new Uint32Array(nLines + 1);
  for (let r = 0; r < rows.n; r++) firstRow[line[r] + 1] += 1;
  for (let l = 0; l < nLines; l++) firstRow[l + 1] += firstRow[l];
  const offset = new Uint32Array(rows.n + 1);
  for (let r = 0; r < rows.n; r++) offset[r + 1] = offset[r] + count[r];
  const isFilled = (rows.columns.is_filled as Uint8Array | undefined) ?? new Uint8Array(rows.n);
  return { n: rows.n, nLines, firstRow, line, depth, offset, isFilled };
}

/** The row that a position lies in. */
export function rowAt(rows: Rows, position: number): number {
  return upperBound(rows.offset, position) - 1;
}

/** Depths by band, outermost first: [[0, 1], [2]] draws depth 1 over depth 0. Without folding each depth is its own band. */
export function bandsOf(rows: Rows, line: number, isFolding: boolean): number[][] {
  const first = rows.firstRow[line] ?? 0;
  const nDepths = (rows.firstRow[line + 1] ?? 0) - first;
  const bands: number[][] = [];
  for (let depth = 0; depth < nDepths; depth++) {
    if (depth > 0 && isFolding && rows.isFilled[first + depth - 1]) bands[bands.length - 1].push(depth);
    else bands.push([depth]);
  }
  return bands;
}
