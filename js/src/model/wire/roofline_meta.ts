/** Types of the work on GPUs as it travels: what `views/payload/roofline_meta.py` writes. Rates are a second. */

type Numbers = readonly (number | null)[];

export interface RooflineMeta {
  /** What kernels compute on, and how many float operations the device does on it at most. */
  readonly kinds: readonly { readonly text: string; readonly peak: number | null }[];
  /** To and from the memory of the device, at most. */
  readonly bytes_per_s: number | null;
  /** The ops of the whole capture with most time. */
  readonly ops: {
    readonly name: readonly string[];
    readonly layer: readonly string[];
    /** Of its kernels. */
    readonly time_us: readonly number[];
    readonly time_ratio: readonly number[];
    readonly occurrences: readonly number[];
    /** Of all executions, as the bytes. */
    readonly flops: Numbers;
    readonly bytes: Numbers;
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
  /** Of how many those are. */
  readonly n_ops: number;
  /** For each step of all hosts its float operations, and their part of what the device could do meanwhile; null unknown. */
  readonly step_flops: Numbers;
  readonly step_mfu: Numbers;
}
