/** A pack with all events in one table -> the first pack and the parts that the kernel would send: what show/embedding.py does. */
import type { TraceMeta } from "../src/data/meta";
import type { Pack, Table, TypedArray } from "../src/data/pack";

export interface TilingOptions {
  readonly nTiles?: number;
  /** Every so many events one is in the sample, beside those that cross the edge of a tile. */
  readonly sampleEvery?: number;
  /** From a tile of the source event to the rows of the table of flows. */
  readonly flows?: readonly (readonly [from: number, to: number, kind: number])[];
}

export interface Tiled {
  readonly first: Pack;
  readonly parts: ReadonlyMap<string, Pack>;
  /** By position the row of the table of all events. */
  readonly order: Uint32Array;
}

const COLUMNS = ["start_ps", "duration_ps", "self_ps", "name", "op", "step", "unit"];

export function tiled(pack: Pack, options: TilingOptions = {}): Tiled {
  const { events } = pack.tables;
  const meta = pack.meta as unknown as TraceMeta;
  const { order, rows, rowOf } = rowsOf(events);
  const start = pick(events.columns.start_ps as Float64Array, order);
  const duration = pick(events.columns.duration_ps as Float64Array, order);
  const edges = edgesOf(start, options.nTiles ?? 1, meta.duration_ps ?? 0);
  const tileOf = Uint32Array.from(start, (time) => edges.findLastIndex((edge) => edge <= time));
  const nTiles = edges.length - 1;
  const parts = new Map<string, Pack>();
  for (let tile = 0; tile < nTiles; tile++) {
    const positions = [...order.keys()].filter((p) => tileOf[p] === tile);
    const flows = (options.flows ?? []).filter(([from]) => tileOf[from] === tile);
    const into = (options.flows ?? []).filter(([, to]) => tileOf[to] === tile);
    const tables = {
      events: tableOf(events, positions, order),
      runs: runsOf(positions, rowOf),
      flows_out: flowTable(flows, 0, ["from", "to"]),
      flows_in: flowTable(into, 1, ["to", "from"]),
    };
    parts.set(`events:${tile}`, { meta: {}, tables });
    if (pack.tables.stats) parts.set(`stats:${tile}`, { meta: {}, tables: statsOf(pack, positions, order) });
  }
  const ends = (p: number) => start[p] + duration[p];
  const crossing = (p: number) => tileOf[p] + 1 < nTiles && ends(p) > edges[tileOf[p] + 1];
  const sampled = [...order.keys()].filter((p) => p % (options.sampleEvery ?? 10) === 0 || crossing(p));
  const sample = tableOf(events, sampled, order);
  const tables: Record<string, Table> = {
    ...without(pack.tables, ["events", "stats"]),
    rows,
    tiles: table({
      t0_ps: Float64Array.from(edges.slice(0, -1)),
      t1_ps: Float64Array.from(edges.slice(1)),
      n: Uint32Array.from(edges.slice(1), (_, k) => tileOf.filter((tile) => tile === k).length),
    }),
    sample: { n: sample.n, columns: { ...sample.columns, position: Uint32Array.from(sampled) } },
  };
  if (meta.op_name) tables.ops = opsOf(meta);
  if (tables.names) tables.names = countNames(tables.names, events);
  const first = { ...without(pack.meta, ["op_name", "op_type", "op_family", "op_device", "op_eager"]), tiles: nTiles };
  return { first: { meta: first, tables }, parts, order };
}

function opsOf(meta: TraceMeta): Table {
  return table({
    name: Int32Array.from(meta.op_name),
    type: Int32Array.from(meta.op_name, (name, op) => meta.op_type?.[op] ?? name),
    family: Uint8Array.from(meta.op_name, (_, op) => meta.op_family?.[op] ?? 0),
    is_device: Uint8Array.from(meta.op_name, (_, op) => meta.op_device?.[op] ?? 0),
    is_eager: Uint8Array.from(meta.op_name, (_, op) => meta.op_eager?.[op] ?? 0),
    only_waits: Uint8Array.from(meta.op_name, (_, op) => meta.op_waits?.[op] ?? 0),
  });
}

function countNames(names: Table, events: Table): Table {
  const count = new Uint32Array(names.n);
  for (let i = 0; i < events.n; i++) count[Number(events.columns.name[i])] += 1;
  return { n: names.n, columns: { ...names.columns, count } };
}

/** Rows of a table of events by (line, depth, start), and the table `rows`. */
function rowsOf(events: Table) {
  const { line, depth, start_ps: start } = events.columns as Record<string, Float64Array>;
  const order = Uint32Array.from({ length: events.n }, (_, i) => i);
  order.sort((a, b) => line[a] - line[b] || depth[a] - depth[b] || start[a] - start[b] || a - b);
  const found: { line: number; depth: number; n: number }[] = [];
  const rowOf = Uint32Array.from(order, (i) => {
    const last = found[found.length - 1];
    if (last?.line === line[i] && last.depth === depth[i]) last.n += 1;
    else found.push({ line: line[i], depth: depth[i], n: 1 });
    return found.length - 1;
  });
  const { all, parents } = rowTimes(events);
  const isFilled = ({ line, depth }: { line: number; depth: number }) => {
    const inside = all.get(`${line} ${depth + 1}`) ?? 0;
    return inside > 0 && inside >= 0.95 * (parents.get(`${line} ${depth}`) ?? 0);
  };
  const rows = table({
    line: Int32Array.from(found, (row) => row.line),
    depth: Uint32Array.from(found, (row) => row.depth),
    n: Uint32Array.from(found, (row) => row.n),
    is_filled: Uint8Array.from(found, (row) => (isFilled(row) ? 1 : 0)),
  });
  return { order, rows, rowOf };
}

/** Time of the events of each row, and of those that have children, by one pass. */
function rowTimes(events: Table) {
  const { line, depth, duration_ps: duration } = events.columns as Record<string, Float64Array>;
  const all = new Map<string, number>();
  const parents = new Map<string, number>();
  for (let i = 0; i < events.n; i++) {
    const key = `${line[i]} ${depth[i]}`;
    all.set(key, (all.get(key) ?? 0) + duration[i]);
    const hasChild = i + 1 < events.n && line[i + 1] === line[i] && depth[i + 1] === depth[i] + 1;
    if (hasChild) parents.set(key, (parents.get(key) ?? 0) + duration[i]);
  }
  return { all, parents };
}

/** Quantiles of the starts, from 0 to after the last one. */
function edgesOf(start: Float64Array, nTiles: number, duration: number): number[] {
  const sorted = start.slice().sort();
  const inner = Array.from({ length: nTiles - 1 }, (_, k) => sorted[Math.floor(((k + 1) * sorted.length) / nTiles)]);
  const last = Math.max(duration, (sorted[sorted.length - 1] ?? 0) + 1);
  return start.length === 0 ? [0] : [...new Set([0, ...inner, last])];
}

function runsOf(positions: readonly number[], rowOf: Uint32Array): Table {
  const found: { row: number; first: number; n: number }[] = [];
  for (const p of positions) {
    const last = found[found.length - 1];
    if (last?.row === rowOf[p]) last.n += 1;
    else found.push({ row: rowOf[p], first: p, n: 1 });
  }
  const column = (name: "row" | "first" | "n") => Uint32Array.from(found, (run) => run[name]);
  return table({ row: column("row"), first: column("first"), n: column("n") });
}

function tableOf(events: Table, positions: readonly number[], order: Uint32Array): Table {
  const own = Uint32Array.from(positions, (p) => order[p]);
  const missing = (name: string) =>
    name.endsWith("_ps") ? new Float64Array(events.n) : new Int32Array(events.n).fill(-1);
  const names = COLUMNS.filter((name) => name !== "unit" || events.columns.unit);
  const columns = names.map((name) => [name, pick(events.columns[name] ?? missing(name), own)]);
  return { n: own.length, columns: Object.fromEntries(columns) };
}

function statsOf(pack: Pack, positions: readonly number[], order: Uint32Array): Record<string, Table> {
  const { events, stats } = pack.tables;
  const counts = events.columns.n_stats as Uint16Array;
  const offset = new Uint32Array(events.n + 1);
  for (let i = 0; i < events.n; i++) offset[i + 1] = offset[i] + counts[i];
  const rows: number[] = [];
  for (const p of positions) for (let row = offset[order[p]]; row < offset[order[p] + 1]; row++) rows.push(row);
  const own = Uint32Array.from(rows);
  const columns = Object.entries(stats.columns).map(([name, values]) => [name, pick(values, own)]);
  return {
    stats: { n: own.length, columns: Object.fromEntries(columns) },
    stat_counts: table({ n: Uint16Array.from(positions, (p) => counts[order[p]]) }),
  };
}

function flowTable(flows: readonly (readonly number[])[], by: number, names: readonly [string, string]): Table {
  const sorted = [...flows].sort((a, b) => a[by] - b[by]);
  return table({
    [names[0]]: Uint32Array.from(sorted, (flow) => flow[by]),
    [names[1]]: Uint32Array.from(sorted, (flow) => flow[1 - by]),
    kind: Uint8Array.from(sorted, (flow) => flow[2]),
  });
}

function pick<T extends TypedArray>(values: T, order: Uint32Array): T {
  const picked = new (values.constructor as new (n: number) => T)(order.length);
  for (let k = 0; k < order.length; k++) picked[k] = values[order[k]];
  return picked;
}

function without<T>(record: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function table(columns: Record<string, TypedArray>): Table {
  return { n: Object.values(columns)[0]?.length ?? 0, columns };
}
