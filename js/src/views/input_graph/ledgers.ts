/** Input ops and pipelines -> the rows and columns of the tables of the input view. */

import type { InputOp } from "../../model/input/input_ops";
import type { Latency } from "../../model/input/pipeline";
import { formatCount, formatMsNumber, formatPercent, formatTime } from "../../model/text/format";
import type { PipelineMeta } from "../../model/wire/meta";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { LedgerOptions, LedgerRow } from "../../ui/ledger";
import { categoryWords } from "./words";

type Parts<R extends LedgerRow> = Omit<LedgerOptions<R>, "onPick" | "isSelected">;
type Cut = (name: string) => string;

export type InputOpRow = InputOp & LedgerRow;

const share = <R>(id: string, title: string, tip: string, value: (row: R) => number): GridColumn<R> => ({
  id,
  title,
  tip,
  width: 72,
  narrowWidth: 60,
  isRight: true,
  value,
  cell: (row) => formatPercent(value(row)),
});

const ms = <R>(id: string, title: string, tip: string, value: (row: R) => number): GridColumn<R> => ({
  id,
  title,
  tip,
  width: 84,
  narrowWidth: 72,
  isRight: true,
  value,
  cell: (row) => formatMsNumber(value(row)),
});

function opColumns(cut: Cut): GridColumn<InputOpRow>[] {
  return [
    {
      id: "name",
      title: "Input op",
      value: (row) => row.name,
      cell: (row) => h("span", { title: row.name }, cut(row.name)),
    },
    {
      id: "count",
      title: "Count",
      tip: "Executions",
      width: 68,
      narrowWidth: 58,
      isRight: true,
      value: (row) => row.count,
      cell: (row) => formatCount(row.count),
    },
    ms("total", "Total, ms", "From begin to end, over all threads", (row) => row.totalPs),
    share(
      "total_share",
      "Total",
      "Of the self time of all input ops; ops within ops count twice",
      (row) => row.totalRatio,
    ),
    { ...ms<InputOpRow>("self", "Self, ms", "Without the ops that it calls", (row) => row.selfPs) },
    share("self_share", "Self", "Of the self time of all input ops", (row) => row.selfRatio),
    {
      id: "category",
      title: "Category",
      width: 124,
      narrowWidth: 112,
      value: (row) => row.category,
      cell: (row) => categoryWords(row.category).label,
    },
  ];
}

export function opLedger(): Parts<InputOpRow> {
  return {
    label: "Input ops",
    columns: (cut) => opColumns(cut),
    sortBy: "self",
    placeholder: "No input op ran in this range.",
    fileName: "input_ops.csv",
    csvHeader: ["op", "count", "total_time_ms", "total_time_ratio", "self_time_ms", "self_time_ratio", "category"],
    csvRow: (row) => [
      row.name,
      row.count,
      row.totalPs / 1e9,
      row.totalRatio,
      row.selfPs / 1e9,
      row.selfRatio,
      row.category,
    ],
  };
}

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

const time = (
  id: string,
  title: string,
  tip: string,
  value: (row: PipelineRow) => number,
): GridColumn<PipelineRow> => ({
  id,
  title,
  tip,
  width: 84,
  narrowWidth: 70,
  isRight: true,
  value: (row) => value(row) || 0,
  cell: (row) => (Number.isFinite(value(row)) ? formatTime(value(row)) : "–"),
});

const count = (
  id: string,
  title: string,
  tip: string,
  value: (row: PipelineRow) => number,
): GridColumn<PipelineRow> => ({
  id,
  title,
  tip,
  width: 82,
  narrowWidth: 66,
  isRight: true,
  value,
  cell: (row) => formatCount(value(row)),
});

function pipelineColumns(cut: Cut): GridColumn<PipelineRow>[] {
  return [
    {
      id: "name",
      title: "Pipeline",
      value: (row) => row.name,
      cell: (row) => h("span", { title: row.name }, cut(row.name)),
    },
    {
      id: "host",
      title: "Host",
      width: 90,
      isOptional: true,
      value: (row) => row.host,
      cell: (row) => h("span", { title: row.host }, row.host),
    },
    {
      id: "kind",
      title: "Kind",
      tip: "A host pipeline runs the program's code; a device pipeline hands its elements to a device",
      width: 62,
      isOptional: true,
      value: (row) => row.kind,
      cell: (row) => row.kind,
    },
    count("calls", "Calls", "Of its outermost iterator, in this range", (row) => row.nCalls),
    count("slow", "> 50 µs", "Calls longer than 50 µs: the training waits for those", (row) => row.nSlow),
    time("avg", "Average", "Of a call", (row) => row.avg),
    time("min", "Min", "The shortest call", (row) => row.min),
    time("max", "Max", "The longest call", (row) => row.max),
    {
      id: "bottleneck",
      title: "Bottleneck",
      width: 120,
      narrowWidth: 96,
      value: (row) => row.bottleneck,
      cell: (row) => h("span", { title: row.bottleneck }, row.bottleneck),
    },
  ];
}

export function pipelineLedger(): Parts<PipelineRow> {
  return {
    label: "Input pipelines",
    columns: (cut) => pipelineColumns(cut),
    sortBy: "max",
    placeholder: "No pipeline was called.",
    attributes: (row) => ({ "data-pipeline": String(row.index) }),
    fileName: "input_pipelines.csv",
    csvHeader: [
      "pipeline",
      "host",
      "kind",
      "n_calls",
      "n_slow_calls",
      "avg_latency_us",
      "min_latency_us",
      "max_latency_us",
      "bottleneck",
    ],
    csvRow: (row) => [
      row.name,
      row.host,
      row.kind,
      row.nCalls,
      row.nSlow,
      row.avg / 1e6,
      row.min / 1e6,
      row.max / 1e6,
      row.bottleneck,
    ],
  };
}
