/** A training run -> a Pack as Python would write it: host threads, tf.data, ops, steps, memory. */

import { CATEGORIES, FAMILIES, type TraceMeta } from "../src/data/meta";
import type { Pack, Table, TypedArray } from "../src/data/pack";
import { MS, N_HOST_LINES, type RawEvent, type RunOptions, TF_OPS, TrainingRun } from "./training_run";

function packOf(run: TrainingRun): Pack {
  const { events, names } = run;
  events.sort((a, b) => a.line - b.line || a.start - b.start || b.duration - a.duration);
  const nest = nesting(events);
  const columns = {
    start_ps: f8(events, (e) => e.start),
    duration_ps: f8(events, (e) => e.duration),
    self_ps: nest.self,
    name: Int32Array.from(events, (e) => names.id(e.name)),
    line: Int32Array.from(events, (e) => e.line),
    depth: nest.depth,
    op: Int32Array.from(events, (e) => e.op),
    step: Int32Array.from(events, (e) => e.step),
    n_stats: Uint16Array.from(events, (e) => e.stats.length),
  };
  const tables: Record<string, Table> = {
    events: table(columns),
    stats: statsTable(run),
    ...stepTables(run),
    memory: memoryTable(run),
  };
  const meta = metaOf(run, nest.busy);
  tables.names = table({
    family: Uint8Array.from(names.list, (name) => familyOf(run, name)),
  });
  return { meta: meta as unknown as Record<string, unknown>, tables };
}

function familyOf(run: TrainingRun, name: string): number {
  return FAMILIES.indexOf((run.families.get(name) ?? "runtime") as (typeof FAMILIES)[number]);
}

function statsTable(run: TrainingRun): Table {
  const flat = run.events.flatMap((event) => event.stats);
  return table({
    key: Int32Array.from(flat, ([key]) => run.names.id(key)),
    kind: Uint8Array.from(flat, ([, kind]) => kind),
    bits: BigUint64Array.from(flat, ([, , value]) =>
      typeof value === "string" ? BigInt(run.names.id(value)) : BigInt.asUintN(64, value),
    ),
  });
}

function stepTables(run: TrainingRun): Record<string, Table> {
  const { steps } = run;
  const pieces = steps.flatMap((step, row) => {
    let at = step.start;
    return step.pieces.flatMap(([category, ms]) => {
      if (ms <= 0) return [];
      at += ms * MS;
      return [{ row, start: at - ms * MS, duration: ms * MS, category }];
    });
  });
  const perCategory = Object.fromEntries(
    CATEGORIES.map((category, id) => [
      `${category}_ms`,
      f8(steps, (s) => s.pieces.reduce((sum, [c, ms]) => sum + (c === id ? ms : 0), 0)),
    ]),
  );
  return {
    steps: table({
      start_ps: f8(steps, (s) => s.start),
      duration_ps: f8(steps, (s) => s.duration),
      source: new Uint8Array(steps.length),
      is_complete: new Uint8Array(steps.length).fill(1),
      is_averaged: Uint8Array.from(steps, (_, i) => (i > 0 ? 1 : 0)),
      session: Int32Array.from(steps, (s) => run.sessions.findIndex((x) => s.start <= x.stop_ps)),
      ...perCategory,
    }),
    step_pieces: table({
      step: Int32Array.from(pieces, (p) => p.row),
      start_ps: f8(pieces, (p) => p.start),
      duration_ps: f8(pieces, (p) => p.duration),
      category: Uint8Array.from(pieces, (p) => p.category),
    }),
  };
}

function memoryTable(run: TrainingRun): Table {
  const { memory, names } = run;
  const capacity = 4 * 2 ** 30;
  const zero = new Float64Array(memory.length);
  const none = new Int32Array(memory.length).fill(-1);
  const before = (i: number) => (i > 0 ? memory[i - 1].bytes : 0);
  const change = f8(memory, (m, i) => Math.abs(m.bytes - before(i)));
  return table({
    allocator: new Uint8Array(memory.length),
    session: new Int32Array(memory.length),
    time_ps: f8(memory, (m) => m.time),
    is_free: Uint8Array.from(memory, (m, i) => (m.bytes < before(i) ? 1 : 0)),
    requested_bytes: change,
    allocation_bytes: change.slice(),
    stack_bytes: zero,
    heap_bytes: f8(memory, (m) => m.bytes),
    capacity_bytes: f8(memory, () => capacity),
    taken_bytes: zero.slice(),
    largest_free_bytes: f8(memory, (m) => capacity - m.bytes),
    address: zero.slice(),
    op: Int32Array.from(memory, (m) => names.id(m.op)),
    step: Int32Array.from(memory, (m) => m.step),
    region: none,
    dtype: none.slice(),
    shape: none.slice(),
    freed_at: none.slice(),
  });
}

function metaOf(run: TrainingRun, busy: Float64Array): TraceMeta {
  const { names, ops, steps, sessions, events } = run;
  const last = sessions[sessions.length - 1];
  const hostLines = ["python", "tf_data_iterator_get_next", "tf_Compute/0", "tf_Compute/1"];
  const lineNames = Array.from({ length: N_HOST_LINES }, (_, i) => hostLines[i] ?? `tf_private_threadpool/${i}`);
  if (run.options.hasDevice) lineNames.push("Stream #13 Compute", "TensorFlow Ops", "Stream #14 Memcpy");
  return {
    title: "fixture",
    duration_ps: last.stop_ps,
    n_events: events.length,
    planes: [
      { name: "/host:CPU", host: "localhost", kind: "host" },
      ...(run.options.hasDevice ? [{ name: "/device:GPU:0", host: "localhost", kind: "device" } as const] : []),
    ],
    lines: lineNames.map((name, id) => ({
      plane: id < N_HOST_LINES ? 0 : 1,
      name,
      n_events: events.filter((e) => e.line === id).length,
      busy_ps: busy[id] ?? 0,
      is_derived: id === TF_OPS,
    })),
    names: names.list,
    op_name: ops.map((op) => names.id(op.name)),
    op_type: ops.map((op) => names.id(op.type)),
    op_family: ops.map((op) => familyOf(run, `${op.name}:${op.type}`)),
    op_device: ops.map((op) => op.device),
    op_eager: ops.map(() => 0),
    step_names: steps.map((_, i) => String(i)),
    categories: [...CATEGORIES],
    sessions,
    allocators: ["GPU_0_bfc"],
    memory_remedy: null,
    memory_summary: [],
    pipelines: [],
    overview: {},
  };
}

function f8<T>(rows: readonly T[], value: (row: T, i: number) => number): Float64Array {
  return Float64Array.from(rows, value);
}

function table(columns: Record<string, TypedArray>): Table {
  return { n: Object.values(columns)[0]?.length ?? 0, columns };
}

/** Depth, self time and busy time of each line, by one pass with a stack. */
function nesting(events: readonly RawEvent[]) {
  const depth = new Uint16Array(events.length);
  const self = new Float64Array(events.length);
  const busy = new Float64Array(64);
  let stack: number[] = [];
  let line = -1;
  for (const [i, event] of events.entries()) {
    if (event.line !== line) stack = [];
    line = event.line;
    const endOf = (k: number) => events[k].start + events[k].duration;
    while (stack.length > 0 && endOf(stack[stack.length - 1]) <= event.start) stack.pop();
    depth[i] = stack.length;
    self[i] = event.duration;
    if (stack.length > 0) self[stack[stack.length - 1]] -= event.duration;
    else busy[line] += event.duration;
    stack.push(i);
  }
  return { depth, self, busy };
}

/** A training run of a small image classifier. */
export function trainingRun(options: RunOptions = {}): Pack {
  return packOf(
    new TrainingRun({ nSteps: 40, hasDevice: true, batch: 32, isWindowed: false, evilName: "", ...options }),
  );
}
