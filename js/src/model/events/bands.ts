/** Turns the depths of a line into the bands it is drawn in: a level that its children fill shares theirs. */
import type { Rows } from "./rows";

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
