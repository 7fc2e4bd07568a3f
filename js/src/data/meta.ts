/** Types of a Pack's `meta` object, as `show/lists.py` writes it; rows of tables are in `tables.ts`. Times are ps after the trace origin unless named otherwise. */

import type {
  AttributionRow,
  CopiesRow,
  HloOpsRow,
  InputPipelineIteratorsRow,
  InputPipelinePipelinesRow,
  KernelsRow,
  LayersRow,
  MemorySummaryRow,
  OverviewBreakdownRow,
  OverviewFigures,
  RooflineRow,
  SourceLinesRow,
  StragglersRow,
} from "./tables";

export type {
  AttributionRow,
  CopiesRow as CopyMeta,
  HloOpsRow as HloMeta,
  InputPipelineIteratorsRow as IteratorNode,
  KernelsRow as KernelMeta,
  LayersRow as LayerMeta,
  MemorySummaryRow,
  StragglersRow as StragglerMeta,
} from "./tables";
export { CATEGORIES, CATEGORY_LABELS, FAMILIES } from "./tables";

export const FAMILY_LABELS: Readonly<Record<string, string>> = {
  tfdata: "tf.data iterators",
  image: "decode, image ops",
  conv: "convolution, matmul",
  elem: "element-wise",
  reduce: "reduction, pooling, loss",
  optim: "optimizer",
  move: "copies, casts, transposes",
  runtime: "executor, runtime",
  python: "Python",
};

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

export interface PipelineMeta extends InputPipelinePipelinesRow {
  /** `parent` is an index into them, -1 for the root; so is `bottleneck`. */
  nodes: InputPipelineIteratorsRow[];
}

interface InputMeta {
  verdict: string;
  /** Names of input ops, each with its category; of iterators also what they worked, ms: in all, and in the averaged steps. */
  ops: [op: string, category: string, work?: number, steady?: number | null][];
}

export interface OverviewMeta extends Partial<OverviewFigures> {
  step_time?: { avg: number; std: number; min: number; max: number; median: number; n: number; n_averaged: number };
  breakdown?: OverviewBreakdownRow[];
  has_device?: boolean;
  environment?: Record<string, unknown>;
}

/** Something that rose and fell during the capture; its values are in the tables `counter_sample` and `counters`. */
export interface CounterMeta {
  name: string;
  /** "bytes", "bytes/s", "%", "elements", ...; "" unknown. */
  unit: string;
  kind: "memory" | "input" | "device" | "system";
  min: number;
  max: number;
  /** What it was before the first value; null where nobody knows. */
  before: number | null;
}

export interface AdviceMeta {
  rule: string;
  severity: "high" | "medium" | "low";
  /** What to do, in a few words; empty where only the title says it. */
  headline?: string;
  title: string;
  /** Each name ends in its unit, such as `input_ms`; null where there is no number. */
  evidence: [name: string, value: number | string | null][];
  /** What to do; the code is empty where words alone say it, runs as it is pasted, and may replace a statement of the user's. */
  fix: { words: string; code: string; replaces?: string };
  /** The share of a step that it could win at most; about, where `estimate` says how; 0: not about time. */
  gain_ratio: number;
  share_of?: "step" | "all steps" | "sample" | "time captured";
  /** What to select for it: names of ops, ns after the trace origin ([] the whole capture), a row of `steps` or -1. */
  op_names: string[];
  time_range_ns: number[];
  step: number;
  /** What of the step it is about: begin and end of each stretch in turn; the longest of `n_stretches`. */
  stretches_ns: number[];
  n_stretches: number;
  view: string;
  /** The host that it is shown for; empty where it is about all that the profile has. */
  host: string;
}

export interface TraceMeta {
  title: string;
  duration_ps: number;
  /** Events in the trace; fewer may travel. */
  n_events: number;
  planes: PlaneMeta[];
  lines: LineMeta[];
  /** Lines of the capture, where `lines` has only the busiest. */
  n_lines?: number;
  /** What `counter` of the tables of counters counts. */
  counters?: CounterMeta[];
  /** Counters of the capture, where `counters` has only some. */
  n_counters?: number;
  /** Every string of the trace; all name ids point here. */
  names: string[];
  /** Windows of time in which events travel. */
  tiles?: number;
  sections?: Record<string, { n_rows: number; n_parts: number }>;
  home?: readonly [number, number];
  /** Idle time of the whole capture, of host lines and of device lines. */
  idle_ps?: readonly [number, number];
  /** Share of equal bins of the capture in which the lines of hosts are busy, on average, and devices are. */
  activity?: { host: number[]; device: number[] };
  /** Of a capped page: the span of time of which every table has all rows. */
  window?: readonly [number, number];
  /** How many units `occurrences.op` counts; without compiled programs as many as there are framework ops. */
  n_units?: number;
  n_ops?: number;
  /** Indexed by framework op. */
  op_name: number[];
  op_type: number[];
  /** Slice family, an index into `FAMILIES`. */
  op_family: number[];
  op_device: number[];
  op_eager: number[];
  /** 1 for one whose self time is waiting, not work. */
  op_waits?: number[];
  step_names: string[];
  categories: string[];
  sessions: SessionMeta[];
  allocators: string[];
  /** How many allocators reported, over all hosts; their names are a list that comes later. */
  n_allocators?: number;
  memory_remedy: string | null;
  memory_failure?: MemoryFailureMeta | null;
  /** Also what each does from step to step, in words, and whether it looks like a leak. */
  memory_summary: MemorySummaryRow[];
  /** The GPU whose memory is fullest at its peak; null where none reported any. */
  device_memory?: { allocator: string; peak_bytes: number; capacity_bytes: number } | null;
  pipelines: PipelineMeta[];
  input?: InputMeta;
  overview: OverviewMeta;
  /** Texts of user files and cells, and of files whose lines ran ops. */
  source_files?: { file: string; title: string; text: string }[];
  /** What `op_places.line` counts; `file` is an index into `source_files`, or -1 for a bucket. */
  source_lines?: SourceLinesRow[];
  /** Where the user's thread was found, a share of the sampled time of the whole capture; the longest first. */
  source_samples?: { file: number; line: number; n_samples: number; time_ratio: number }[];
  /** What `kernel_runs.kernel` counts. */
  kernels?: KernelsRow[];
  /** Copies between host and devices, the most exposed time first; not there where nothing was copied. */
  copies?: CopiesRow[];
  /** What `hlo_units.hlo` counts. */
  hlo_ops?: HloOpsRow[];
  /** What `op_places.layer` counts. */
  layers?: LayersRow[];
  /** What to change, what matters most first. Of a long capture it comes after the first paint, with the next two. */
  advice?: AdviceMeta[];
  /** What has the time of typical steps, short stretches of a step as sums; none where that is not known. */
  attribution?: AttributionRow[];
  /** Whether a larger batch fits, and why; none where none does. */
  batch_room?: string[];
  advice_notices?: string[];
  /** One object: the ops of the program and their places; it comes when a view by structure asks for it. */
  structure?: StructureMeta[];
  /** One object: what ran on GPUs and what those could do; none where no program tells it, not there where nothing ran. */
  roofline?: RooflineMeta[];
  /** Graphs of the HLO ops that cost most; they come when a view by structure asks for them. */
  hlo_graphs?: HloGraphMeta[];
  /** Those that hold the others up, worst first, at most so many of `n_stragglers`. */
  stragglers?: StragglersRow[];
  n_stragglers?: number;
  /** What `worker_steps.host` counts. */
  worker_hosts?: string[];
  worker_note?: string;
  /** Whether these hosts wait for each other; workers of parameter servers wait for the servers alone. */
  workers_wait?: boolean;
  /** All hosts in the order of the trace; what `steps.host` and `host_totals.host` count. */
  hosts?: string[];
  /** For each of them "worker", "parameter server", "coordinator" or "chief". */
  host_roles?: string[];
  /** Whether each host was read and summed up where a worker ran: tables are of the whole capture. */
  is_summed?: boolean;
}

export interface HloGraphMeta extends Readonly<Record<"name" | "module" | "category", string>> {
  /** Of the whole capture. */
  readonly self_us: number;
  /** The framework ops that it stands for, and in which proportion. */
  readonly ops: readonly string[];
  readonly ratios: readonly number[];
  /** Of each node; that of a fusion's parameter is the operand outside. */
  readonly names: readonly string[];
  readonly opcodes: Coded;
  readonly shapes: Coded;
  /** The framework op of each node, "" for none. */
  readonly node_ops: Coded;
  /** Inside a fusion the share of its work, else self time in µs. */
  readonly values: readonly number[];
  /** Nodes: one entry per arrow. */
  readonly from: readonly number[];
  readonly to: readonly number[];
  /** How many nodes there are, with those that are left out. */
  readonly n_nodes: number;
  /** The node that all others are around; -1 inside a fusion. */
  readonly centre: number;
}

/** What held the memory at the moment of a failure, by one of op, layer or line: its first rows. */
export interface FailureTable {
  readonly title: string;
  readonly n: number;
  readonly rows: readonly FailureRow[];
}

export interface FailureRow extends Readonly<Record<"bytes" | "ratio" | "count" | "n_ops", number>> {
  readonly name: string;
  readonly full: string;
  /** Shape of the largest tensor, or the text of the line. */
  readonly detail: string;
  /** Names of ops to select, as many as there is room for, of `n_ops`. */
  readonly ops: readonly string[];
}

/** A failed allocation; null for what is not known. `MemoryFailure` in Python tells what each field is. */
export interface MemoryFailureMeta
  extends Readonly<Record<"sentence" | "message" | "allocator", string>>,
    Readonly<
      Record<
        "requested_bytes" | "in_use_bytes" | "capacity_bytes" | "largest_free_bytes" | "fragmentation_ratio" | "at_ps",
        number | null
      >
    > {
  readonly step: number;
  readonly tables: readonly FailureTable[];
  readonly actions: readonly { readonly words: string; readonly code: string; readonly detail: string }[];
}

type Numbers = readonly (number | null)[];
type Columns<Row> = { readonly [Name in keyof Row]: readonly Row[Name][] };

export interface RooflineMeta {
  /** What kernels compute on, and how many float operations the device does on it at most. */
  readonly kinds: readonly { readonly text: string; readonly peak: number | null }[];
  /** To and from the memory of the device, at most. */
  readonly bytes_per_s: number | null;
  /** The ops of the whole capture with most time. */
  readonly ops: Columns<RooflineRow> & {
    /** Index into `kinds`, -1 unknown. */
    readonly kind: readonly number[];
    /** What `occurrences.op` counts. */
    readonly unit: readonly number[];
    /** The framework op that it is most of. */
    readonly op: readonly number[];
    /** Kernels and copies of all executions. */
    readonly parts: readonly number[];
    /** The same of the averaged steps, together. */
    readonly step_time_us: readonly number[];
    readonly step_parts: readonly number[];
    /** Of the fastest units that its kernels run on. */
    readonly peak: Numbers;
  };
  readonly n_ops: number;
  /** For each step of all hosts its float operations, and their part of what the device could do meanwhile; null unknown. */
  readonly step_flops: Numbers;
  readonly step_mfu: Numbers;
}

/** Texts that repeat: each once, and its number for each row. */
export interface Coded {
  readonly texts: readonly string[];
  readonly codes: readonly number[];
}

export interface StructureMeta extends Readonly<Record<"types" | "devices" | "shapes", Coded>> {
  readonly problem?: string;
  readonly names: readonly string[];
  /** For each op its row of `scopes` and of `frames`. */
  readonly scope: readonly number[];
  readonly frame: readonly number[];
  /** Only those that are not zero everywhere. */
  readonly figures: Readonly<Partial<Record<FigureKey, readonly number[]>>>;
  readonly scopes: { readonly name: readonly string[]; readonly parent: readonly number[] };
  readonly frames: {
    readonly files: Coded;
    readonly line: readonly number[];
    readonly function: readonly string[];
    readonly text: readonly string[];
    readonly parent: readonly number[];
  };
  /** `n` tensors come to the op, given as the difference to that before, from one so far back; 0 where it only waits. */
  readonly edges: Readonly<Record<"back" | "op" | "n", readonly number[]>>;
  /** Ops of the whole graph. */
  readonly n_ops: number;
  /** Of them those that are named, the first; further ones are sums of the others. */
  readonly n_named: number;
  readonly n_edges: number;
  /** For each op of the trace its row of `names`, -1 for none, as the difference to that before. */
  readonly of_framework_op: readonly number[];
  readonly n_steps: number;
  /** Whether a file of TensorFlow's first profiler says it all, else a capture. */
  readonly is_stored: boolean;
  readonly is_per_step: boolean;
  readonly no_code: string;
  readonly no_edges: string;
}

export type FigureKey =
  | "micros"
  | "accelerator_micros"
  | "cpu_micros"
  | "bytes"
  | "peak_bytes"
  | "residual_bytes"
  | "output_bytes"
  | "params"
  | "float_ops"
  | "occurrence"
  | "run_count";
