/** A row of the op table -> its cells on the screen and in a CSV file. */

import { type OpRow, opCategory } from "../../model/ops/ops";
import type { Cell } from "../../model/text/csv";
import { formatNumber, plural } from "../../model/text/format";
import { EMPTY_TABLE, type Table } from "../../model/wire/wire";
import { barCell, countColumn, numberColumn, percent, rankColumn, titled } from "../../ui/cells";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";

export interface RankedOp extends OpRow {
  readonly rank: number;
}

/** What cells need to know beyond their row; read when a cell is drawn. */
export interface OpLook {
  /** A name or type cut to the width of its column. */
  readonly cut: (id: string, text: string) => string;
  /** Self time that fills a bar. */
  readonly maxSelfPs: number;
  readonly isByType: boolean;
  readonly familyOf: (op: number) => string;
}

/** What is known of the work of each op over the whole capture, by op id; NaN unknown. */
export type OpRates = Readonly<Record<"gflops" | "gibps" | "tensorCore", ArrayLike<number>>>;

export function opColumns(look: () => OpLook, rates: OpRates): GridColumn<RankedOp>[] {
  const count = countColumn<RankedOp>("Occurrences in the range");
  return [...identityColumns(look), count, ...selfTimeColumns(look), ...TOTAL_TIME, ...rateColumns(rates)];
}

export function opRates(table: Table | undefined): OpRates {
  const { columns } = table ?? EMPTY_TABLE;
  const column = (name: string) => (columns[name] as Float64Array | undefined) ?? [];
  return {
    ...{ gflops: column("flop_rate_gflops"), gibps: column("memory_bandwidth_gibps") },
    tensorCore: column("tensor_core_ratio"),
  };
}

/** The rate of the one op that a row stands for. */
function rateOf(rates: ArrayLike<number>, row: RankedOp): number {
  return row.name && !row.isIdle ? (rates[row.op] ?? Number.NaN) : Number.NaN;
}

/** Only what the trace tells of any op. */
function rateColumns({ gflops, gibps, tensorCore }: OpRates): GridColumn<RankedOp>[] {
  const isKnown = (rates: ArrayLike<number>) => Array.from(rates).some(Number.isFinite);
  const over = "over total time in the whole capture, as the trace says or else estimated from the compiled program";
  // Else too little is left for the names.
  const shownFrom = 1240;
  const used = "Part of the op's kernel time in the whole capture that ran on Tensor Cores";
  const columns: [ArrayLike<number>, GridColumn<RankedOp>][] = [
    [
      gflops,
      numberColumn({ id: "gflops", title: "GFLOP/s", tip: `Operations ${over}`, width: 68, shownFrom }, (row) =>
        rateOf(gflops, row),
      ),
    ],
    [
      gibps,
      numberColumn(
        { id: "gibps", title: "GiB/s", tip: `Bytes read and written ${over}`, width: 58, shownFrom },
        (row) => rateOf(gibps, row),
      ),
    ],
    [
      tensorCore,
      numberColumn(
        { id: "tensor", title: "Tensor, %", tip: used, width: 72, shownFrom },
        (row) => rateOf(tensorCore, row),
        percent,
      ),
    ],
  ];
  return columns.filter(([rates]) => isKnown(rates)).map(([, column]) => column);
}

/** Which op a row is about. */
function identityColumns(look: () => OpLook): GridColumn<RankedOp>[] {
  return [
    rankColumn<RankedOp>("Rank by self time"),
    {
      id: "type",
      title: "Type",
      width: 152,
      narrowWidth: 132,
      value: (row) => row.type,
      cell: (row) => titled(look().cut("type", row.type), row.type),
    },
    { id: "name", title: "Name", value: (row) => row.name || row.type, cell: (row) => nameCell(row, look()) },
    {
      id: "where",
      title: "Where",
      width: 58,
      value: (row) => row.device,
      cell: (row) => (row.device ? "device" : "host"),
    },
  ];
}

/** Time in the op itself, and its shares. */
function selfTimeColumns(look: () => OpLook): GridColumn<RankedOp>[] {
  const ofAll = "Of the self time of all ops; of one side where only host or device is shown";
  const upTo = "Self time of this and all larger ops";
  return [
    {
      id: "self",
      title: "Self time, ms",
      tip: "Time in the op itself, without the ops inside it",
      width: 250,
      narrowWidth: 158,
      value: (row) => row.selfPs,
      cell: (row) => selfCell(row, look()),
    },
    numberColumn(
      { id: "ratio", title: "Self, %", tip: ofAll, width: 58, isOptional: false },
      (row) => row.selfRatio,
      percent,
    ),
    numberColumn(
      { id: "cumulative", title: "Up to here, %", tip: upTo, width: 90 },
      (row) => row.cumulativeRatio,
      percent,
    ),
  ];
}

/** Time with the ops inside it. */
const TOTAL_TIME: readonly GridColumn<RankedOp>[] = [
  numberColumn(
    { id: "total", title: "Total, ms", tip: "Time from start to end, with the ops inside it", width: 74 },
    (row) => row.totalPs / 1e9,
  ),
  numberColumn({ id: "average", title: "Average, µs", tip: "Total time per occurrence", width: 84 }, (row) =>
    averageUs(row, row.totalPs),
  ),
];

function averageUs(row: RankedOp, ps: number): number {
  return row.occurrences > 0 ? ps / row.occurrences / 1e6 : 0;
}

function nameCell(row: RankedOp, { isByType, cut }: OpLook): Node {
  if (row.isIdle) return h("span", { class: "q" }, "no op running");
  if (isByType) return h("span", { class: "q" }, plural(row.nOps, "op"));
  return titled(cut("name", row.name), row.isEager ? `${row.name}\n(runs eagerly)` : row.name);
}

function selfCell(row: RankedOp, { familyOf, maxSelfPs }: OpLook): Node {
  const share = maxSelfPs > 0 ? row.selfPs / maxSelfPs : 0;
  const color = `var(--c-${opCategory(row, row.isIdle ? "runtime" : familyOf(row.op))})`;
  return barCell(formatNumber(row.selfPs / 1e9), [{ share, color }]);
}

/** The columns of `Profile.ops`, and the number of ops behind a row by type. */
export const CSV_HEADER = [
  "rank",
  "device",
  "type",
  "name",
  "n_ops",
  "occurrences",
  "total_time_us",
  "avg_time_us",
  "total_self_time_us",
  "avg_self_time_us",
  "self_time_ratio",
  "cumulative_ratio",
  "eager",
  "flop_rate_gflops",
  "memory_bandwidth_gibps",
  "tensor_core_ratio",
];

export function csvRow(row: RankedOp, rates: OpRates): Cell[] {
  const where = row.device ? "device" : "host";
  const us = [row.totalPs / 1e6, averageUs(row, row.totalPs), row.selfPs / 1e6, averageUs(row, row.selfPs)];
  const shares = [row.selfRatio, row.cumulativeRatio];
  const work = [rates.gflops, rates.gibps, rates.tensorCore].map((known) => rateOf(known, row));
  const known = work.map((rate) => (Number.isFinite(rate) ? rate : ""));
  return [row.rank, where, row.type, row.name, row.nOps, row.occurrences, ...us, ...shares, row.isEager, ...known];
}
