/** A row of the kernel table -> its cells on the screen and in a CSV file. */

import type { Cell } from "../../model/text/csv";
import { formatBytes, formatCount, formatNumber } from "../../model/text/format";
import { barCell, countColumn, numberColumn, percent, rankColumn, titled } from "../../ui/cells";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import { type KernelRow, type TensorCore, tensorCore } from "./rows";

const MARKS: Readonly<Record<TensorCore, readonly [text: string, title: string]>> = {
  used: ["used", "The name of this kernel says that it runs on Tensor Cores."],
  idle: [
    "eligible, not used",
    "Tensor Cores could serve this op, but this kernel does not run on them: try mixed_float16 or TF32, and sizes that are multiples of 8.",
  ],
  none: ["–", "Tensor Cores serve matrix products and convolutions; this op is none."],
};
/** Sorting by the column puts the finding first. */
const ORDER: Readonly<Record<TensorCore, number>> = { idle: 2, used: 1, none: 0 };

/** Widths of the table that leave some 200 px each to the names of kernel and op. */
const ROOM_PX = { launch: 1200, times: 1340, dimensions: 1520 };

type Cut = (id: string, text: string) => string;

/**
 * @param maxPs time that fills a bar
 * @param hasOps whether any kernel names its op
 * @param hasOccupancy whether the trace tells any occupancy
 */
export function kernelColumns(
  cut: Cut,
  maxPs: () => number,
  { hasOps, hasOccupancy }: { hasOps: boolean; hasOccupancy: boolean },
): GridColumn<KernelRow>[] {
  const columns = [
    rankColumn<KernelRow>("Rank by total time"),
    nameColumn(cut),
    ...(hasOps ? [opColumn(cut)] : []),
    countColumn<KernelRow>("Executions in the range"),
    timeColumn(maxPs),
    ratioColumn(),
    tensorCoreColumn(),
    ...timeColumns(),
    ...launchColumns(),
  ];
  return hasOccupancy ? [...columns, occupancyColumn()] : columns;
}

function nameColumn(cut: Cut): GridColumn<KernelRow> {
  const cell = (row: KernelRow) => titled(cut("name", row.readable), row.name);
  return { id: "name", title: "Kernel", value: (row) => row.readable, cell };
}

function opColumn(cut: Cut): GridColumn<KernelRow> {
  const tip = "The TensorFlow op that launched it; under XLA the op with the largest share in it";
  const title = (row: KernelRow) =>
    [row.op_name || "The trace names no op for it", row.op_type].filter(Boolean).join("\n");
  const cell = (row: KernelRow) => titled(cut("op", row.op_name), title(row));
  return { id: "op", title: "Op", tip, value: (row) => row.op_name, cell };
}

function timeColumn(maxPs: () => number): GridColumn<KernelRow> {
  const cell = (row: KernelRow) => {
    const share = maxPs() > 0 ? row.totalPs / maxPs() : 0;
    return barCell(formatNumber(row.totalPs / 1e9), [{ share, color: "var(--c-device_compute)" }]);
  };
  return {
    ...{ id: "total", title: "Total, ms", tip: "Summed over streams and devices", width: 210, narrowWidth: 140 },
    value: (row) => row.totalPs,
    cell,
  };
}

function ratioColumn(): GridColumn<KernelRow> {
  const head = { id: "ratio", title: "Total, %", tip: "Of the time of all kernels", width: 62, isOptional: false };
  return numberColumn(head, (row) => row.ratio, percent);
}

function tensorCoreColumn(): GridColumn<KernelRow> {
  const tip = "Whether Tensor Cores serve the kernel, or could and do not";
  const cell = (row: KernelRow) => {
    const kind = tensorCore(row);
    const [text, title] = MARKS[kind];
    return h("span", { class: `tfp-tc-${kind}`, title }, text);
  };
  return { id: "tensor", title: "Tensor Cores", tip, width: 116, value: (row) => ORDER[tensorCore(row)], cell };
}

function timeColumns(): GridColumn<KernelRow>[] {
  const us = (ps: number) => formatNumber(ps / 1e6);
  return [
    numberColumn({ id: "average", title: "Average, µs", width: 82 }, (row) => row.totalPs / row.occurrences, us),
    numberColumn({ id: "min", title: "Min, µs", width: 66, shownFrom: ROOM_PX.times }, (row) => row.minPs, us),
    numberColumn({ id: "max", title: "Max, µs", width: 66, shownFrom: ROOM_PX.times }, (row) => row.maxPs, us),
  ];
}

function launchColumns(): GridColumn<KernelRow>[] {
  const [registers, shared] = ["Registers per thread", "Shared memory per block, static and dynamic"];
  return [
    numberColumn(
      { id: "registers", title: "Regs", tip: registers, width: 50, shownFrom: ROOM_PX.launch },
      (row) => row.registers_per_thread,
      formatCount,
    ),
    numberColumn(
      { id: "shared", title: "Shared", tip: shared, width: 74, shownFrom: ROOM_PX.launch },
      (row) => row.shared_memory_bytes,
      formatBytes,
    ),
    dimensions("block", "Block", "Threads per block: x, y, z", (row) => row.block_dim),
    dimensions("grid", "Grid", "Blocks: x, y, z", (row) => row.grid_dim),
  ];
}

function dimensions(id: string, title: string, tip: string, text: (row: KernelRow) => string): GridColumn<KernelRow> {
  const product = (row: KernelRow) =>
    text(row)
      .split(",")
      .reduce((n, part) => n * Number(part), 1);
  return {
    id,
    title,
    tip,
    width: 92,
    isRight: true,
    isOptional: true,
    shownFrom: ROOM_PX.dimensions,
    value: product,
    cell: (row) => shortDimensions(text(row)),
  };
}

/** "160,1,1" -> "160": dimensions of one at the end say nothing. */
export function shortDimensions(text: string): string {
  return text.replace(/(,1)+$/, "").replaceAll(",", "×");
}

function occupancyColumn(): GridColumn<KernelRow> {
  const tip =
    "Theoretical occupancy: warps that registers and shared memory leave room for, of the most a multiprocessor holds";
  return numberColumn(
    { id: "occupancy", title: "Occupancy, %", tip, width: 90 },
    (row) => row.occupancy_pct || Number.NaN,
  );
}

/** The columns of `Profile.kernels`. */
export const CSV_HEADER = [
  "rank",
  "name",
  "registers_per_thread",
  "shared_memory_bytes",
  "block_dim",
  "grid_dim",
  "occupancy_pct",
  "tensor_core_eligible",
  "uses_tensor_core",
  "op_name",
  "occurrences",
  "total_time_us",
  "avg_time_us",
  "min_time_us",
  "max_time_us",
  "op_type",
];

export function csvRow(row: KernelRow): Cell[] {
  const times = [row.totalPs, row.totalPs / row.occurrences, row.minPs, row.maxPs].map((ps) => ps / 1e6);
  const launch = [
    row.registers_per_thread,
    row.shared_memory_bytes,
    row.block_dim,
    row.grid_dim,
    row.occupancy_pct ?? "",
  ];
  const use = [row.tensor_core_eligible, row.uses_tensor_core];
  return [row.rank, row.name, ...launch, ...use, row.op_name, row.occurrences, ...times, row.op_type];
}
