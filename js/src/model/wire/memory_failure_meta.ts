/** A failed allocation, as views/payload/memory_failure_meta.py tells it. */

/** What held the memory at the moment of a failure, by one of op, layer or line: its first rows. */
export interface FailureTable {
  readonly title: string;
  /** Rows that there are. */
  readonly n: number;
  readonly rows: readonly FailureRow[];
}

export interface FailureRow {
  readonly name: string;
  readonly full: string;
  /** Shape of the largest tensor, or the text of the line. */
  readonly detail: string;
  readonly bytes: number;
  readonly ratio: number;
  readonly count: number;
  /** Names of ops to select, as many as there is room for, of `n_ops`. */
  readonly ops: readonly string[];
  readonly n_ops: number;
}

/** A failed allocation; null for what is not known. `MemoryFailure` in Python tells what each field is. */
export interface MemoryFailureMeta {
  readonly sentence: string;
  readonly message: string;
  readonly requested_bytes: number | null;
  readonly in_use_bytes: number | null;
  readonly capacity_bytes: number | null;
  readonly largest_free_bytes: number | null;
  readonly fragmentation_ratio: number | null;
  readonly allocator: string;
  readonly step: number;
  readonly at_ps: number | null;
  readonly tables: readonly FailureTable[];
  readonly actions: readonly { readonly words: string; readonly code: string; readonly detail: string }[];
}
