/** A row of the kernel table -> its cells on the screen and in a CSV file. */

import { type CsvColumns, fields } from "../../model/text/csv";
import { formatBytes, formatCount, plural } from "../../model/text/format";
import { countColumn, msBarColumn, nameColumn, numberColumn, rankColumn, titled } from "../../ui/cells";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { Grouping, KernelGroup } from "./groups";
import { type KernelRow, type TensorCore, tensorCore } from "./rows";

const TITLES: Readonly<Record<TensorCore, string>> = {
  used: "This kernel runs on Tensor Cores.",
  idle: "Tensor Cores could serve this op, but this kernel does not run on them: try mixed_float16 or TF32, and sizes that are multiples of 8.",
  none: "Tensor Cores serve matrix products and convolutions; this kernel makes none.",
};
/** Sorting by the column puts the finding first. */
const ORDER: Readonly<Record<TensorCore, number>> = { idle: 2, used: 1, none: 0 };

/** Widths of the table that leave some 200 px each to the names of kernel and op. */
const ROOM_PX = { launch: 1200, times: 1340, dimensions: 1520 };

/**
 * @param hasOps whether any kernel names its op
 * @param hasOccupancy whether the trace tells any occupancy
 * @param grouping what a row is now
 */
export function kernelColumns(
  hasOps: boolean,
  hasOccupancy: boolean,
  grouping: () => Grouping,
): GridColumn<KernelGroup>[] {
  const columns = [
    rankColumn<KernelGroup>("Rank by total time"),
    nameColumn<KernelGroup>(
      { id: "name", title: "Kernel" },
      ({ readable }) => readable,
      ({ name }) => name,
    ),
    ...(hasOps ? [opColumn(grouping)] : []),
    countColumn<KernelRow>("Executions in the range"),
    ...timeColumns(),
    ...launchColumns(),
  ];
  return hasOccupancy ? [...columns, occupancyColumn()] : columns;
}

function opColumn(grouping: () => Grouping): GridColumn<KernelGroup> {
  const tip = "The op that launched it; under XLA the one with the largest share in it";
  const title = (row: KernelRow) =>
    [row.op_name || "The trace names no op for it", row.op_type].filter(Boolean).join("\n");
  const name = ({ op_name }: KernelRow) => op_name;
  const isSingle = () => grouping() === "name";
  return {
    ...{ id: "op", title: "Op", tip, names: (row) => (isSingle() ? name(row) : "") },
    value: (row) => (isSingle() ? name(row) : row.nKernels),
    cell: (row, { cut }) =>
      isSingle()
        ? titled(cut(name(row)), title(row))
        : titled(plural(row.nKernels, "kernel"), row.ops.join("\n"), true),
  };
}

function timeColumns(): GridColumn<KernelRow>[] {
  const total = {
    id: "total",
    title: "Total, ms",
    tip: "Summed over streams and devices",
    width: 210,
    narrowWidth: 140,
  };
  const ratio = { id: "ratio", title: "Total, %", tip: "Of the time of all kernels", width: 62, isOptional: false };
  const ends = { width: 66, shownFrom: ROOM_PX.times };
  return [
    msBarColumn(
      total,
      ({ totalPs }) => totalPs,
      () => "var(--c-device_compute)",
    ),
    numberColumn(ratio, (row) => row.ratio * 100),
    tensorCoreColumn(),
    numberColumn({ id: "average", title: "Average, µs", width: 82 }, (row) => averagePs(row) / 1e6),
    numberColumn({ id: "min", title: "Min, µs", ...ends }, (row) => row.minPs / 1e6),
    numberColumn({ id: "max", title: "Max, µs", ...ends }, (row) => row.maxPs / 1e6),
  ];
}

function averagePs({ totalPs, occurrences }: KernelRow): number {
  return totalPs / occurrences;
}

function tensorCoreColumn(): GridColumn<KernelRow> {
  const tip = "What the kernel computes on; coloured where Tensor Cores could serve its op and do not";
  const cell = (row: KernelRow) => {
    const kind = tensorCore(row);
    return h("span", { class: `tfp-tc-${kind}`, title: TITLES[kind] }, row.unit || "–");
  };
  return { id: "tensor", title: "Computes on", tip, width: 124, value: (row) => ORDER[tensorCore(row)], cell };
}

function launchColumns(): GridColumn<KernelRow>[] {
  const [registers, shared] = ["Registers per thread", "Shared memory per block, static and dynamic"];
  const shownFrom = ROOM_PX.launch;
  return [
    numberColumn(
      { id: "registers", title: "Regs", tip: registers, width: 50, shownFrom },
      (row) => row.registers_per_thread,
      formatCount,
    ),
    numberColumn(
      { id: "shared", title: "Shared", tip: shared, width: 74, shownFrom },
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
  const cell = (row: KernelRow) => shortDimensions(text(row));
  return numberColumn({ id, title, tip, width: 92, shownFrom: ROOM_PX.dimensions, cell }, product);
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
export const KERNEL_CSV: CsvColumns<KernelGroup> = {
  ...fields<KernelRow>("rank", "name", "registers_per_thread", "shared_memory_bytes", "block_dim", "grid_dim"),
  ...fields<KernelRow>("occupancy_pct", "tensor_core_eligible", "uses_tensor_core", "unit"),
  ...fields<KernelRow>("op_name", "occurrences"),
  total_time_us: (row) => row.totalPs / 1e6,
  avg_time_us: (row) => averagePs(row) / 1e6,
  min_time_us: (row) => row.minPs / 1e6,
  max_time_us: (row) => row.maxPs / 1e6,
  op_type: (row) => row.op_type,
};
