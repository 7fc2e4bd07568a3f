/** A row of the HLO table -> its cells on the screen and in a CSV file. */

import type { Cell } from "../../model/text/csv";
import { formatNumber, plural } from "../../model/text/format";
import { barCell, countColumn, numberColumn, percent, rankColumn, titled } from "../../ui/cells";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { Grouping, HloRow } from "./rows";

export interface HloLook {
  readonly cut: (id: string, text: string) => string;
  /** Self time that fills a bar. */
  readonly maxPs: number;
  readonly grouping: Grouping;
  readonly opOf: (row: HloRow) => { readonly name: string; readonly isOwn: boolean; readonly title: string };
}

export interface HloHas {
  readonly manyPrograms: boolean;
  readonly flops: boolean;
  readonly bytes: boolean;
  readonly source: boolean;
}

export function hloColumns(look: () => HloLook, has: HloHas): GridColumn<HloRow>[] {
  const columns = [
    rankColumn<HloRow>("Rank by self time"),
    categoryColumn(look),
    nameColumn(look),
    opColumn(look),
    countColumn<HloRow>("Executions in the range"),
    selfColumn(look),
    numberColumn<HloRow>(
      { id: "ratio", title: "Self, %", tip: "Of the self time of all HLO ops", width: 58, isOptional: false },
      (row) => row.ratio,
      percent,
    ),
    ...timeColumns(),
    ...rateColumns(has),
  ];
  if (has.source) columns.push(sourceColumn(look));
  if (has.manyPrograms) columns.push(programColumn(look));
  return columns;
}

function programColumn(look: () => HloLook): GridColumn<HloRow> {
  const text = (row: HloRow) => (look().grouping === "op" ? row.meta.program : "");
  const cell = (row: HloRow) => titled(look().cut("program", text(row)), text(row));
  return { id: "program", title: "Program", width: 140, isOptional: true, shownFrom: 1340, value: text, cell };
}

/** The file's name and the line; the path is on hover. */
function sourceColumn(look: () => HloLook): GridColumn<HloRow> {
  const text = (row: HloRow) => (look().grouping === "op" ? row.meta.source : "");
  const cell = (row: HloRow) => titled(text(row).replace(/^.*[\\/]/, ""), text(row));
  return { id: "source", title: "Source", width: 130, isOptional: true, shownFrom: 1340, value: text, cell };
}

function categoryColumn(look: () => HloLook): GridColumn<HloRow> {
  const text = (row: HloRow) => (look().grouping === "program" ? "" : row.meta.category);
  const cell = (row: HloRow) => titled(look().cut("category", text(row)), text(row));
  return { id: "category", title: "Category", width: 130, narrowWidth: 104, value: text, cell };
}

function nameColumn(look: () => HloLook): GridColumn<HloRow> {
  const cell = (row: HloRow) => {
    const { cut, grouping } = look();
    if (grouping === "op") return titled(cut("name", row.meta.name), row.meta.expression || row.meta.name);
    if (grouping === "program")
      return titled(cut("name", row.meta.program), `${row.meta.program}\n${plural(row.hlos.length, "HLO op")}`);
    return h("span", { class: "q" }, plural(row.hlos.length, "op"));
  };
  return { id: "name", title: "HLO op", value: (row) => row.meta.name, cell };
}

function opColumn(look: () => HloLook): GridColumn<HloRow> {
  const tip =
    "The TensorFlow op that the instruction was made from, of a fusion that of its result; grey where it names none: the op that its time counts for";
  const value = (row: HloRow) => (look().grouping === "op" ? look().opOf(row).name : "");
  const cell = (row: HloRow) => {
    if (look().grouping !== "op") return "";
    const { name, isOwn, title } = look().opOf(row);
    return h("span", { class: !isOwn && "q", title }, look().cut("op", name));
  };
  return { id: "op", title: "TensorFlow op", tip, value, cell };
}

function selfColumn(look: () => HloLook): GridColumn<HloRow> {
  const cell = (row: HloRow) => {
    const color = `var(--c-${row.meta.device === "Device" ? "device_compute" : "host_compute"})`;
    const { maxPs } = look();
    return barCell(formatNumber(row.selfPs / 1e9), [{ share: maxPs > 0 ? row.selfPs / maxPs : 0, color }]);
  };
  const tip = "Time in the op itself, without the ops inside it";
  return { id: "self", title: "Self time, ms", tip, width: 200, narrowWidth: 140, value: (row) => row.selfPs, cell };
}

function timeColumns(): GridColumn<HloRow>[] {
  const total = "Time from start to end, with the ops inside it";
  return [
    numberColumn(
      { id: "total", title: "Total, ms", tip: total, width: 74, shownFrom: 1240 },
      (row) => row.totalPs / 1e9,
    ),
    numberColumn({ id: "average", title: "Average, µs", tip: "Total time per execution", width: 84 }, (row) =>
      averageUs(row, row.totalPs),
    ),
  ];
}

function rateColumns(has: HloHas): GridColumn<HloRow>[] {
  const flops = "Floating point operations over total time, as the trace says or else estimated from the program";
  const bytes = "Bytes read and written over total time, as the trace says or else estimated from the program";
  return [
    ...(has.flops
      ? [numberColumn<HloRow>({ id: "gflops", title: "GFLOP/s", tip: flops, width: 70 }, (row) => row.gflops)]
      : []),
    ...(has.bytes
      ? [numberColumn<HloRow>({ id: "gibps", title: "GiB/s", tip: bytes, width: 62 }, (row) => row.gibps)]
      : []),
  ];
}

function averageUs(row: HloRow, ps: number): number {
  return row.occurrences > 0 ? ps / row.occurrences / 1e6 : 0;
}

/** The columns of `Profile.hlo_ops`, and the number of HLO ops behind a row of a group. */
export const CSV_HEADER = [
  "rank",
  "program_id",
  "module",
  "category",
  "name",
  "expression",
  "op_name",
  "op_type",
  "device",
  "n_hlo_ops",
  "occurrences",
  "total_time_us",
  "avg_time_us",
  "total_self_time_us",
  "avg_self_time_us",
  "self_time_ratio",
  "flop_rate_gflops",
  "memory_bandwidth_gibps",
  "source",
];

export function csvRow(row: HloRow, grouping: Grouping): Cell[] {
  const { meta } = row;
  const own = (text: string, ...where: Grouping[]) => (grouping === "op" || where.includes(grouping) ? text : "");
  const program = [own(meta.program_id, "program"), own(meta.module, "program"), own(meta.category, "category")];
  const op = [own(meta.name), own(meta.expression), own(meta.op_name), own(meta.op_type), meta.device];
  const times = [row.totalPs / 1e6, averageUs(row, row.totalPs), row.selfPs / 1e6, averageUs(row, row.selfPs)];
  const rates = [row.gflops, row.gibps].map((rate) => (Number.isFinite(rate) ? rate : ""));
  const counts = [row.hlos.length, row.occurrences];
  return [row.rank, ...program, ...op, ...counts, ...times, row.ratio, ...rates, own(meta.source)];
}
