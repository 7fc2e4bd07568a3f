/** Turns the depths of a line into the bands it is drawn in: a level that its children fill shares theirs. */
import type { Events, Rows } from "./events";

/** From this share on the children say all that their parents could. */
const FILLED_RATIO = 0.95;

/** One flag per row: whether the events of the next depth fill those that have children by 95 % or more. */
export function filledRows(events: Events, rows: Rows): Uint8Array {
  const nRows = rows.offset.length - 1;
  const isFilled = new Uint8Array(nRows);
  for (let line = 0; line < rows.nLines; line++) {
    for (let row = rows.firstRow[line]; row + 1 < rows.firstRow[line + 1]; row++) {
      const inside = rows.covered[rows.offset[row + 2]] - rows.covered[rows.offset[row + 1]];
      isFilled[row] = inside >= FILLED_RATIO * timeOfParents(events, rows, row) ? 1 : 0;
    }
  }
  return isFilled;
}

function timeOfParents(events: Events, rows: Rows, row: number): number {
  let time = 0;
  for (let p = rows.offset[row]; p < rows.offset[row + 1]; p++) {
    const event = rows.event[p];
    // Children follow their parent in the order of the table.
    const hasChild = event + 1 < events.n && events.depth[event + 1] > events.depth[event];
    if (hasChild && events.line[event + 1] === events.line[event]) time += rows.end[p] - rows.start[p];
  }
  return time;
}

/** Depths by band, outermost first: [[0, 1], [2]] draws depth 1 over depth 0. Without folding each depth is its own band. */
export function bandsOf(rows: Rows, isFilled: Uint8Array, line: number, isFolding: boolean): number[][] {
  const first = rows.firstRow[line] ?? 0;
  const nDepths = (rows.firstRow[line + 1] ?? 0) - first;
  const bands: number[][] = [];
  for (let depth = 0; depth < nDepths; depth++) {
    if (depth > 0 && isFolding && isFilled[first + depth - 1]) bands[bands.length - 1].push(depth);
    else bands.push([depth]);
  }
  return bands;
}
