/** Turns the `events` table into columns with their keys, and into rows (line, depth) that a frame can search. */
import type { TraceMeta } from "./meta";
import type { Table, TypedArray } from "./wire";

export interface Events {
  readonly n: number;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly self: Float64Array;
  readonly name: ArrayLike<number>;
  readonly line: ArrayLike<number>;
  readonly depth: ArrayLike<number>;
  readonly op: ArrayLike<number>;
  /** What was executed; without compiled programs there is no such column, and it is the op. */
  readonly unit: ArrayLike<number>;
  readonly step: ArrayLike<number>;
  /** Name id by which an event is selected: its op's name, else its own. */
  readonly key: Int32Array;
  /** Rows of the `stats` table of event k: [statOffset[k], statOffset[k + 1]). */
  readonly statOffset: Uint32Array;
}

export function readEvents(table: Table | undefined, meta: TraceMeta): Events {
  const n = table?.n ?? 0;
  const column = <T extends TypedArray>(name: string, empty: T): T => (table?.columns[name] as T | undefined) ?? empty;
  const start = column("start_ps", new Float64Array(n));
  const op = column("op", new Int32Array(n).fill(-1));
  const name = column("name", new Uint32Array(n));
  const nStats = column("n_stats", new Uint16Array(n));
  const key = new Int32Array(n);
  const statOffset = new Uint32Array(n + 1);
  for (let i = 0; i < n; i++) {
    key[i] = op[i] >= 0 ? meta.op_name[op[i]] : name[i];
    statOffset[i + 1] = statOffset[i] + nStats[i];
  }
  return {
    n,
    start,
    duration: column("duration_ps", new Float64Array(n)),
    self: column("self_ps", new Float64Array(n)),
    name,
    line: column("line", new Int32Array(n)),
    depth: column("depth", new Uint16Array(n)),
    op,
    unit: table?.columns.unit === undefined ? op : column("unit", new Int32Array(n)),
    step: column("step", new Int32Array(n).fill(-1)),
    key,
    statOffset,
  };
}

/** Events by (line, depth, start): one row per line and depth, in which events follow each other without overlap. */
export interface Rows {
  readonly nLines: number;
  /** Row of (line, depth) is firstRow[line] + depth; firstRow[nLines] is the number of rows. */
  readonly firstRow: Uint32Array;
  /** Positions of row r: [offset[r], offset[r + 1]). */
  readonly offset: Uint32Array;
  /** By position: */
  readonly event: Uint32Array;
  readonly start: Float64Array;
  /** Cut where the next event of the row starts (an event that another outlives). */
  readonly end: Float64Array;
  /** Time covered by the positions before; one entry more than positions. */
  readonly covered: Float64Array;
}

export function buildRows(events: Events, nLines: number): Rows {
  const { n, line, depth } = events;
  const firstRow = new Uint32Array(nLines + 1);
  for (let i = 0; i < n; i++) {
    const depths = depth[i] + 1;
    if (depths > firstRow[line[i] + 1]) firstRow[line[i] + 1] = depths;
  }
  for (let l = 0; l < nLines; l++) firstRow[l + 1] += firstRow[l];
  const nRows = firstRow[nLines];
  const offset = new Uint32Array(nRows + 1);
  for (let i = 0; i < n; i++) offset[firstRow[line[i]] + depth[i] + 1] += 1;
  for (let r = 0; r < nRows; r++) offset[r + 1] += offset[r];
  const at = offset.slice(0, nRows);
  const event = new Uint32Array(n);
  for (let i = 0; i < n; i++) event[at[firstRow[line[i]] + depth[i]]++] = i;
  return { nLines, firstRow, offset, event, ...rowTimes(events, event, offset, nRows) };
}

function rowTimes(events: Events, event: Uint32Array, offset: Uint32Array, nRows: number) {
  const start = new Float64Array(events.n);
  const end = new Float64Array(events.n);
  const covered = new Float64Array(events.n + 1);
  for (let r = 0; r < nRows; r++) {
    for (let p = offset[r]; p < offset[r + 1]; p++) {
      start[p] = events.start[event[p]];
      end[p] = start[p] + events.duration[event[p]];
      if (p > offset[r] && end[p - 1] > start[p]) end[p - 1] = start[p];
    }
  }
  for (let p = 0; p < events.n; p++) covered[p + 1] = covered[p] + (end[p] - start[p]);
  return { start, end, covered };
}

/** Events grouped by an id column: those of id k are order[offset[k] .. offset[k + 1]), ascending. */
export interface Postings {
  readonly offset: Uint32Array;
  readonly order: Uint32Array;
}

export function buildPostings(ids: ArrayLike<number>, nIds: number): Postings {
  const offset = new Uint32Array(nIds + 1);
  for (let i = 0; i < ids.length; i++) offset[ids[i] + 1] += 1;
  for (let k = 0; k < nIds; k++) offset[k + 1] += offset[k];
  const at = offset.slice(0, nIds);
  const order = new Uint32Array(ids.length);
  for (let i = 0; i < ids.length; i++) order[at[ids[i]]++] = i;
  return { offset, order };
}

/** Index after the last descendant of event `i` (its descendants are i + 1 .. result - 1, on the same line). */
export function endOfSubtree(events: Events, i: number): number {
  let k = i + 1;
  while (k < events.n && events.line[k] === events.line[i] && events.depth[k] > events.depth[i]) k += 1;
  return k;
}

/** The event that encloses event `i` directly, -1 for none. */
export function parentOf(events: Events, i: number): number {
  if (events.depth[i] === 0) return -1;
  let k = i - 1;
  while (k >= 0 && events.line[k] === events.line[i] && events.depth[k] >= events.depth[i]) k -= 1;
  return k >= 0 && events.line[k] === events.line[i] ? k : -1;
}
