/** Types of a Pack's `meta` object: what views/data.py writes. Times are ps after the trace origin unless named otherwise. */

export interface PlaneMeta {
  name: string;
  host: string;
  kind: "host" | "device" | "other";
}

export interface LineMeta {
  /** Index into `planes`. */
  plane: number;
  name: string;
  n_events: number;
  busy_ps: number;
  is_derived: boolean;
}

export interface SessionMeta {
  start_ps: number;
  stop_ps: number;
  host: string;
}

export interface IteratorNode {
  id: number;
  /** Index into the pipeline's `nodes`, -1 for the root. */
  parent: number;
  name: string;
  long_name: string;
  /** Names of its events: several where iterators that differ only in an index are one node (`[*]` in `long_name`). */
  event_names?: string[];
  total_time_ms: number;
  self_time_ms: number;
  calls: number;
  is_async: boolean;
  on_critical_path: boolean;
  is_bottleneck: boolean;
  params: unknown;
  /** What is known of its settings, in a few words. */
  settings?: string;
  /** Part of its self time for which a step waited. */
  wait_time_ms?: number;
}

export interface PipelineMeta {
  id: number;
  name: string;
  bottleneck: number | null;
  suggestion: string;
  suggestion_code: string;
  summary: string;
  nodes: IteratorNode[];
  [other: string]: unknown;
}

export interface MemorySummaryRow {
  allocator: string;
  n_allocations: number;
  n_deallocations: number;
  capacity_bytes: number | null;
  peak_heap_bytes: number;
  peak_bytes: number;
  peak_at_ms: number;
  stack_bytes: number;
  heap_bytes: number;
  free_bytes: number;
  fragmentation_ratio: number;
  [other: string]: unknown;
}

export interface OverviewMeta {
  step_time?: { avg: number; std: number; min: number; max: number; n: number; n_averaged: number };
  verdict?: string;
  verdict_detail?: string;
  limiter?: string | null;
  breakdown?: { category: string; ms: number; ratio: number }[];
  environment?: Record<string, unknown>;
  [other: string]: unknown;
}

export interface TraceMeta {
  version: number;
  title: string;
  duration_ps: number;
  /** Events in the trace, and how many of them this Pack holds. */
  n_events: number;
  n_events_here: number;
  planes: PlaneMeta[];
  lines: LineMeta[];
  /** Every string of the trace; all name ids point here. */
  names: string[];
  /** Indexed by op id. */
  op_name: number[];
  op_type: number[];
  op_device: number[];
  op_eager: number[];
  step_names: string[];
  categories: string[];
  sessions: SessionMeta[];
  allocators: string[];
  n_memory?: number;
  memory_remedy: string | null;
  memory_summary: MemorySummaryRow[];
  pipelines: PipelineMeta[];
  overview: OverviewMeta;
  notices: string[];
}

/** Step-time categories in the order of their ids. */
export const CATEGORIES = [
  "input",
  "host_compute",
  "kernel_launch",
  "device_compute",
  "device_to_device",
  "device_collectives",
  "output",
  "compile",
  "other",
] as const;

export const CATEGORY_LABELS: Readonly<Record<string, string>> = {
  input: "Input",
  host_compute: "Host compute",
  kernel_launch: "Kernel launch",
  device_compute: "Device compute",
  device_to_device: "Device to device",
  device_collectives: "Collectives",
  output: "Output",
  compile: "Compilation",
  other: "Other",
};

/** Slice families in the order of their ids in the `names` table. */
export const FAMILIES = ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"] as const;

export const FAMILY_LABELS: Readonly<Record<string, string>> = {
  tfdata: "tf.data iterators",
  image: "decode, image ops",
  conv: "convolution, matmul",
  elem: "element-wise",
  reduce: "reduction, pooling, loss",
  optim: "optimizer",
  move: "copies, transposes",
  runtime: "executor, runtime",
  python: "Python",
};
