/** The heat of lines and buckets -> rows of a CSV file. */

import type { BucketHeat, Heat, LineHeat, SourceHeat } from "../../model/ops/source_lines";
import type { CsvColumns } from "../../model/text/csv";

/** A line of a file, or a bucket. */
export type SourceRow = Heat & Partial<LineHeat & BucketHeat> & { readonly path?: string | undefined };

/** Lines by file and number, then the buckets. */
export function sourceRows({ files, buckets }: SourceHeat, paths: readonly string[]): SourceRow[] {
  const lines = files.flatMap(({ file, lines: own }) =>
    [...own.values()].sort((a, b) => a.line - b.line).map((line) => ({ ...line, path: paths[file] })),
  );
  return [...lines, ...buckets];
}

/** @param wholePs self time of all ops */
export function sourceCsv(wholePs: number, opName: (op: number) => string): CsvColumns<SourceRow> {
  return {
    file: (row) => row.path,
    line: (row) => row.line ?? 0,
    function: (row) => row.functions?.join(" "),
    code: (row) => row.code,
    bucket: (row) => row.bucket,
    forward_time_us: (row) => row.forwardPs / 1e6,
    backward_time_us: (row) => row.backwardPs / 1e6,
    other_time_us: (row) => row.otherPs / 1e6,
    self_time_us: (row) => row.selfPs / 1e6,
    self_time_ratio: (row) => (wholePs > 0 ? row.selfPs / wholePs : 0),
    n_ops: (row) => row.ops.length,
    occurrences: (row) => row.occurrences,
    top_op: (row) => (row.ops.length > 0 ? opName(row.ops[0].op) : ""),
  };
}
