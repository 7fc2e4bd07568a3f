/** A row of the op table -> its cells on the screen and in a CSV file. */

import type { Cell } from "../core/csv";
import { formatCount, formatNumber, plural } from "../core/format";
import { type OpRow, opCategory } from "../core/ops";
import { h } from "../draw/dom";
import type { GridColumn } from "../draw/grid_column";

export interface RankedOp extends OpRow {
  readonly rank: number;
}

/** What cells need to know beyond their row; read when a cell is drawn. */
export interface OpLook {
  /** Name -> name cut to the width of its column. */
  readonly cuts: ReadonlyMap<string, string>;
  /** The same for types. */
  readonly typeCuts: ReadonlyMap<string, string>;
  /** Self time that fills a bar. */
  readonly maxSelfPs: number;
  readonly isByType: boolean;
  readonly familyOf: (op: number) => string;
}

export function opColumns(look: () => OpLook): GridColumn<RankedOp>[] {
  return [...identityColumns(look), COUNT, ...selfTimeColumns(look), ...TOTAL_TIME];
}

/** Which op a row is about. */
function identityColumns(look: () => OpLook): GridColumn<RankedOp>[] {
  return [
    {
      id: "rank",
      title: "#",
      tip: "Rank by self time",
      width: 36,
      isRight: true,
      value: (row) => -row.rank,
      cell: (row) => String(row.rank),
    },
    {
      id: "type",
      title: "Type",
      width: 152,
      narrowWidth: 132,
      value: (row) => row.type,
      cell: (row) => titled(look().typeCuts.get(row.type) ?? row.type, row.type),
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

const COUNT: GridColumn<RankedOp> = {
  id: "count",
  title: "Count",
  tip: "Occurrences in the range",
  width: 60,
  isRight: true,
  value: (row) => row.occurrences,
  cell: (row) => formatCount(row.occurrences),
};

/** Time in the op itself, and its shares. */
function selfTimeColumns(look: () => OpLook): GridColumn<RankedOp>[] {
  return [
    {
      id: "self",
      title: "Self time, ms",
      tip: "Time in the op itself, without the ops inside it",
      width: 250,
      narrowWidth: 158,
      value: (row) => row.selfPs,
      cell: (row) => barCell(row, look()),
    },
    {
      id: "ratio",
      title: "Self, %",
      tip: "Of the self time of all ops; of one side where only host or device is shown",
      width: 58,
      isRight: true,
      value: (row) => row.selfRatio,
      cell: (row) => percent(row.selfRatio),
    },
    {
      id: "cumulative",
      title: "Up to here, %",
      tip: "Self time of this and all larger ops",
      width: 90,
      isRight: true,
      isOptional: true,
      value: (row) => row.cumulativeRatio,
      cell: (row) => percent(row.cumulativeRatio),
    },
  ];
}

/** Time with the ops inside it. */
const TOTAL_TIME: readonly GridColumn<RankedOp>[] = [
  {
    id: "total",
    title: "Total, ms",
    tip: "Time from start to end, with the ops inside it",
    width: 74,
    isRight: true,
    isOptional: true,
    value: (row) => row.totalPs,
    cell: (row) => formatNumber(row.totalPs / 1e9),
  },
  {
    id: "average",
    title: "Average, µs",
    tip: "Total time per occurrence",
    width: 84,
    isRight: true,
    isOptional: true,
    value: (row) => averageUs(row, row.totalPs),
    cell: (row) => formatNumber(averageUs(row, row.totalPs)),
  },
];

function averageUs(row: RankedOp, ps: number): number {
  return row.occurrences > 0 ? ps / row.occurrences / 1e6 : 0;
}

function nameCell(row: RankedOp, { isByType, cuts }: OpLook): Node {
  if (row.isIdle) return h("span", { class: "q" }, "no op running");
  if (isByType) return h("span", { class: "q" }, plural(row.nOps, "op"));
  return titled(cuts.get(row.name) ?? row.name, row.isEager ? `${row.name}\n(runs eagerly)` : row.name);
}

function barCell(row: RankedOp, { familyOf, maxSelfPs }: OpLook): Node {
  const share = maxSelfPs > 0 ? (row.selfPs / maxSelfPs) * 100 : 0;
  const bar = h("i");
  bar.style.width = row.selfPs > 0 ? `max(1px, ${share}%)` : "0";
  bar.style.background = `var(--c-${opCategory(row, row.isIdle ? "runtime" : familyOf(row.op))})`;
  return h("div", { class: "tfp-bar-cell" }, h("span", {}, formatNumber(row.selfPs / 1e9)), bar);
}

function titled(text: string, title: string): Node {
  return h("span", { title }, text);
}

function percent(ratio: number): string {
  return formatNumber(ratio * 100);
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
];

export function csvRow(row: RankedOp): Cell[] {
  const where = row.device ? "device" : "host";
  const us = [row.totalPs / 1e6, averageUs(row, row.totalPs), row.selfPs / 1e6, averageUs(row, row.selfPs)];
  const shares = [row.selfRatio, row.cumulativeRatio];
  return [row.rank, where, row.type, row.name, row.nOps, row.occurrences, ...us, ...shares, row.isEager];
}
