/** Input ops and pipelines -> the rows and columns of the tables of the input view. */

import type { InputOp } from "../../model/input/input_ops";
import type { Latency } from "../../model/input/pipeline";
import { formatAmount, formatCount, formatPercent, formatTime } from "../../model/text/format";
import type { PipelineMeta } from "../../model/wire/meta";
import { nameColumn, numberColumn, textColumn } from "../../ui/cells";
import type { GridColumn } from "../../ui/grid_column";
import type { LedgerOptions, LedgerRow } from "../../ui/ledger";
import { categoryWords } from "./words";

type Parts<R extends LedgerRow> = Omit<LedgerOptions<R>, "onPick" | "isSelected">;

export type InputOpRow = InputOp & LedgerRow;

type Head = { id: string; title: string; tip: string };

const share = <R>(head: Head, value: (row: R) => number): GridColumn<R> =>
  numberColumn({ ...head, width: 72, narrowWidth: 60, isOptional: false }, value, formatPercent);

const ms = <R>(head: Head, value: (row: R) => number): GridColumn<R> =>
  numberColumn({ ...head, width: 124, narrowWidth: 116, isOptional: false }, (row) => value(row) / 1e9);

/** Of an iterator, in the graph as in the table. */
export const WORK = "Without the iterators that it takes elements from; what its function runs counts";

const OP_COLUMNS: readonly GridColumn<InputOpRow>[] = [
  nameColumn({ id: "name", title: "Input op" }, ({ name }) => name),
  numberColumn(
    { id: "count", title: "Count", tip: "Executions", width: 84, narrowWidth: 84, isOptional: false },
    (row) => row.count,
    formatAmount,
  ),
  ms({ id: "work", title: "Work, ms", tip: WORK }, (row) => row.workPs),
  share({ id: "share", title: "Work", tip: "Of the work of all input ops" }, (row) => row.workRatio),
  ms({ id: "waiting", title: "Waiting, ms", tip: "For the iterators that hand it elements" }, (row) => row.waitPs),
  ms({ id: "total", title: "Total, ms", tip: "Work and waiting, over all threads" }, (row) => row.totalPs),
  {
    ...{ id: "category", title: "Category", width: 124, narrowWidth: 112, value: (row) => row.category },
    cell: (row) => categoryWords(row.category).label,
  },
];

export const OP_LEDGER: Parts<InputOpRow> = {
  label: "Input ops",
  columns: OP_COLUMNS,
  sortBy: "work",
  placeholder: "No input op ran in this range.",
  fileName: "input_ops.csv",
  csv: {
    op: (row) => row.name,
    count: (row) => row.count,
    total_time_ms: (row) => row.totalPs / 1e9,
    work_time_ms: (row) => row.workPs / 1e9,
    waiting_time_ms: (row) => row.waitPs / 1e9,
    category: (row) => row.category,
  },
};

export interface PipelineRow extends LedgerRow, Latency {
  readonly index: number;
  readonly host: string;
  readonly kind: string;
  readonly bottleneck: string;
}

export function pipelineRow(pipeline: PipelineMeta, index: number, latency: Latency): PipelineRow {
  const { nodes, bottleneck } = pipeline;
  const root = nodes.find((node) => node.parent < 0) ?? nodes[0];
  return {
    ...latency,
    key: String(index),
    index,
    name: `${pipeline.name} · ${root?.long_name ?? ""}`,
    host: String(pipeline.host ?? ""),
    kind: pipeline.is_device ? "device" : "host",
    bottleneck: bottleneck === null ? "" : (nodes[bottleneck]?.name ?? ""),
  };
}

const time = (head: Head, value: (row: PipelineRow) => number): GridColumn<PipelineRow> => ({
  ...{ ...head, width: 84, narrowWidth: 70, isRight: true },
  value: (row) => value(row) || 0,
  cell: (row) => (Number.isFinite(value(row)) ? formatTime(value(row)) : "–"),
});

const count = (head: Head, value: (row: PipelineRow) => number): GridColumn<PipelineRow> =>
  numberColumn({ ...head, width: 82, narrowWidth: 66, isOptional: false }, value, formatCount);

const KIND = "A host pipeline runs the program's code; a device pipeline hands its elements to a device";

const PIPELINE_COLUMNS: readonly GridColumn<PipelineRow>[] = [
  nameColumn({ id: "name", title: "Pipeline" }, ({ name }) => name),
  textColumn({ id: "host", title: "Host", width: 90, isOptional: true }, (row) => row.host),
  textColumn({ id: "kind", title: "Kind", tip: KIND, width: 62, isOptional: true }, (row) => row.kind),
  count({ id: "calls", title: "Calls", tip: "Of its outermost iterator, in this range" }, (row) => row.nCalls),
  count(
    { id: "slow", title: "> 50 µs", tip: "Calls longer than 50 µs: the training waits for those" },
    (row) => row.nSlow,
  ),
  time({ id: "avg", title: "Average", tip: "Of a call" }, (row) => row.avg),
  time({ id: "min", title: "Min", tip: "The shortest call" }, (row) => row.min),
  time({ id: "max", title: "Max", tip: "The longest call" }, (row) => row.max),
  textColumn({ id: "bottleneck", title: "Bottleneck", width: 120, narrowWidth: 96 }, (row) => row.bottleneck),
];

export const PIPELINE_LEDGER: Parts<PipelineRow> = {
  label: "Input pipelines",
  columns: PIPELINE_COLUMNS,
  sortBy: "max",
  placeholder: "No pipeline was called.",
  attributes: (row) => ({ "data-pipeline": String(row.index) }),
  fileName: "input_pipelines.csv",
  csv: {
    pipeline: (row) => row.name,
    host: (row) => row.host,
    kind: (row) => row.kind,
    n_calls: (row) => row.nCalls,
    n_slow_calls: (row) => row.nSlow,
    avg_latency_us: (row) => row.avg / 1e6,
    min_latency_us: (row) => row.min / 1e6,
    max_latency_us: (row) => row.max / 1e6,
    bottleneck: (row) => row.bottleneck,
  },
};
