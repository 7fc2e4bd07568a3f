/** Rows of tables, as Python declares and sends them. Made by `python -m tools.typescript`: not to be edited. */

/** A kernel by name, launch and op, most total time first. */
export interface KernelsRow {
  /** Its C++ signature. */
  readonly name: string;
  /** Of the launch. */
  readonly registers_per_thread: number;
  /** Static and dynamic, of a block. */
  readonly shared_memory_bytes: number;
  /** Threads of a block, `x,y,z`. */
  readonly block_dim: string;
  /** Blocks of the grid, `x,y,z`. */
  readonly grid_dim: string;
  /** Warps that may be active, of the most that the device holds. */
  readonly occupancy_pct: number;
  /** Whether Tensor Cores could serve its op, as told by the op's name. */
  readonly tensor_core_eligible: boolean;
  /** Whether it runs on Tensor Cores. */
  readonly uses_tensor_core: boolean;
  /** Such as `16-bit Tensor Core`, `32-bit vector` or `64-bit vector`; empty unknown. */
  readonly unit: string;
  /** The framework op that launched it, empty where the trace names none. */
  readonly op_name: string;
  /** How often it was executed. */
  readonly occurrences?: number;
  /** Time of all executions, with what ran inside. */
  readonly total_time_us?: number;
  /** The shortest execution. */
  readonly min_time_us?: number;
  /** The longest execution. */
  readonly max_time_us?: number;
  /** The type of that op, empty without. */
  readonly op_type: string;
}

/** The copies of one tensor, direction and kind of memory on GPUs, most exposed time first. */
export interface CopiesRow {
  /** `host to device`, `device to host`, `device to device` or `host to host`. */
  readonly direction: "host to device" | "device to host" | "device to device" | "host to host";
  /** Memory read: `pageable`, `pinned`, `device`, ...; empty where the trace does not tell. */
  readonly source: string;
  /** Memory written, likewise. */
  readonly destination: string;
  /** That made the tensor, else the one that copies; empty where the trace names none. */
  readonly op: string;
  /** The op that reads the tensor, empty where the trace does not tell. */
  readonly read_by: string;
  /** TensorFlow's name of the edge between the two, empty where there is none. */
  readonly tensor: string;
  /** Copies. */
  readonly occurrences: number;
  /** Of all of them, 0 where the trace does not tell. */
  readonly bytes: number;
  /** The mean; null where the trace does not tell. */
  readonly bytes_per_copy: number | null;
  /** On the device. */
  readonly total_time_ms: number;
  /** Bytes over that time, 10^9 a second; null where the trace does not tell. */
  readonly gb_per_s: number | null;
  /** The part beside kernels of the same device. */
  readonly hidden_time_ms: number;
  /** The part in which no kernel ran there. */
  readonly exposed_time_ms: number;
  /** Copies that bring back in a step what was copied to the host, or what was made of it there. */
  readonly round_trips: number;
}

/** An op of an XLA program, devices before the host, most self time first. */
export interface HloOpsRow {
  /** The program's name. */
  readonly module: string;
  /** Such as `convolution fusion`. */
  readonly category: string;
  /** Of the instruction. */
  readonly name: string;
  /** The instruction as HLO text. */
  readonly expression: string;
  /** The framework op it was compiled from, empty without. */
  readonly op_name: string;
  /** The type of that op, empty without. */
  readonly op_type: string;
  /** The side it ran on, `Device` or `Host`. */
  readonly device: string;
  /** Float operations of one execution; null where nothing is known. */
  readonly flops: number | null;
  /** Bytes that one execution reads and writes; null where nothing is known. */
  readonly bytes_accessed: number | null;
  /** `file:line` that made it, empty where nothing tells. */
  readonly source: string;
}

/** An op that ran on a GPU, most time first. */
export interface RooflineRow {
  /** Of the HLO instruction, or of the op where no program was compiled. */
  readonly name: string;
  /** The layer that it works for. */
  readonly layer: string;
  /** Time of its kernels, and of copies within memory, all executions. */
  readonly time_us: number;
  /** Part of the time of all. */
  readonly time_ratio: number;
  /** How often it was executed. */
  readonly occurrences: number;
  /** Float operations of all executions; null where nothing is known. */
  readonly flops: number | null;
  /** That they read and write; null where nothing is known. */
  readonly bytes: number | null;
}

/** A Keras layer, or what is in none, by side, most self time first. */
export interface LayersRow {
  /** Its path in the model, or what the row stands for. */
  readonly layer: string;
  /** The layer's class, empty where it is not known. */
  readonly class_name: string;
  /** `layer`, `loss`, `metrics`, `optimizer`, `input` or `other`. */
  readonly kind: "layer" | "loss" | "metrics" | "optimizer" | "input" | "other";
  /** Allocated during the capture, on devices where any tells; on its first row only. */
  readonly allocated_bytes: number | null;
  /** In use at the peak of the device's allocator, else the fullest; on its first row only. */
  readonly peak_bytes: number | null;
}

/** A line of your code, or what no line is charged with, by side, most self time first. */
export interface SourceLinesRow {
  /** Its path, or the title of a notebook's cell; empty for what is no line. */
  readonly file: string;
  /** Its number, 0 for what is no line. */
  readonly line: number;
  /** The function it is in. */
  readonly function: string;
  /** Its text. */
  readonly code: string;
  /** What a row without a line stands for; empty for a line. */
  readonly bucket: string;
}

/** A host that holds the others up, the costliest first. */
export interface StragglersRow {
  /** Its name. */
  readonly host: string;
  /** Of the step time, in which it exceeds the others most. */
  readonly category: string;
  /** Aligned steps in which it came last. */
  readonly n_steps: number;
  /** Aligned steps. */
  readonly n_aligned: number;
  /** Its own time over the median of the others, mean a step. */
  readonly excess_ms: number;
  /** How long the others wait for it, mean a step. */
  readonly cost_ms: number;
  /** That as part of the mean step time. */
  readonly cost_ratio: number;
}

/** An allocator; what is in use is that at its peak. */
export interface MemorySummaryRow {
  /** Its name, such as `GPU_0_bfc`. */
  readonly allocator: string;
  /** During the capture. */
  readonly n_allocations: number;
  /** During the capture. */
  readonly n_deallocations: number;
  /** In use and free together, on a host at most what the machine has; 0 where no limit is known. */
  readonly capacity_bytes: number;
  /** Most ever allocated, before the capture too. */
  readonly peak_heap_bytes: number;
  /** Most in use during the capture, stack and heap. */
  readonly peak_bytes: number;
  /** When that was, after the trace origin. */
  readonly peak_at_ms: number;
  /** Taken by the program's stack. */
  readonly stack_bytes: number;
  /** Allocated. */
  readonly heap_bytes: number;
  /** Not in use. */
  readonly free_bytes: number;
  /** 1 - largest free block / free bytes. */
  readonly fragmentation_ratio: number;
}

/** A tf.data pipeline, in order of first use. */
export interface InputPipelinePipelinesRow {
  /** The row. */
  readonly id: number;
  /** `Host:k` or `Device:k`. */
  readonly name: string;
  /** On which it ran. */
  readonly host: string;
  /** Whether it feeds a device from another pipeline. */
  readonly is_device: boolean;
  /** Of its root. */
  readonly n_calls: number;
  /** Of those over 50 µs. */
  readonly n_slow_calls: number;
  /** Of those calls. */
  readonly total_time_ms: number;
  /** Mean time of a call. */
  readonly avg_latency_us: number;
  /** The quickest call. */
  readonly min_latency_us: number;
  /** The slowest call. */
  readonly max_latency_us: number;
  /** Of first calls of an epoch, left out of what follows. */
  readonly startup_time_ms: number;
  /** Row of the iterators table, -1 for none. */
  readonly bottleneck: number;
  /** What to change; empty where the pipeline keeps up. */
  readonly suggestion: string;
  /** The pipeline in a sentence. */
  readonly summary: string;
}

/** A tf.data iterator, a consumer before what it consumes. */
export interface InputPipelineIteratorsRow {
  /** The row. */
  readonly id: number;
  /** Row of the consumer, -1 for a root. */
  readonly parent_id: number;
  /** Such as `Map`. */
  readonly name: string;
  /** With the iterators around it. */
  readonly long_name: string;
  /** Of all calls. */
  readonly total_time_ms: number;
  /** Its work: all calls without those it waited for, on whatever thread. */
  readonly self_time_ms: number;
  /** How many. */
  readonly calls: number;
  /** Whether it works ahead of its consumer. */
  readonly is_async: boolean;
  /** Whether it was waited for in half of the root's time or more. */
  readonly on_critical_path: boolean;
  /** Stats of its last call. */
  readonly params: unknown;
  /** Row of the pipelines table. */
  readonly pipeline: number;
  /** For how long the root call waited for its own work, without first calls. */
  readonly wait_time_ms: number;
  /** Names of their events. */
  readonly event_names: unknown;
  /** As last seen; null where the trace does not tell. */
  readonly buffer_size: number | null;
  /** All of these in words. */
  readonly settings: string;
}

/** A category of the step time. */
export interface OverviewBreakdownRow {
  /** As the columns of the steps table are called. */
  readonly category: string;
  /** Mean a step. */
  readonly ms: number;
  /** Part of the step time. */
  readonly ratio: number;
}
