/** The heat of lines and buckets -> rows of a CSV file. */

import type { Heat, SourceHeat } from "../../model/ops/source_lines";
import type { Cell } from "../../model/text/csv";

export const CSV_HEADER = [
  "file",
  "line",
  "function",
  "code",
  "bucket",
  "forward_time_us",
  "backward_time_us",
  "other_time_us",
  "self_time_us",
  "self_time_ratio",
  "n_ops",
  "occurrences",
  "top_op",
];

export function* csvRows(
  heat: SourceHeat,
  files: readonly string[],
  opName: (op: number) => string,
): Generator<Cell[]> {
  const figures = (one: Heat): Cell[] => [
    ...[one.forwardPs, one.backwardPs, one.otherPs, one.selfPs].map((ps) => ps / 1e6),
    heat.wholePs > 0 ? one.selfPs / heat.wholePs : 0,
    one.ops.length,
    one.occurrences,
    one.ops.length > 0 ? opName(one.ops[0].op) : "",
  ];
  for (const { file, lines } of heat.files) {
    for (const line of [...lines.values()].sort((a, b) => a.line - b.line))
      yield [files[file] ?? "", line.line, line.functions.join(" "), line.code, "", ...figures(line)];
  }
  for (const bucket of heat.buckets) yield ["", 0, "", "", bucket.bucket, ...figures(bucket)];
}
