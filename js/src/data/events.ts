/**
 * The events of a capture by position, from the first pack and the tiles that arrive after it.
 *
 * The columns are allocated once for all events of the capture and filled tile by tile; the browser gives them memory
 * only where something was written. Where a tile is missing the sample stands for it: its events lie in the same columns.
 * A tile is a window of time, so of every row it holds some positions that follow each other, and neighbouring tiles hold
 * neighbouring positions. Hence any number of neighbouring loaded tiles is one run: the first and last position of each row.
 */

import { columns, gallop, lazyBuffer, lowerBound, lowerBoundNear, numbers, type Span, upperBound } from "./columns";
import { EMPTY_TABLE, type Table } from "./pack";

/** The position of an event is its rank by (line, depth, start): a row is a run of positions that follow each other in time. */
export interface Rows {
  readonly n: number;
  readonly nLines: number;
  /** Row of (line, depth) is firstRow[line] + depth; firstRow[nLines] is the number of rows. */
  readonly firstRow: Uint32Array;
  readonly line: ArrayLike<number>;
  readonly depth: ArrayLike<number>;
  /** Positions of row r: [offset[r], offset[r + 1]). */
  readonly offset: Uint32Array;
  /** 1 where the events of the next depth fill those that have children. */
  readonly isFilled: Uint8Array;
}

function readRows(table: Table | undefined, nLines: number): Rows {
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

interface Times {
  readonly start: Float64Array;
  readonly duration: Float64Array;
  /** Time that the events of the row cover from some moment to the end of this one: only differences mean something. */
  readonly covered: Float64Array;
  /** Start of each block of 64 positions, so that a search over millions stays in the cache; null where there are few. */
  readonly coarse: Float64Array | null;
}

export interface Run {
  /** Events belong to the run in whose span they start; spans of neighbours touch. */
  readonly span: Span;
  readonly isSample: boolean;
  readonly times: Times;
  /** By row: its events here are those of the indices [low[row], high[row]) of `times`. */
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  readonly firstTile: number;
  readonly lastTile: number;
  positionOf(index: number): number;
}

/** Positions per entry of `coarse`, as a power of 2. */
const COARSE_BITS = 6;

function coarsen(coarse: Float64Array, start: Float64Array, from: number, to: number) {
  for (let block = Math.ceil(from / (1 << COARSE_BITS)); block << COARSE_BITS < to; block++) {
    coarse[block] = start[block << COARSE_BITS];
  }
}

/** First index after `index` of a row that starts at `time` or later; `high` when there is none. */
export function nextFrom({ start, coarse }: Times, time: number, index: number, high: number): number {
  if (!coarse) return gallop(start, time, index, high);
  const last = (high - 1) >> COARSE_BITS;
  const own = index >> COARSE_BITS;
  const near = own + 1;
  const block = near > last || coarse[near] >= time ? near : gallop(coarse, time, near, last + 1);
  const low = Math.max(index, ((block - 1) << COARSE_BITS) + 1);
  const end = Math.min(high, block << COARSE_BITS);
  if (end <= low) return end;
  // Events are spread evenly enough that the proportion of times leads near the answer, within one line of the cache.
  const from = block - 1 === own ? start[index] : coarse[block - 1];
  const to = block <= last ? coarse[block] : start[high - 1];
  const guess = to > from ? low + Math.floor(((time - from) / (to - from)) * (end - low)) : low;
  return lowerBoundNear(start, time, Math.max(low, Math.min(end - 1, guess)), low, end);
}

/** When the event at an index ends, cut where the next of the row and run starts (an event that another outlives). */
export function endAt(run: Run, row: number, index: number): number {
  const { start, duration } = run.times;
  const end = start[index] + duration[index];
  return index + 1 < run.high[row] ? Math.min(end, start[index + 1]) : end;
}

/** Time that the events at the indices [from, to) of a row cover. */
export function coverOf(run: Run, row: number, from: number, to: number): number {
  if (to <= from) return 0;
  const { start, covered } = run.times;
  return covered[to - 1] - covered[from] + endAt(run, row, from) - start[from];
}

/** First index of the row whose event ends after `time` (or starts after it). */
export function firstVisible(run: Run, row: number, time: number): number {
  const low = run.low[row];
  const index = upperBound(run.times.start, time, low, run.high[row]);
  return index > low && endAt(run, row, index - 1) > time ? index - 1 : index;
}

export function coveredIn(run: Run, row: number, t0: number, t1: number): number {
  const { start, duration } = run.times;
  const from = firstVisible(run, row, t0);
  const to = lowerBound(start, t1, from, run.high[row]);
  if (to <= from) return 0;
  const head = Math.max(0, t0 - start[from]);
  const tail = Math.max(0, start[to - 1] + duration[to - 1] - t1);
  return Math.max(0, coverOf(run, row, from, to) - head - tail);
}

/** The sample: some events of every row, in the order of positions. */
interface Sample {
  readonly times: Times;
  readonly position: ArrayLike<number>;
  /** Indices of row r: [offset[r], offset[r + 1]). */
  readonly offset: Uint32Array;
}

function newSample(start: Float64Array, duration: Float64Array, position: ArrayLike<number>, rows: Rows): Sample {
  const covered = new Float64Array(start.length);
  const offset = new Uint32Array(rows.n + 1);
  for (let row = 0; row < rows.n; row++) {
    const low = offset[row];
    const high = lowerBound(position, rows.offset[row + 1], low);
    offset[row + 1] = high;
    sumCovered({ start, duration, covered, coarse: null }, low, high);
  }
  return { times: { start, duration, covered, coarse: null }, position, offset };
}

/** Fills `covered` of the indices [low, high), which follow each other in one row; counts from `base`. */
function sumCovered({ start, duration, covered }: Times, low: number, high: number, base = 0) {
  let time = base;
  for (let i = low; i < high; i++) {
    time += i + 1 < high ? Math.min(duration[i], start[i + 1] - start[i]) : duration[i];
    covered[i] = time;
  }
}

function sampleRun(sample: Sample, rows: Rows, span: Span, firstTile: number, lastTile: number): Run {
  const low = new Uint32Array(rows.n);
  const high = new Uint32Array(rows.n);
  const { times, position, offset } = sample;
  for (let row = 0; row < rows.n; row++) {
    low[row] = lowerBound(times.start, span.t0, offset[row], offset[row + 1]);
    high[row] = lowerBound(times.start, span.t1, low[row], offset[row + 1]);
  }
  const positionOf = (index: number) => position[index];
  return { span, isSample: true, times, low, high, firstTile, lastTile, positionOf };
}

const itself = (index: number) => index;

function loadedRun(
  times: Times,
  low: Uint32Array,
  high: Uint32Array,
  span: Span,
  firstTile: number,
  lastTile: number,
): Run {
  return { span, isSample: false, times, low, high, firstTile, lastTile, positionOf: itself };
}

type Interval = Readonly<Record<"row" | "low" | "high", number>>;

/**
 * The event of a row that is on at a moment and began before the run `at` of that moment, as an index of `runs` and one of its
 * times: as those that cross the edge of a tile are all in the sample, it is the last one before, or none.
 */
export function carriedIn(
  events: Events,
  at: number,
  row: number,
  time: number,
): { run: number; index: number } | null {
  for (let k = at - 1; k >= 0; k--) {
    const run = events.runs[k];
    const index = run.high[row] - 1;
    if (index < run.low[row]) continue;
    return endAt(run, row, index) > time ? { run: k, index } : null;
  }
  return null;
}

/** Loaded events that overlap a span, by row; what began before it included. */
export function intervals(events: Events, span: Span): Interval[] {
  const found: Interval[] = [];
  const first = events.runAt(span.t0);
  for (let row = 0; row < events.rows.n; row++) {
    const before = carriedIn(events, first, row, span.t0);
    if (before) {
      const low = events.runs[before.run].positionOf(before.index);
      if (events.isLoaded(events.tileOf(low))) found.push({ row, low, high: low + 1 });
    }
    for (let k = first; k < events.runs.length && events.runs[k].span.t0 < span.t1; k++) {
      const run = events.runs[k];
      if (run.isSample) continue;
      const low = firstVisible(run, row, span.t0);
      const high = lowerBound(events.start, span.t1, low, run.high[row]);
      if (high > low) found.push({ row, low, high });
    }
  }
  return found;
}

/** The event that encloses an event directly, -1 for none (or none that is here). */
export function parentOf(events: Events, position: number): number {
  const row = events.rowOf(position);
  if (events.rows.depth[row] === 0) return -1;
  const time = events.start[position];
  for (let k = events.runAt(time); k >= 0; k--) {
    const run = events.runs[k];
    const index = upperBound(run.times.start, time, run.low[row - 1], run.high[row - 1]) - 1;
    if (index < run.low[row - 1]) continue;
    return endAt(run, row - 1, index) > time ? run.positionOf(index) : -1;
  }
  return -1;
}

/** Positions [low, high) of the events directly inside an event; some may not be here (`has`). */
export function childrenOf(events: Events, position: number): readonly [low: number, high: number] {
  const row = events.rowOf(position) + 1;
  if (row >= events.rows.n || events.rows.line[row] !== events.rows.line[row - 1]) return [0, 0];
  const { t0, t1 } = spanOf(events, position);
  let low = -1;
  let high = -1;
  for (let k = events.runAt(t0); k < events.runs.length && events.runs[k].span.t0 < t1; k++) {
    const run = events.runs[k];
    const from = lowerBound(run.times.start, t0, run.low[row], run.high[row]);
    const to = lowerBound(run.times.start, t1, from, run.high[row]);
    if (to === from) continue;
    if (low < 0) low = run.positionOf(from);
    high = run.positionOf(to - 1) + 1;
  }
  return low < 0 ? [0, 0] : [low, high];
}

export function subtreeOf(events: Events, position: number): Interval[] {
  const own = events.rowOf(position);
  const { rows } = events;
  const { t0, t1 } = spanOf(events, position);
  const found: Interval[] = [{ row: own, low: position, high: position + 1 }];
  for (let row = own + 1; row < rows.n && rows.line[row] === rows.line[own]; row++) {
    for (let k = events.runAt(t0); k < events.runs.length && events.runs[k].span.t0 < t1; k++) {
      const run = events.runs[k];
      if (run.isSample) continue;
      const low = lowerBound(events.start, t0, run.low[row], run.high[row]);
      const high = lowerBound(events.start, t1, low, run.high[row]);
      if (high > low) found.push({ row, low, high });
    }
  }
  return found;
}

/** From the start of an event to its end, cut where the next of its row starts. */
function spanOf(events: Events, position: number): Span {
  const t0 = events.start[position];
  const next = position + 1;
  const isCut = next < events.n && events.has(next) && events.rowOf(next) === events.rowOf(position);
  return { t0, t1: isCut ? Math.min(events.endOf(position), events.start[next]) : events.endOf(position) };
}

type Flow = Readonly<Record<"other" | "kind", number>>;

class FlowTables {
  readonly #out = new Map<number, Table>();
  readonly #in = new Map<number, Table>();

  take(tile: number, out: Table | undefined, into: Table | undefined) {
    if (out && out.n > 0) this.#out.set(tile, copied(out));
    if (into && into.n > 0) this.#in.set(tile, copied(into));
  }
  from(tile: number, position: number): Flow[] {
    return find(this.#out.get(tile), "from", "to", position);
  }
  to(tile: number, position: number): Flow[] {
    return find(this.#in.get(tile), "to", "from", position);
  }
}

/** A view of a column would keep the bytes of the whole part. */
function copied(table: Table): Table {
  const columns = Object.fromEntries(Object.entries(table.columns).map(([name, values]) => [name, values.slice()]));
  return { n: table.n, columns };
}

function find(table: Table | undefined, own: string, others: string, position: number): Flow[] {
  if (!table) return [];
  const [ids, other, kind] = [own, others, "kind"].map((name) => numbers(table, name));
  const found: Flow[] = [];
  for (let i = lowerBound(ids, position); i < table.n && ids[i] === position; i++) {
    found.push({ other: other[i], kind: kind[i] });
  }
  return found;
}

/** What a loaded event takes: start, duration, self and covered time; name, op, step; whether it is here. */
export const BYTES_PER_EVENT = 4 * 8 + 3 * 4 + 1;

type Tables = (name: string) => Table | undefined;

interface Tiles {
  readonly n: number;
  /** Tile k holds the events that start in [start[k], start[k + 1]). */
  readonly start: ArrayLike<number>;
  readonly end: ArrayLike<number>;
  readonly count: ArrayLike<number>;
}

export class Events implements Times {
  readonly n: number;
  readonly rows: Rows;
  readonly tiles: Tiles;
  /** By position, where `has(position)`. */
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly self: Float64Array;
  readonly covered: Float64Array;
  readonly coarse: Float64Array;
  readonly name: Int32Array;
  readonly op: Int32Array;
  readonly step: Int32Array;
  /** Cover the capture in the order of time; a single one when all is loaded. */
  runs: readonly Run[] = [];
  nLoaded = 0;
  generation = 0;
  #unit: Int32Array | null = null;
  readonly #isHere: Uint8Array;
  readonly #opName: ArrayLike<number>;
  readonly #isDeviceOp: ArrayLike<number>;
  readonly #sample: Sample;
  readonly #flows = new FlowTables();
  readonly #isLoaded: Uint8Array;
  /** Of each loaded tile the first positions of its rows, and how many of its events come before them. */
  readonly #order: { readonly first: Uint32Array; readonly before: Uint32Array }[] = [];

  constructor(table: Tables, nLines: number) {
    this.rows = readRows(table("rows"), nLines);
    const n = this.rows.offset[this.rows.n];
    this.n = n;
    this.tiles = readTiles(table("tiles"));
    const bytes = lazyBuffer(n * BYTES_PER_EVENT + 8);
    [this.start, this.duration, this.self, this.covered] = [0, 1, 2, 3].map(
      (k) => new Float64Array(bytes, 8 * n * k, n),
    );
    [this.name, this.op, this.step] = [0, 1, 2].map((k) => new Int32Array(bytes, 32 * n + 4 * n * k, n));
    this.#isHere = new Uint8Array(bytes, 44 * n, n);
    this.coarse = new Float64Array((n >> COARSE_BITS) + 1);
    this.#isLoaded = new Uint8Array(this.tiles.n);
    [this.#opName, this.#isDeviceOp] = columns(table("ops") ?? EMPTY_TABLE, "name", "is_device");
    this.#sample = this.#takeSample(table("sample") ?? EMPTY_TABLE);
    this.runs = [sampleRun(this.#sample, this.rows, this.#spanOf(0, this.tiles.n - 1), 0, this.tiles.n - 1)];
  }

  /** What was executed; without compiled programs it is the op. */
  get unit(): Int32Array {
    return this.#unit ?? this.op;
  }
  get isComplete(): boolean {
    return this.nLoaded >= this.n;
  }
  /** Whether the columns hold the event: its tile is loaded, or it is in the sample. */
  has(position: number): boolean {
    return this.#isHere[position] === 1;
  }
  isLoaded(tile: number): boolean {
    return this.#isLoaded[tile] === 1;
  }
  /** Whether all events of a span are here: a figure of fewer would be one of a sample. */
  hasAll({ t0, t1 }: Span): boolean {
    const last = this.tileAt(t1);
    for (let tile = this.tileAt(t0); tile <= last; tile++) {
      const isTouched = this.tiles.start[tile] < t1 || tile === 0;
      if (isTouched && this.tiles.count[tile] > 0 && !this.isLoaded(tile)) return false;
    }
    return true;
  }
  rowOf(position: number): number {
    return rowAt(this.rows, position);
  }
  lineOf(position: number): number {
    return this.rows.line[rowAt(this.rows, position)];
  }
  depthOf(position: number): number {
    return this.rows.depth[rowAt(this.rows, position)];
  }
  /** Name id by which an event is selected: its op's name, else its own. */
  keyOf(position: number): number {
    const op = this.op[position];
    return op >= 0 ? this.#opName[op] : this.name[position];
  }
  /** Name id of the op that launched an event of a device which is named after something else, as kernels are; else -1. */
  launcherOf(position: number, names: readonly string[]): number {
    const op = this.op[position];
    const id = op >= 0 && this.#isDeviceOp[op] === 1 ? this.#opName[op] : -1;
    return id >= 0 && !names[this.name[position]].startsWith(names[id]) ? id : -1;
  }
  endOf(position: number): number {
    return this.start[position] + this.duration[position];
  }
  tileOf(position: number): number {
    return this.tileAt(this.start[position]);
  }
  /** The tile of a moment; before the first and after the last these. */
  tileAt(time: number): number {
    return Math.max(0, upperBound(this.tiles.start, time, 0, this.tiles.n) - 1);
  }
  runAt(time: number): number {
    let low = 0;
    for (let high = this.runs.length; high - low > 1; ) {
      const middle = (low + high) >>> 1;
      if (this.runs[middle].span.t0 <= time) low = middle;
      else high = middle;
    }
    return low;
  }
  /** Place of an event among those of its loaded tile, in the order of positions; -1 when it is not among them. */
  ordinalOf(tile: number, position: number): number {
    const order = this.#order[tile];
    if (!order) return -1;
    const k = upperBound(order.first, position) - 1;
    if (k < 0 || position - order.first[k] >= order.before[k + 1] - order.before[k]) return -1;
    return order.before[k] + position - order.first[k];
  }
  /** What an event made start, and what made it start; empty while its tile is not loaded. */
  flowsFrom(position: number): Flow[] {
    return this.has(position) ? this.#flows.from(this.tileOf(position), position) : [];
  }
  flowsTo(position: number): Flow[] {
    return this.has(position) ? this.#flows.to(this.tileOf(position), position) : [];
  }

  take(tile: number, tables: Readonly<Record<string, Table>>) {
    if (this.#isLoaded[tile]) return;
    const events = tables.events ?? EMPTY_TABLE;
    const runs = tables.runs ?? EMPTY_TABLE;
    const [row, first, count] = columns(runs, "row", "first", "n");
    this.#copyColumns(events, first, count);
    this.#flows.take(tile, tables.flows_out, tables.flows_in);
    this.#isLoaded[tile] = 1;
    this.#order[tile] = { first: Uint32Array.from(first), before: prefixSums(count) };
    this.#join(tile, row, first, count);
    this.nLoaded += events.n;
    this.generation += 1;
  }

  #copyColumns(events: Table, first: ArrayLike<number>, count: ArrayLike<number>) {
    if (events.columns.unit) this.#unit ??= this.op.slice();
    const columns: readonly (readonly [Float64Array | Int32Array, string])[] = [
      [this.start, "start_ps"],
      [this.duration, "duration_ps"],
      [this.self, "self_ps"],
      [this.name, "name"],
      [this.op, "op"],
      [this.step, "step"],
      ...(this.#unit ? ([[this.#unit, events.columns.unit ? "unit" : "op"]] as const) : []),
    ];
    for (const [to, name] of columns) {
      const from = numbers(events, name);
      for (let k = 0, at = 0; k < first.length; at += count[k++]) to.set(from.subarray(at, at + count[k]), first[k]);
    }
    for (let k = 0; k < first.length; k++) {
      const end = first[k] + count[k];
      this.#isHere.fill(1, first[k], end);
      coarsen(this.coarse, this.start, first[k], end);
    }
  }

  #join(tile: number, row: ArrayLike<number>, first: ArrayLike<number>, count: ArrayLike<number>) {
    const at = this.runs.findIndex((run) => run.lastTile >= tile);
    const own = this.runs[at];
    const left = own.firstTile === tile ? this.runs[at - 1] : undefined;
    const right = own.lastTile === tile ? this.runs[at + 1] : undefined;
    const low = left?.low ?? new Uint32Array(this.rows.n);
    const high = left?.high ?? new Uint32Array(this.rows.n);
    for (let k = 0; k < row.length; k++) {
      const r = row[k];
      const isFirst = high[r] === low[r];
      if (isFirst) low[r] = first[k];
      else this.#cutLast(first[k]);
      sumCovered(this, first[k], first[k] + count[k], isFirst ? 0 : this.covered[first[k] - 1]);
      high[r] = first[k] + count[k];
    }
    if (right) this.#append(low, high, right);
    const firstTile = left?.firstTile ?? tile;
    const lastTile = right?.lastTile ?? tile;
    const joined = loadedRun(this, low, high, this.#spanOf(firstTile, lastTile), firstTile, lastTile);
    const before = own.firstTile < tile ? [this.#restOf(own.firstTile, tile - 1)] : [];
    const after = own.lastTile > tile ? [this.#restOf(tile + 1, own.lastTile)] : [];
    const from = at - (left ? 1 : 0);
    const to = at + 1 + (right ? 1 : 0);
    this.runs = [...this.runs.slice(0, from), ...before, joined, ...after, ...this.runs.slice(to)];
  }

  #restOf(firstTile: number, lastTile: number): Run {
    return sampleRun(this.#sample, this.rows, this.#spanOf(firstTile, lastTile), firstTile, lastTile);
  }

  #append(low: Uint32Array, high: Uint32Array, right: Run) {
    for (let row = 0; row < low.length; row++) {
      const [from, to] = [right.low[row], right.high[row]];
      if (to === from) continue;
      if (high[row] === low[row]) low[row] = from;
      else this.#stitch(low[row], from, to);
      high[row] = to;
    }
  }

  /** Of two loaded parts of a row that now touch, the covered times of the shorter one count on from the other's. */
  #stitch(low: number, middle: number, high: number) {
    const { start, covered } = this;
    this.#cutLast(middle);
    const own = Math.min(this.duration[middle], middle + 1 < high ? start[middle + 1] - start[middle] : Infinity);
    const shift = covered[middle - 1] + own - covered[middle];
    if (high - middle < middle - low) for (let i = middle; i < high; i++) covered[i] += shift;
    else for (let i = low; i < middle; i++) covered[i] -= shift;
  }

  /** The last event before a new neighbour of its row counts no longer than until that starts. */
  #cutLast(next: number) {
    this.covered[next - 1] -= Math.max(0, this.endOf(next - 1) - this.start[next]);
  }

  #takeSample(table: Table): Sample {
    const position = numbers(table, "position");
    const start = Float64Array.from(numbers(table, "start_ps"));
    const duration = Float64Array.from(numbers(table, "duration_ps"));
    const [self, name, op, step] = columns(table, "self_ps", "name", "op", "step");
    const unit = table.columns.unit ? numbers(table, "unit") : null;
    if (unit) this.#unit = new Int32Array(this.n);
    for (let i = 0; i < table.n; i++) {
      const p = position[i];
      this.start[p] = start[i];
      this.duration[p] = duration[i];
      this.self[p] = self[i];
      this.name[p] = name[i];
      this.op[p] = op[i];
      this.step[p] = step[i];
      if (unit && this.#unit) this.#unit[p] = unit[i];
      this.#isHere[p] = 1;
    }
    return newSample(start, duration, position, this.rows);
  }

  #spanOf(firstTile: number, lastTile: number): Span {
    const { start, n } = this.tiles;
    return {
      t0: firstTile <= 0 ? Number.NEGATIVE_INFINITY : start[firstTile],
      t1: lastTile >= n - 1 ? Number.POSITIVE_INFINITY : start[lastTile + 1],
    };
  }
}

function readTiles(table: Table | undefined): Tiles {
  const tiles = table ?? EMPTY_TABLE;
  const [start, end, count] = columns(tiles, "t0_ps", "t1_ps", "n");
  return { n: tiles.n, start, end, count };
}

function prefixSums(count: ArrayLike<number>): Uint32Array {
  const before = new Uint32Array(count.length + 1);
  for (let k = 0; k < count.length; k++) before[k + 1] = before[k] + count[k];
  return before;
}
