/** The run of fixtures.ts -> a Pack with every table: op occurrences, tf.data pipeline, allocations and the overview. */

import { CATEGORIES, type IteratorNode, type TraceMeta } from "../src/data/meta";
import type { Pack, Table, TypedArray } from "../src/data/pack";
import { trainingRun } from "./fixtures";

const MS = 1e9;
const GIB = 2 ** 30;
const ROOT = "Iterator::Root";

export interface SceneOptions {
  readonly nSteps?: number;
  /** A run without a device and without recorded allocations. */
  readonly isCpu?: boolean;
  /** A capture in which nothing happened. */
  readonly isEmpty?: boolean;
  /** An op and an iterator of this name, which must stay text. */
  readonly hostileName?: string;
  /** Why little memory was recorded, though some was, and the code that helps. */
  readonly remedy?: string;
  /** Sessions, where the time between them was not captured. */
  readonly sessions?: TraceMeta["sessions"];
  /** Names of the events of the Map iterator, where they are several. */
  readonly mapNames?: string[];
}

const made = new Map<string, Pack>();

/** The scene of these options, made once: its tables are for all tests, its meta object is for the caller. */
export function makeScene(options: SceneOptions = {}): Pack {
  const key = JSON.stringify(options);
  const { meta, tables } = made.get(key) ?? newScene(options);
  made.set(key, { meta, tables });
  return { meta: structuredClone(meta), tables: { ...tables } };
}

function newScene(options: SceneOptions): Pack {
  if (options.isEmpty) return emptyScene();
  const isCpu = options.isCpu ?? false;
  const nSteps = options.nSteps ?? 40;
  const pack = trainingRun({ nSteps, hasDevice: !isCpu });
  const meta = structuredClone(pack.meta) as unknown as TraceMeta;
  const hostile = options.hostileName ?? "";
  if (hostile) meta.names[meta.op_name[meta.op_name.length - 1]] = hostile;
  const occurrences = opOccurrences(pack.tables.events);
  const family = meta.names.map((_, id) => pack.tables.names.columns.family[id] as number);
  for (const [op, name] of meta.op_name.entries()) {
    const event = (pack.tables.events.columns.op as Int32Array).indexOf(op);
    const drawn = event < 0 ? name : (pack.tables.events.columns.name[event] as number);
    family[name] = family[drawn];
  }
  const memory = isCpu ? table({}) : allocations(meta, pack.tables.steps);
  meta.allocators = isCpu ? [] : ["GPU_0_bfc"];
  meta.memory_remedy = isCpu
    ? 'Only a variable makes it report.\nimport os; os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"'
    : null;
  meta.pipelines = [pipeline(nSteps, hostile)];
  meta.input = {
    verdict: "Input-bound: the model waits 13.1 of 21.3 ms a step for data (62 %).",
    ops: [["Iterator::Root::BatchV2::Zip[0]::Map", "Preprocessing", 476, 420]],
  };
  if (options.remedy) meta.memory_remedy = options.remedy;
  if (options.sessions) {
    meta.sessions = options.sessions;
    meta.duration_ps = Math.max(...options.sessions.map((session) => session.stop_ps));
  }
  if (options.mapNames) Object.assign(meta.pipelines[0].nodes[3], { event_names: options.mapNames });
  meta.overview = overview(nSteps, isCpu);
  const tables = {
    ...pack.tables,
    names: table({ family: Uint8Array.from({ length: meta.names.length }, (_, id) => family[id] ?? 7) }),
    occurrences,
    op_lines: opLines(occurrences, meta),
    memory,
    iterator_calls: iteratorCalls(pack.tables.steps),
  };
  return { meta: meta as unknown as Pack["meta"], tables };
}

function emptyScene(): Pack {
  const meta = structuredClone(trainingRun({ nSteps: 1 }).meta) as unknown as TraceMeta;
  const nothing = {
    n_events: 0,
    op_name: [],
    op_type: [],
    op_device: [],
    op_eager: [],
    step_names: [],
    memory_remedy: "Only a variable makes it report.\nimport os",
  };
  const none = { planes: [], lines: [], pipelines: [], allocators: [], overview: {} };
  return { meta: { ...meta, ...nothing, ...none } as unknown as Pack["meta"], tables: {} };
}

/** Every event with an op, and the op event around it: what `analysis/ops/op_occurrences.py` finds. */
function opOccurrences(events: Table): Table {
  const [start, duration] = [events.columns.start_ps as Float64Array, events.columns.duration_ps as Float64Array];
  const [op, line] = [events.columns.op as Int32Array, events.columns.line as Int32Array];
  const rows: number[] = [];
  const parent: number[] = [];
  let open: number[] = [];
  for (let i = 0; i < events.n; i++) {
    if (op[i] < 0) continue;
    if (rows.length > 0 && line[rows[rows.length - 1]] !== line[i]) open = [];
    while (open.length > 0 && start[rows[open[open.length - 1]]] + duration[rows[open[open.length - 1]]] <= start[i])
      open.pop();
    parent.push(open[open.length - 1] ?? -1);
    open.push(rows.push(i) - 1);
  }
  const pick = (column: ArrayLike<number>) => Float64Array.from(rows, (row) => column[row]);
  return table({
    op: Int32Array.from(rows, (row) => op[row]),
    line: Int32Array.from(rows, (row) => line[row]),
    start_ps: pick(start),
    duration_ps: pick(duration),
    span_ps: pick(duration),
    parent: Int32Array.from(parent),
  });
}

function opLines(occurrences: Table, meta: TraceMeta): Table {
  const lines = [...new Set(occurrences.columns.line as Int32Array)];
  return table({
    line: Int32Array.from(lines),
    device: Uint8Array.from(lines, (line) => (meta.planes[meta.lines[line].plane].kind === "device" ? 1 : 0)),
    first_ps: new Float64Array(lines.length),
    last_ps: new Float64Array(lines.length).fill(meta.duration_ps),
  });
}

const KEPT: readonly [op: string, type: string, gib: number][] = [
  ["sequential/conv2d/Relu", "output", 0.38],
  ["sequential/conv2d_1/Relu", "output", 0.37],
  ["gradient_tape/sequential/conv2d_1/convolution/Conv2DBackpropInput", "temp", 1.05],
  ["gradient_tape/sequential/conv2d/ReluGrad", "output", 0.38],
];

/** In each step four allocations, all freed at its end, over 0.3 GiB that were there before. */
function allocations(meta: TraceMeta, steps: Table): Table {
  const id = (name: string) => (meta.names.includes(name) ? meta.names.indexOf(name) : meta.names.push(name) - 1);
  const rows: Record<string, number>[] = [];
  for (let step = 0; step < steps.n; step++) {
    const end = (steps.columns.start_ps[step] as number) + (steps.columns.duration_ps[step] as number);
    const first = rows.length;
    let used = 0.3 * GIB;
    for (const isFree of [0, 1]) {
      for (const [k, [op, region, gib]] of KEPT.entries()) {
        const bytes = gib * GIB;
        used += isFree ? -bytes : bytes;
        if (isFree) rows[first + k].freed_at = rows.length;
        rows.push({
          time_ps: end - (isFree ? 2 - k * 0.1 : 6 - k * 0.5) * MS,
          is_free: isFree,
          allocation_bytes: bytes,
          requested_bytes: bytes - 128,
          heap_bytes: used,
          op: id(op),
          step,
          region: id(region),
          dtype: id("float32"),
          shape: id("[32,222,222,64]"),
          freed_at: -1,
          address: isFree ? 0 : 4096 + KEPT.slice(0, k).reduce((sum, one) => sum + one[2], 0) * GIB,
        });
      }
    }
  }
  const f8 = (value: (row: Record<string, number>) => number) => Float64Array.from(rows, value);
  const i4 = (name: string) => Int32Array.from(rows, (row) => row[name]);
  return table({
    allocator: new Uint8Array(rows.length),
    session: new Int32Array(rows.length),
    is_free: Uint8Array.from(rows, (row) => row.is_free),
    time_ps: f8((row) => row.time_ps),
    requested_bytes: f8((row) => row.requested_bytes),
    allocation_bytes: f8((row) => row.allocation_bytes),
    address: f8((row) => row.address),
    stack_bytes: f8(() => 0.2 * GIB),
    heap_bytes: f8((row) => row.heap_bytes),
    capacity_bytes: f8(() => 4 * GIB),
    taken_bytes: f8(() => 4 * GIB),
    largest_free_bytes: f8((row) => (3.8 * GIB - row.heap_bytes) * (row.heap_bytes > 2 * GIB ? 0.83 : 0.92)),
    ...Object.fromEntries(["op", "step", "region", "dtype", "shape", "freed_at"].map((name) => [name, i4(name)])),
  });
}

/** Self ms a batch, and calls a batch, of each node of the pipeline below. */
const NODES: readonly [self: number, calls: number][] = [
  [0.04, 1],
  [0.4, 1],
  [0.05, 32],
  [11.9, 32],
  [0.2, 32],
  [0.5, 32],
  [0.01, 32],
];

function iteratorCalls(steps: Table): Table {
  const rows: { node: number; start: number; duration: number; self: number; root: number }[] = [];
  for (let step = 0; step < steps.n; step++) {
    const start = (steps.columns.start_ps[step] as number) + (steps.columns.compile_ms[step] as number) * MS;
    const root = rows.length;
    for (const [node, [self, calls]] of NODES.entries()) {
      for (let k = 0; k < calls; k++) {
        const duration = node < 2 ? 13.1 * MS : (self / calls) * MS;
        rows.push({ node, start: start + (k * 13 * MS) / calls, duration, self: (self / calls) * MS, root });
      }
    }
  }
  return table({
    pipeline: new Int32Array(rows.length),
    node: Int32Array.from(rows, (row) => row.node),
    start_ps: Float64Array.from(rows, (row) => row.start),
    duration_ps: Float64Array.from(rows, (row) => row.duration),
    self_ps: Float64Array.from(rows, (row) => row.self),
    wait_ps: Float64Array.from(rows, (row) => row.self),
    root: Int32Array.from(rows, (row) => row.root),
    is_blocking: Uint8Array.from(rows, (row) => (row.node === 6 ? 0 : 1)),
    is_startup: new Uint8Array(rows.length),
  });
}

function pipeline(nSteps: number, hostile: string): TraceMeta["pipelines"][number] {
  const names = ["", "BatchV2", "BatchV2::Zip", "BatchV2::Zip[0]::Map", "BatchV2::Zip[0]::Map::Shuffle"];
  names.push("BatchV2::Zip[0]::Map::Shuffle::TFRecord", "BatchV2::Zip[1]::TensorSlice");
  const settings = ["", "batch 32", "2 inputs", "1 at once", "buffer 2048", "", "labels"];
  const parents = [-1, 0, 1, 2, 3, 4, 2];
  const nodes = names.map((name, i): IteratorNode => {
    const [self, calls] = NODES[i];
    const leaf = i === 6 && hostile ? hostile : name.split("::").pop() || "Root";
    return {
      id: i,
      parent: parents[i],
      name: leaf,
      long_name: [ROOT, name].filter(Boolean).join("::") + (i === 6 ? hostile : ""),
      total_time_ms: (i < 2 ? 13.1 : self) * nSteps,
      self_time_ms: self * nSteps,
      calls: calls * nSteps,
      is_async: false,
      on_critical_path: i !== 6,
      params: {},
      pipeline: 0,
      wait_time_ms: 0,
      buffer_size: null,
      settings: settings[i],
    };
  });
  return {
    id: 0,
    name: "Host:0",
    host: "vm",
    is_device: false,
    n_calls: 5 * nSteps,
    n_slow_calls: 5 * nSteps,
    total_time_ms: 13.1 * nSteps,
    avg_latency_us: 13_100,
    min_latency_us: 13_100,
    max_latency_us: 13_100,
    startup_time_ms: 0,
    bottleneck: 3,
    summary: "Host:0: 40 calls of 13.1 ms on average; Map accounts for 476 ms of 524 ms (91 %).",
    nodes,
  };
}

function overview(nSteps: number, isCpu: boolean): TraceMeta["overview"] {
  const ms: Record<string, number> = { input: 13.1, host_compute: isCpu ? 7.6 : 0.6, output: 0.1, other: 0.5 };
  if (!isCpu) Object.assign(ms, { kernel_launch: 0.9, device_compute: 6.1 });
  return {
    step_time: { avg: 21.3, std: 0.4, min: 19.9, max: 22.2, median: 21.2, n: nSteps, n_averaged: nSteps - 1 },
    verdict: `Input-bound: the ${isCpu ? "model" : "GPU"} waits 13.1 of 21.3 ms a step for data (62 %).`,
    kind: "Input-bound",
    headline: `The ${isCpu ? "model" : "GPU"} waits 62 % of a step for data.`,
    verdict_detail: "The slowest part of the pipeline is Map: 11.9 ms a step on 1 of 16 threads.",
    limiter: "input",
    breakdown: CATEGORIES.map((category) => ({ category, ms: ms[category] ?? 0, ratio: (ms[category] ?? 0) / 21.3 })),
    busy_ratio: isCpu ? 0.36 : 0.29,
    has_device: !isCpu,
    environment: {
      hosts: ["machine"],
      device_type: isCpu ? "CPU" : "Nvidia GPU (Turing)",
      n_active_devices: isCpu ? 0 : 1,
      n_threads: 16,
    },
  };
}

function table(columns: Record<string, TypedArray>): Table {
  return { n: Object.values(columns)[0]?.length ?? 0, columns };
}
