/** The invented capture of the visual reference (a small image classifier, 40 steps) -> a Pack, to look at views without Python. */

import { CATEGORIES, FAMILIES, type IteratorNode, type TraceMeta } from "../src/core/meta";
import type { Pack, Table } from "../src/core/wire";

const MS = 1e9;

interface Options {
  readonly nSteps?: number;
  /** A capture without a device and without allocations, as a CPU run gives. */
  readonly isCpu?: boolean;
  readonly isEmpty?: boolean;
  /** Put into names, to see that they stay text. */
  readonly hostileName?: string;
}

class Names {
  readonly list: string[] = [];
  readonly families: number[] = [];
  readonly #ids = new Map<string, number>();
  id(name: string, family = "runtime"): number {
    let id = this.#ids.get(name);
    if (id === undefined) {
      id = this.list.length;
      this.#ids.set(name, id);
      this.list.push(name);
      this.families.push(FAMILIES.indexOf(family as (typeof FAMILIES)[number]));
    }
    return id;
  }
}

class Rows {
  readonly #columns: Record<string, number[]> = {};
  n = 0;
  add(row: Record<string, number>): number {
    for (const [name, value] of Object.entries(row)) {
      this.#columns[name] ??= [];
      this.#columns[name].push(value);
    }
    return this.n++;
  }
  set(row: number, column: string, value: number): void {
    this.#columns[column][row] = value;
  }
  table(types: Record<string, "f8" | "i4" | "u1" | "u2"> = {}): Table {
    const make = { f8: Float64Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array };
    const columns = Object.entries(this.#columns).map(([name, values]) => {
      const type = types[name] ?? (/_ps$|_ms$|_bytes$|_ratio$/.test(name) ? "f8" : "i4");
      return [name, make[type].from(values)];
    });
    return { n: this.n, columns: Object.fromEntries(columns) };
  }
}

const KERNELS: readonly [string, string, number, string][] = [
  ["Conv2D", "sequential/conv2d/convolution", 0.52, "conv"],
  ["BiasAdd", "sequential/conv2d/BiasAdd", 0.07, "elem"],
  ["Relu", "sequential/conv2d/Relu", 0.08, "elem"],
  ["Conv2D", "sequential/conv2d_1/convolution", 0.71, "conv"],
  ["MaxPool", "sequential/max_pooling2d/MaxPool2d", 0.1, "reduce"],
  ["MatMul", "sequential/dense/MatMul", 0.24, "conv"],
  ["MatMul", "gradient_tape/sequential/dense/MatMul/MatMul", 0.38, "conv"],
  ["MatMul", "gradient_tape/sequential/dense/MatMul/MatMul_1", 0.4, "conv"],
  ["ReluGrad", "gradient_tape/sequential/conv2d_1/ReluGrad", 0.1, "elem"],
  ["Conv2DBackpropFilter", "gradient_tape/sequential/conv2d_1/convolution/Conv2DBackpropFilter", 0.66, "conv"],
  ["Conv2DBackpropInput", "gradient_tape/sequential/conv2d_1/convolution/Conv2DBackpropInput", 0.94, "conv"],
  ["Conv2DBackpropFilter", "gradient_tape/sequential/conv2d/convolution/Conv2DBackpropFilter", 0.47, "conv"],
];

export function makeScene(options: Options = {}): Pack {
  if (options.isEmpty) return { meta: baseMeta(new Names(), 5 * MS) as unknown as Pack["meta"], tables: {} };
  const names = new Names();
  const nSteps = options.nSteps ?? 40;
  const ops = new Ops(names);
  const events = new Rows();
  const stats = new Rows();
  const steps = new Rows();
  const pieces = new Rows();
  const occurrences = new Rows();
  const memory = new Rows();
  const calls = new Rows();
  const random = generator(11);
  const device = options.isCpu ? 0 : 1;
  const hostile = options.hostileName ?? "Identity";
  const lines: Event[][] = [[], [], [], []];
  let now = 0;
  for (let i = 0; i < nSteps; i++) {
    const ms: Record<string, number> = {
      input: 13.1 + (random() - 0.5) * 1.4,
      host_compute: options.isCpu ? 7.6 : 0.6,
      kernel_launch: options.isCpu ? 0 : 0.9,
      device_compute: options.isCpu ? 0 : 6.1,
      device_to_device: 0,
      device_collectives: 0,
      output: 0.1,
      compile: i === 0 ? 190.7 : 0,
      other: 0.5 + random() * 0.1,
    };
    const total = Object.values(ms).reduce((a, b) => a + b);
    const row: Record<string, number> = {
      start_ps: now * MS,
      duration_ps: total * MS,
      source: 0,
      is_complete: 1,
      is_averaged: i === 0 ? 0 : 1,
      session: 0,
    };
    for (const category of CATEGORIES) row[`${category}_ms`] = ms[category];
    steps.add(row);
    let t = now;
    for (const category of ["compile", "input", "host_compute", "kernel_launch", "device_compute", "output", "other"]) {
      if (ms[category] > 0)
        pieces.add({
          step: i,
          start_ps: t * MS,
          duration_ps: ms[category] * MS,
          category: CATEGORIES.indexOf(category as "input"),
        });
      t += ms[category];
    }
    lines[0].push({ start: now, ms: total - 0.02, name: "train", family: "python", step: i, depth: 0 });
    lines[0].push({
      start: now + 0.1,
      ms: total - 0.3,
      name: "EagerLocalExecute: __inference_multi_step_on_iterator_1686",
      family: "runtime",
      step: i,
      depth: 1,
    });
    const fetch = now + ms.compile;
    const batch = occurrences.add(ops.row("Iterator::Root::BatchV2", "Dataset", 0, "tfdata", 1, fetch, ms.input, -1));
    lines[1].push({
      start: fetch,
      ms: ms.input,
      name: "Iterator::Root::BatchV2",
      family: "tfdata",
      step: i,
      depth: 0,
      op: ops.last,
    });
    calls.add({ pipeline: 0, node: 1, start_ps: fetch * MS, duration_ps: ms.input * MS, self_ps: 0.4 * MS });
    calls.add({ pipeline: 0, node: 0, start_ps: fetch * MS, duration_ps: (ms.input + 0.04) * MS, self_ps: 0.04 * MS });
    for (let k = 0; k < 32; k++) {
      const each = (ms.input - 0.4) / 32;
      const at = fetch + 0.2 + k * each;
      const map = occurrences.add(
        ops.row("Iterator::Root::BatchV2::Zip[0]::Map", "Dataset", 0, "tfdata", 1, at, each * 0.97, batch),
      );
      lines[1].push({
        start: at,
        ms: each * 0.97,
        name: "Iterator::Root::BatchV2::Zip[0]::Map",
        family: "tfdata",
        step: i,
        depth: 1,
        op: ops.last,
      });
      occurrences.add(
        ops.row("Zip[0]/Map/DecodeJpeg", "DecodeJpeg", 0, "image", 1, at + each * 0.05, each * 0.64, map),
      );
      lines[1].push({
        start: at + each * 0.05,
        ms: each * 0.64,
        name: "Zip[0]/Map/DecodeJpeg:DecodeJpeg",
        family: "image",
        step: i,
        depth: 2,
        op: ops.last,
      });
      occurrences.add(
        ops.row("Zip[0]/Map/resize/ResizeBilinear", "ResizeBilinear", 0, "image", 1, at + each * 0.7, each * 0.2, map),
      );
      lines[1].push({
        start: at + each * 0.7,
        ms: each * 0.2,
        name: "Zip[0]/Map/resize/ResizeBilinear:ResizeBilinear",
        family: "image",
        step: i,
        depth: 2,
        op: ops.last,
      });
      for (const [node, share] of [
        [3, 0.935],
        [4, 0.015],
        [5, 0.04],
        [6, 0.001],
        [2, 0.004],
      ] as const) {
        calls.add({ pipeline: 0, node, start_ps: at * MS, duration_ps: each * share * MS, self_ps: each * share * MS });
      }
    }
    let x = fetch + ms.input + 0.15;
    const first = x;
    const scale = (options.isCpu ? 7.2 : 6) / KERNELS.reduce((sum, kernel) => sum + kernel[2], 0);
    const alive: { row: number; bytes: number }[] = [];
    for (const [type, name, base, family] of KERNELS) {
      const length = base * scale;
      occurrences.add(ops.row(name, type, device, family, device ? 3 : 2, x, length, -1));
      lines[device ? 3 : 2].push({
        start: x,
        ms: length,
        name: `${name}:${type}`,
        family,
        step: i,
        depth: 0,
        op: ops.last,
      });
      if (!options.isCpu) alive.push(allocate(memory, names, name, type, x, base, i, alive));
      x += length;
    }
    occurrences.add(ops.row(hostile, "Identity", 0, "move", 2, first - 0.1, 0.05, -1));
    lines[2].push({
      start: first - 0.1,
      ms: 0.05,
      name: `${hostile}:Identity`,
      family: "move",
      step: i,
      depth: 0,
      op: ops.last,
    });
    if (!options.isCpu) release(memory, names, alive, now + total - 0.2, i);
    now += total;
  }
  addEvents(lines, names, events, stats);
  const meta = baseMeta(names, now * MS);
  const opLines = new Rows();
  for (const [line, where] of [
    [1, 0],
    [2, 0],
    [3, 1],
  ] as const) {
    if (where === 1 && options.isCpu) continue;
    opLines.add({ line, device: where, first_ps: 0, last_ps: now * MS });
  }
  Object.assign(meta, ops.meta());
  meta.title = "image classifier";
  meta.n_events = events.n;
  meta.n_events_here = events.n;
  meta.planes = [
    { name: "/host:CPU", host: "", kind: "host" },
    ...(options.isCpu ? [] : [{ name: "/device:GPU:0", host: "", kind: "device" as const }]),
  ];
  meta.lines = ["python", "tf_data_iterator_get_next", "tf_Compute", "Stream #13 Compute"]
    .slice(0, options.isCpu ? 3 : 4)
    .map((name, line) => ({
      plane: line === 3 ? 1 : 0,
      name,
      n_events: lines[line].length,
      busy_ps: lines[line].filter((event) => event.depth === 0).reduce((sum, event) => sum + event.ms * MS, 0),
      is_derived: false,
    }));
  meta.step_names = Array.from({ length: nSteps }, (_, i) => String(i));
  meta.allocators = options.isCpu ? [] : ["GPU_0_bfc"];
  meta.memory_remedy = options.isCpu ? 'import os\nos.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"' : null;
  meta.n_memory = memory.n;
  meta.pipelines = [pipeline(nSteps)];
  meta.overview = overview(nSteps, Boolean(options.isCpu));
  return {
    meta: meta as unknown as Pack["meta"],
    tables: {
      names: { n: names.list.length, columns: { family: Uint8Array.from(names.families) } },
      events: events.table({ depth: "u2", n_stats: "u2" }),
      stats: stats.table(),
      steps: steps.table({ source: "u1", is_complete: "u1", is_averaged: "u1" }),
      step_pieces: pieces.table({ category: "u1" }),
      occurrences: occurrences.table(),
      op_lines: opLines.table({ device: "u1" }),
      memory: memory.table({ allocator: "u1", is_free: "u1" }),
      iterator_calls: calls.table(),
    },
  };
}

interface Event {
  start: number;
  ms: number;
  name: string;
  family: string;
  step: number;
  depth: number;
  op?: number;
}

function addEvents(lines: readonly Event[][], names: Names, events: Rows, stats: Rows): void {
  lines.forEach((own, line) => {
    own.sort((a, b) => a.start - b.start || b.ms - a.ms);
    for (const event of own) {
      events.add({
        start_ps: event.start * MS,
        duration_ps: event.ms * MS,
        self_ps: event.ms * MS * 0.5,
        name: names.id(event.name, event.family),
        line,
        depth: event.depth,
        op: event.op ?? -1,
        step: event.step,
        n_stats: 0,
      });
    }
  });
  void stats;
}

/** A minimal standard generator: the same picture each time. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
}

class Ops {
  readonly #ids = new Map<string, number>();
  readonly #name: number[] = [];
  readonly #type: number[] = [];
  readonly #device: number[] = [];
  last = -1;
  constructor(readonly names: Names) {}
  row(
    name: string,
    type: string,
    device: number,
    family: string,
    line: number,
    start: number,
    ms: number,
    parent: number,
  ) {
    const key = `${device}:${name}`;
    let op = this.#ids.get(key);
    if (op === undefined) {
      op = this.#name.length;
      this.#ids.set(key, op);
      this.#name.push(this.names.id(name, family));
      this.#type.push(this.names.id(type, family));
      this.#device.push(device);
    }
    this.last = op;
    return { op, line, start_ps: start * MS, duration_ps: ms * MS, span_ps: ms * MS, parent };
  }
  meta() {
    return { op_name: this.#name, op_type: this.#type, op_device: this.#device, op_eager: this.#name.map(() => 0) };
  }
}

const GIB = 2 ** 30;

function state(time: number, used: number, row: Record<string, number>): Record<string, number> {
  return {
    allocator: 0,
    time_ps: time * MS,
    ...row,
    in_use_bytes: used + 0.2 * GIB,
    stack_bytes: 0.2 * GIB,
    heap_bytes: used,
    free_bytes: 3.8 * GIB - used,
    fragmentation_ratio: 0.06 + (used > 2.2 * GIB ? 0.11 : Math.max(0, 2 - used / GIB) * 0.03),
  };
}

function allocate(
  memory: Rows,
  names: Names,
  name: string,
  type: string,
  time: number,
  base: number,
  step: number,
  alive: readonly { bytes: number }[],
) {
  const bytes = Math.round(base * (0.55 + (step % 5) * 0.02) * GIB);
  const used = 0.3 * GIB + alive.reduce((sum, one) => sum + one.bytes, 0) + bytes;
  const row = memory.add(
    state(time, used, {
      is_free: 0,
      requested_bytes: bytes - 128,
      allocation_bytes: bytes,
      op: names.id(name),
      step,
      region: names.id(type === "Conv2DBackpropInput" ? "temp" : "output"),
      dtype: names.id("float32"),
      shape: names.id("[32,222,222,64]"),
      freed_at: -1,
    }),
  );
  return { row, bytes };
}

function release(
  memory: Rows,
  names: Names,
  alive: { row: number; bytes: number }[],
  time: number,
  step: number,
): void {
  let used = 0.3 * GIB + alive.reduce((sum, one) => sum + one.bytes, 0);
  alive.forEach(({ bytes, row }, i) => {
    used -= bytes;
    const at = memory.add(
      state(time + i * 0.005, used, {
        is_free: 1,
        requested_bytes: bytes - 128,
        allocation_bytes: bytes,
        op: names.id("free"),
        step,
        region: -1,
        dtype: -1,
        shape: -1,
        freed_at: -1,
      }),
    );
    memory.set(row, "freed_at", at);
  });
}

function pipeline(nSteps: number): TraceMeta["pipelines"][number] {
  const root = "Iterator::Root";
  const node = (
    id: number,
    parent: number,
    name: string,
    longName: string,
    self: number,
    calls: number,
    params: unknown,
    extra: Partial<IteratorNode> = {},
  ): IteratorNode => ({
    id,
    parent,
    name,
    long_name: longName,
    total_time_ms: self * nSteps,
    self_time_ms: self * nSteps,
    calls: calls * nSteps,
    is_async: false,
    on_critical_path: true,
    is_bottleneck: false,
    params,
    ...extra,
  });
  return {
    id: 1,
    name: "Host:0",
    bottleneck: 3,
    suggestion: "Map decodes one image at a time. Run it in parallel, and prefetch so that input overlaps the step.",
    suggestion_code: ".map(decode,\n     num_parallel_calls=tf.data.AUTOTUNE)\n.batch(32)\n.prefetch(tf.data.AUTOTUNE)",
    summary: "Map takes 11.9 of 13.1 ms a batch.",
    nodes: [
      node(10, -1, "Root", root, 0.04, 1, null),
      node(11, 0, "BatchV2", `${root}::BatchV2`, 0.4, 1, { batch_size: 32 }),
      node(12, 1, "Zip", `${root}::BatchV2::Zip`, 0.05, 32, null),
      node(13, 2, "Map", `${root}::BatchV2::Zip[0]::Map`, 11.9, 32, { num_parallel_calls: 1 }, { is_bottleneck: true }),
      node(14, 3, "Shuffle", `${root}::BatchV2::Zip[0]::Map::Shuffle`, 0.2, 32, { buffer_size: 2048 }),
      node(15, 4, "TFRecord", `${root}::BatchV2::Zip[0]::Map::Shuffle::TFRecord`, 0.5, 32, null),
      node(16, 2, "TensorSlice", `${root}::BatchV2::Zip[1]::TensorSlice`, 0.01, 32, null, { on_critical_path: false }),
    ],
  };
}

function overview(nSteps: number, isCpu: boolean): TraceMeta["overview"] {
  const ms: Record<string, number> = {
    input: 13.1,
    host_compute: isCpu ? 7.6 : 0.6,
    kernel_launch: isCpu ? 0 : 0.9,
    device_compute: isCpu ? 0 : 6.1,
    output: 0.1,
    other: 0.5,
  };
  return {
    step_time: { avg: 21.3, std: 0.4, min: 19.9, max: 22.2, n: nSteps, n_averaged: nSteps - 1 },
    verdict: `Input-bound: the ${isCpu ? "model" : "GPU"} waits 13.1 of 21.3 ms a step for data (62 %).`,
    verdict_detail: "The slowest part of the pipeline is Map: 11.9 ms a step on 1 of 16 threads.",
    limiter: "input",
    breakdown: CATEGORIES.map((category) => ({ category, ms: ms[category] ?? 0, ratio: (ms[category] ?? 0) / 21.3 })),
    busy_ratio: isCpu ? 0.36 : 0.29,
    has_device: !isCpu,
    environment: { hosts: ["machine"], device_type: isCpu ? "CPU" : "Nvidia GPU (Turing)", n_active_devices: isCpu ? 0 : 1, n_threads: 16 },
  };
}

function baseMeta(names: Names, duration: number): TraceMeta {
  return {
    version: 1,
    title: "empty",
    duration_ps: duration,
    n_events: 0,
    n_events_here: 0,
    planes: [],
    lines: [],
    names: names.list,
    op_name: [],
    op_type: [],
    op_device: [],
    op_eager: [],
    step_names: [],
    categories: [...CATEGORIES],
    sessions: [{ start_ps: 0, stop_ps: duration, host: "" }],
    allocators: [],
    memory_remedy: null,
    memory_summary: [],
    pipelines: [],
    overview: {},
    notices: [],
  };
}
