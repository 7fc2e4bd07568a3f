/** What was copied between host and devices, as views/payload/section_list.py lists it. */

/** Copies of one tensor, one way: a row of `Profile.copies`. */
export interface CopyMeta {
  /** Such as "host to device". */
  direction: string;
  /** Kinds of memory, such as "pageable"; "" where nobody knows. */
  source: string;
  destination: string;
  /** That made the tensor, and that reads it; "" where nobody knows. */
  op: string;
  read_by: string;
  tensor: string;
  occurrences: number;
  bytes: number;
  bytes_per_copy: number | null;
  total_time_ms: number;
  gb_per_s: number | null;
  hidden_time_ms: number;
  exposed_time_ms: number;
  round_trips: number;
}
