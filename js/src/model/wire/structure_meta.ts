/** Types of the graph of ops as it travels: what `views/payload/structure_meta.py` writes. */

/** Texts that repeat: each once, and its number for each row. */
export interface Coded {
  readonly texts: readonly string[];
  readonly codes: readonly number[];
}

/** As `views/payload/structure_meta.py` writes it. */
export interface StructureMeta {
  /** Why there is nothing else. */
  readonly problem?: string;
  readonly names: readonly string[];
  readonly types: Coded;
  readonly devices: Coded;
  readonly shapes: Coded;
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
  /** `n` tensors go from one op to the other; 0 where it only waits. */
  readonly edges: { readonly source: readonly number[]; readonly op: readonly number[]; readonly n: readonly number[] };
  /** Ops of the whole graph. */
  readonly n_ops: number;
  /** Of them those that are named, the first; further ones are sums of the others. */
  readonly n_named: number;
  readonly n_edges: number;
  /** For each op of the trace its row of `names`; -1 for none. */
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
