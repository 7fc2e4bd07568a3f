/**
 * Turns the first pack and the tiles that arrive after it into the events of a capture, by position.
 *
 * The columns are allocated once for all events of the capture and filled tile by tile; the browser gives them memory
 * only where something was written. Where a tile is missing the sample stands for it: its events lie in the same columns.
 */

import type { Span } from "../time/viewport";
import { upperBound } from "../wire/bisect";
import { columns, numbers } from "../wire/column";
import { lazyBuffer } from "../wire/lazy_memory";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import { type Flow, FlowTables } from "./flow_tables";
import { type Rows, readRows, rowAt } from "./rows";
import {
  coarsen,
  loadedRun,
  newCoarse,
  newSample,
  type Run,
  type Sample,
  sampleRun,
  sumCovered,
  type Times,
} from "./runs";

export type { Flow } from "./flow_tables";
export { childrenOf, type Interval, intervals, parentOf, subtreeOf } from "./nesting";
export type { Rows } from "./rows";
export { coverOf, endAt, firstVisible, type Run, type Times } from "./runs";

/** What a loaded event takes: start, duration, self and covered time; name, op, step; whether it is here. */
export const BYTES_PER_EVENT = 4 * 8 + 3 * 4 + 1;

type Tables = (name: string) => Table | undefined;

export interface Tiles {
  readonly n: number;
  /** Tile k holds the events that start in [start[k], start[k + 1]). */
  readonly start: ArrayLike<number>;
  readonly end: ArrayLike<number>;
  readonly count: ArrayLike<number>;
}

export class Events implements Times {
  /** Events of the capture that can be had, loaded or not. */
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
  /** Grows with every tile. */
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

  /** `table`: gives the tables `rows`, `tiles`, `sample` and `ops` of the first pack. */
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
    this.coarse = newCoarse(n);
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
  /** The tile in which an event starts that the columns hold. */
  tileOf(position: number): number {
    return this.tileAt(this.start[position]);
  }
  /** The tile of a moment; before the first and after the last these. */
  tileAt(time: number): number {
    return Math.max(0, upperBound(this.tiles.start, time, 0, this.tiles.n) - 1);
  }
  /** Index into `runs` of the run of a moment. */
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

  /** Takes the tables of the part `events:<tile>`; a second time it does nothing. */
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

  /** The tile becomes part of the runs beside it; what is left of the sample around it stays. */
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

  /** Appends the rows of a run to those before it. */
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

  /** Spans of runs touch each other and cover everything. */
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
