/** Slices written by hand -> the tables of a first pack and of its tiles, and `Events` that has taken them. */
import { Events } from "../src/data/events";
import type { Table, TypedArray } from "../src/data/pack";

export interface Slice {
  readonly line?: number;
  readonly start: number;
  readonly duration: number;
  readonly name: number;
  readonly op?: number;
}

export interface DrawnFlow {
  readonly from: number;
  readonly to: number;
  readonly kind: number;
}

interface Placed extends Required<Slice> {
  depth: number;
  self: number;
  /** Position of the slice around it, -1 for none. */
  parent: number;
}

export interface Drawing {
  readonly placed: readonly Placed[];
  readonly events: Events;
  /** Lets a tile arrive. */
  arrive(tile: number): void;
}

export interface DrawingOptions {
  /** Where tiles begin after the first. */
  readonly edges?: readonly number[];
  readonly flows?: readonly DrawnFlow[];
  readonly nLines?: number;
  readonly nNames?: number;
  /** Tiles that have arrived; all when left out. */
  readonly arrived?: readonly number[];
}

function table(columns: Record<string, TypedArray>): Table {
  return { n: Object.values(columns)[0]?.length ?? 0, columns };
}

/** Depth, self time and order of slices that nest properly. */
function place(slices: readonly Slice[]): Placed[] {
  const all = slices.map((slice) => ({ line: 0, op: -1, depth: 0, self: slice.duration, parent: -1, ...slice }));
  all.sort((a, b) => a.line - b.line || a.start - b.start || b.duration - a.duration);
  const around = new Map<Placed, Placed>();
  let open: Placed[] = [];
  for (const [i, slice] of all.entries()) {
    if (i > 0 && all[i - 1].line !== slice.line) open = [];
    while (open.length > 0 && endOf(open[open.length - 1]) <= slice.start) open.pop();
    const parent = open[open.length - 1];
    if (parent) {
      parent.self -= slice.duration;
      around.set(slice, parent);
    }
    slice.depth = open.length;
    open.push(slice);
  }
  all.sort((a, b) => a.line - b.line || a.depth - b.depth || a.start - b.start);
  const position = new Map(all.map((slice, p) => [slice, p]));
  for (const slice of all) slice.parent = position.get(around.get(slice) as Placed) ?? -1;
  return all;
}

const endOf = (slice: Slice) => slice.start + slice.duration;

export function draw(slices: readonly Slice[], options: DrawingOptions = {}): Drawing {
  const placed = place(slices);
  const edges = [Number.NEGATIVE_INFINITY, ...(options.edges ?? [])];
  const tileOf = (slice: Slice) => edges.filter((edge) => slice.start >= edge).length - 1;
  const nLines = options.nLines ?? placed.reduce((most, { line }) => Math.max(most, line + 1), 1);
  const crosses = (slice: Slice) => edges.some((edge) => slice.start < edge && endOf(slice) > edge);
  const sample = placed.flatMap((slice, p) => (crosses(slice) ? [p] : []));
  const rows = placed.flatMap((slice, p) =>
    p === 0 || placed[p - 1].line !== slice.line || placed[p - 1].depth !== slice.depth ? [p] : [],
  );
  const tables: Record<string, Table> = {
    rows: table({
      line: Int32Array.from(rows, (p) => placed[p].line),
      depth: Uint32Array.from(rows, (p) => placed[p].depth),
      n: Uint32Array.from(rows, (p, k) => (rows[k + 1] ?? placed.length) - p),
      is_filled: new Uint8Array(rows.length),
    }),
    tiles: table({
      t0_ps: Float64Array.from(edges, (edge) => Math.max(0, edge)),
      t1_ps: Float64Array.from(edges, (_, k) => edges[k + 1] ?? 1e6),
      n: Uint32Array.from(edges, (_, k) => placed.filter((slice) => tileOf(slice) === k).length),
    }),
    sample: table({ ...columns(placed, sample), position: Uint32Array.from(sample) }),
    ops: table({
      name: Int32Array.from({ length: options.nNames ?? 64 }, (_, op) => op),
      is_device: new Uint8Array(options.nNames ?? 64),
    }),
  };
  const events = new Events((name) => tables[name], nLines);
  const arrive = (tile: number) => events.take(tile, tileTables(placed, rows, tileOf, tile, options.flows ?? []));
  for (const tile of options.arrived ?? edges.keys()) arrive(tile);
  return { placed, events, arrive };
}

function columns(placed: readonly Placed[], at: readonly number[]) {
  return {
    start_ps: Float64Array.from(at, (p) => placed[p].start),
    duration_ps: Float64Array.from(at, (p) => placed[p].duration),
    self_ps: Float64Array.from(at, (p) => placed[p].self),
    name: Int32Array.from(at, (p) => placed[p].name),
    op: Int32Array.from(at, (p) => placed[p].op),
    step: Int32Array.from(at, () => -1),
  };
}

function tileTables(
  placed: readonly Placed[],
  rows: readonly number[],
  tileOf: (slice: Slice) => number,
  tile: number,
  flows: readonly DrawnFlow[],
): Record<string, Table> {
  const at = placed.flatMap((slice, p) => (tileOf(slice) === tile ? [p] : []));
  const rowOf = (p: number) => rows.filter((first) => first <= p).length - 1;
  const runs = [...new Set(at.map(rowOf))].map((row) => ({ row, own: at.filter((p) => rowOf(p) === row) }));
  const out = flows.filter(({ from }) => tileOf(placed[from]) === tile).sort((a, b) => a.from - b.from);
  const into = flows.filter(({ to }) => tileOf(placed[to]) === tile).sort((a, b) => a.to - b.to);
  const ends = (of: readonly DrawnFlow[]) => ({
    from: Uint32Array.from(of, ({ from }) => from),
    to: Uint32Array.from(of, ({ to }) => to),
    kind: Uint8Array.from(of, ({ kind }) => kind),
  });
  return {
    events: table(columns(placed, at)),
    runs: table({
      row: Uint32Array.from(runs, ({ row }) => row),
      first: Uint32Array.from(runs, ({ own }) => own[0]),
      n: Uint32Array.from(runs, ({ own }) => own.length),
    }),
    flows_out: table(ends(out)),
    flows_in: table(ends(into)),
  };
}

/** Slices that nest, from a seed: up to three lines, five deep, ten names. */
export function randomSlices(seed: number, n: number, end: number): Slice[] {
  let state = seed * 2654435761 + 12345;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const slices: Slice[] = [];
  const fill = (line: number, low: number, high: number, depth: number) => {
    for (let at = low + Math.floor(random() * 6); at < high && slices.length < n; ) {
      const duration = Math.min(high - at, 1 + Math.floor((random() * (high - low)) / (depth === 0 ? 6 : 3)));
      slices.push({ line, start: at, duration, name: Math.floor(random() * 10) });
      if (depth < 4 && duration > 4 && random() < 0.7) fill(line, at, at + duration, depth + 1);
      at += duration + Math.floor(random() * 4);
    }
  };
  for (let line = 0; line < 3; line++) fill(line, 0, end, 0);
  return slices;
}
