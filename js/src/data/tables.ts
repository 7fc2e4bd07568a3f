/** Rows of tables, as Python declares (and explains) and sends them: made by `python -m tools.typescript`. */

/** A stretch of a step, or of the time between steps, by step, then category and time. */
export interface AttributionRow {
  readonly step: number;
  readonly category: string;
  readonly start_ms: number;
  readonly duration_ms: number;
  readonly time_ms: number;
  readonly event: string;
  readonly op: string;
  readonly layer: string;
  readonly line: string;
  readonly advice: number;
}

/** A kernel by name, launch and op, most total time first. */
export interface KernelsRow {
  readonly name: string;
  readonly registers_per_thread: number;
  readonly shared_memory_bytes: number;
  readonly block_dim: string;
  readonly grid_dim: string;
  readonly occupancy_pct: number;
  readonly tensor_core_eligible: boolean;
  readonly uses_tensor_core: boolean;
  readonly unit: string;
  readonly op_name: string;
  readonly occurrences?: number;
  readonly total_time_us?: number;
  readonly min_time_us?: number;
  readonly max_time_us?: number;
  readonly op_type: string;
  readonly family: number;
  readonly could_use_tensor_core: boolean;
}

/** The copies of one tensor, direction and kind of memory on GPUs, most exposed time first. */
export interface CopiesRow {
  readonly direction: "host to device" | "device to host" | "device to device" | "host to host";
  readonly source: string;
  readonly destination: string;
  readonly op: string;
  readonly read_by: string;
  readonly tensor: string;
  readonly occurrences: number;
  readonly bytes: number;
  readonly bytes_per_copy: number | null;
  readonly total_time_ms: number;
  readonly gb_per_s: number | null;
  readonly hidden_time_ms: number;
  readonly exposed_time_ms: number;
  readonly round_trips: number;
}

/** An op of an XLA program, devices before the host, most self time first. */
export interface HloOpsRow {
  readonly module: string;
  readonly category: string;
  readonly name: string;
  readonly expression: string;
  readonly op_name: string;
  readonly op_type: string;
  readonly device: string;
  readonly flops: number | null;
  readonly bytes_accessed: number | null;
  readonly source: string;
  readonly program_id: string;
  readonly family: number;
  readonly is_users: boolean;
}

/** A line of your code, or what no line is charged with, by side, most self time first. */
export interface SourceLinesRow {
  readonly file: number;
  readonly line: number;
  readonly function: string;
  readonly code: string;
  readonly bucket: string;
}

/** An op that ran on a GPU, most time first. */
export interface RooflineRow {
  readonly name: string;
  readonly layer: string;
  readonly time_us: number;
  readonly time_ratio: number;
  readonly occurrences: number;
  readonly flops: number | null;
  readonly bytes: number | null;
}

/** A Keras layer, or what is in none, by side, most self time first. */
export interface LayersRow {
  readonly layer: string;
  readonly class_name: string;
  readonly kind: "layer" | "loss" | "metrics" | "optimizer" | "input" | "other";
  readonly allocated_bytes: number | null;
  readonly peak_bytes: number | null;
  readonly step_bytes?: number | null;
  readonly n_params?: number | null;
  readonly allocating?: readonly string[];
}

/** A host that holds the others up, the costliest first. */
export interface StragglersRow {
  readonly host: string;
  readonly category: string;
  readonly n_steps: number;
  readonly n_aligned: number;
  readonly excess_ms: number;
  readonly cost_ms: number;
  readonly cost_ratio: number;
}

/** An allocator; what is in use is that at its peak. */
export interface MemorySummaryRow {
  readonly allocator: string;
  readonly n_allocations: number;
  readonly n_deallocations: number;
  readonly capacity_bytes: number;
  readonly peak_heap_bytes: number;
  readonly peak_bytes: number;
  readonly peak_at_ms: number;
  readonly stack_bytes: number;
  readonly heap_bytes: number;
  readonly free_bytes: number;
  readonly fragmentation_ratio: number;
  readonly largest_free_bytes: number;
  readonly sentence: string;
  readonly is_significant: boolean;
}

/** A tf.data pipeline, in order of first use. */
export interface InputPipelinePipelinesRow {
  readonly id: number;
  readonly name: string;
  readonly host: string;
  readonly is_device: boolean;
  readonly n_calls: number;
  readonly n_slow_calls: number;
  readonly total_time_ms: number;
  readonly avg_latency_us: number;
  readonly min_latency_us: number;
  readonly max_latency_us: number;
  readonly startup_time_ms: number;
  readonly bottleneck: number | null;
  readonly summary: string;
}

/** A tf.data iterator, a consumer before what it consumes. */
export interface InputPipelineIteratorsRow {
  readonly id: number;
  readonly parent: number;
  readonly name: string;
  readonly long_name: string;
  readonly total_time_ms: number;
  readonly self_time_ms: number;
  readonly calls: number;
  readonly is_async: boolean;
  readonly on_critical_path: boolean;
  readonly params: unknown;
  readonly pipeline: number;
  readonly wait_time_ms: number;
  readonly event_names?: readonly string[];
  readonly buffer_size: number | null;
  readonly settings: string;
}

/** A category of the step time. */
export interface OverviewBreakdownRow {
  readonly category: string;
  readonly ms: number;
  readonly ratio: number;
}

/** Figures and sentences of `Profile.overview`, under their names there; null for what is not known. */
export interface OverviewFigures {
  readonly typical_steps: readonly number[];
  readonly slow_steps: string;
  readonly left_out: string;
  readonly is_inferred: boolean;
  readonly limiter: string;
  readonly verdict: string;
  readonly kind: string;
  readonly headline: string;
  readonly batches: string;
  readonly verdict_detail: string;
  readonly busy_ratio: number | null;
  readonly covered_ratio: number | null;
  readonly compute_16bit_ratio: number | null;
  readonly compute_32bit_ratio: number | null;
  readonly host_time_ratio: number | null;
  readonly device_time_ratio: number | null;
  readonly host_eager_ratio: number | null;
  readonly device_eager_ratio: number | null;
  readonly device_idle_ratio: number | null;
  readonly host_idle_ratio: number | null;
  readonly device_duty_cycle_ratio: number | null;
  readonly findings: readonly string[];
}

/** What a screen calls the categories of step time, in the order of their ids. */
export const CATEGORY_LABELS: Readonly<Record<string, string>> = {
  input: "Input",
  copy_to_device: "Copy to device",
  host_compute: "Host compute",
  dispatch: "Python, dispatch",
  kernel_launch: "Kernel launch",
  sync: "Synchronising",
  device_compute: "Device compute",
  device_to_device: "Device to device",
  device_collectives: "Communication",
  output: "Output",
  compile: "Compilation",
  checkpoint: "Checkpoint",
  other: "Other",
};
export const CATEGORIES: readonly string[] = Object.keys(CATEGORY_LABELS);

/** Slice families in the order of their ids in the `names` table. */
export const FAMILIES = ["tfdata", "image", "conv", "elem", "reduce", "optim", "move", "runtime", "python"] as const;
