/** A row of the op table -> its cells on the screen and in a CSV file. */

import { opCategory } from "../../colors/op_colors";
import type { OpRow } from "../../model/ops/ops";
import type { CsvColumns } from "../../model/text/csv";
import { plural } from "../../model/text/format";
import { EMPTY_TABLE, type Table } from "../../model/wire/wire";
import { countColumn, nameColumn, numberColumn, rankColumn, textColumn, titled } from "../../ui/cells";
import type { GridColumn } from "../../ui/grid_column";
import { averageColumn, selfColumn, TIMES_CSV, totalColumn } from "../../ui/op_columns";

export interface RankedOp extends OpRow {
  readonly rank: number;
}

/** What is known of the work of each op over the whole capture, by op id; NaN unknown. */
export type OpRates = Readonly<Record<"gflops" | "gibps" | "tensorCore", ArrayLike<number>>>;

export function opRates(table: Table | undefined): OpRates {
  const { columns } = table ?? EMPTY_TABLE;
  const column = (name: string) => (columns[name] as Float64Array | undefined) ?? [];
  return {
    ...{ gflops: column("flop_rate_gflops"), gibps: column("memory_bandwidth_gibps") },
    tensorCore: column("tensor_core_ratio"),
  };
}

/**
 * @param isByType whether a row is of a type now
 * @param isOfBothSides whether the rows are of the host and of devices
 * @param familyOf slice family of an op, for its colour
 */
export function opColumns(
  isByType: () => boolean,
  isOfBothSides: () => boolean,
  familyOf: (op: number) => string,
  rates: OpRates,
): GridColumn<RankedOp>[] {
  const color = (row: RankedOp) => `var(--c-${opCategory(row, row.isIdle ? "runtime" : familyOf(row.op))})`;
  const ofSide = "Of the self time of all ops of its side, device or host";
  const upTo = "Self time of this and all larger ops of its side";
  return [
    rankColumn("Rank by self time"),
    nameColumn({ id: "type", title: "Type", width: 152, narrowWidth: 132 }, (row) => row.type),
    opColumn(isByType),
    textColumn({ id: "where", title: "Where", width: 58, value: (row) => row.device }, whereOf),
    countColumn("Occurrences in the range"),
    selfColumn(250, 158, color),
    numberColumn(
      { id: "ratio", title: "Of side, %", tip: ofSide, width: 58, isOptional: false },
      (row) => row.selfRatio * 100,
    ),
    numberColumn(
      { id: "cumulative", title: "Cumulative, %", tip: upTo, width: 90 },
      // Of two sides in one list it would go up and down.
      (row) => (isOfBothSides() ? Number.NaN : row.cumulativeRatio * 100),
    ),
    totalColumn(),
    averageColumn("Total time per occurrence"),
    ...rateColumns(rates),
  ];
}

function opColumn(isByType: () => boolean): GridColumn<RankedOp> {
  const names = ({ name }: RankedOp) => name;
  return {
    ...{ id: "name", title: "Name", names, value: (row) => row.name || row.type },
    cell: (row, { cut }) => {
      if (row.isIdle) return titled("no op running", "", true);
      if (isByType()) return titled(plural(row.nOps, "op"), "", true);
      return titled(cut(row.name), row.isEager ? `${row.name}\n(runs eagerly)` : row.name);
    },
  };
}

/** The rate of the one op that a row stands for. */
function rateOf(rates: ArrayLike<number>, row: RankedOp): number {
  return row.name && !row.isIdle ? (rates[row.op] ?? Number.NaN) : Number.NaN;
}

/** Only what the trace tells of any op. */
function rateColumns({ gflops, gibps, tensorCore }: OpRates): GridColumn<RankedOp>[] {
  const over = "over total time in the whole capture, as the trace says or else estimated from the compiled program";
  const used = "Part of the op's kernel time in the whole capture that ran on Tensor Cores";
  const column = (
    head: { id: string; title: string; tip: string; width: number },
    rates: ArrayLike<number>,
    scale = 1,
  ) =>
    Array.from(rates).some(Number.isFinite)
      ? // Else too little is left for the names.
        [numberColumn<RankedOp>({ ...head, shownFrom: 1240 }, (row) => rateOf(rates, row) * scale)]
      : [];
  return [
    ...column({ id: "gflops", title: "GFLOP/s", tip: `Operations ${over}`, width: 68 }, gflops),
    ...column({ id: "gibps", title: "GiB/s", tip: `Bytes read and written ${over}`, width: 58 }, gibps),
    ...column({ id: "tensor", title: "Tensor Core, %", tip: used, width: 104 }, tensorCore, 100),
  ];
}

function whereOf({ device }: RankedOp): string {
  return device ? "device" : "host";
}

/** The columns of `Profile.ops`, and the number of ops behind a row by type. */
export function opCsv({ gflops, gibps, tensorCore }: OpRates): CsvColumns<RankedOp> {
  return {
    rank: (row) => row.rank,
    device: whereOf,
    type: (row) => row.type,
    name: (row) => row.name,
    n_ops: (row) => row.nOps,
    ...TIMES_CSV,
    self_time_ratio: (row) => row.selfRatio,
    cumulative_ratio: (row) => row.cumulativeRatio,
    eager: (row) => row.isEager,
    flop_rate_gflops: (row) => rateOf(gflops, row),
    memory_bandwidth_gibps: (row) => rateOf(gibps, row),
    tensor_core_ratio: (row) => rateOf(tensorCore, row),
  };
}
