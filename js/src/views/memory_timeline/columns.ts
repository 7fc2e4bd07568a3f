/** A holder of memory -> its cells on the screen. */

import { type LiveGroup, STACK } from "../../model/memory/memory";
import { formatCount, formatNumber } from "../../model/text/format";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";

export interface Holder extends LiveGroup {
  readonly rank: number;
  readonly name: string;
  readonly regionName: string;
  readonly dtypeName: string;
  readonly shapeName: string;
}

/** What cells need to know beyond their row; read when a cell is drawn. */
export interface HolderLook {
  /** Name -> name cut to the width of its column. */
  readonly cuts: ReadonlyMap<string, string>;
  /** Bytes of the unit that sizes are shown in, and its name. */
  readonly unit: readonly [number, string];
  /** Bytes that fill a bar. */
  readonly maxBytes: number;
}

export function holderColumns(look: () => HolderLook): GridColumn<Holder>[] {
  return [...identityColumns(look), ...sizeColumns(look), ...TENSOR];
}

/** Who holds. */
function identityColumns(look: () => HolderLook): GridColumn<Holder>[] {
  return [
    { id: "rank", title: "#", width: 36, isRight: true, value: (row) => -row.rank, cell: (row) => String(row.rank) },
    { id: "name", title: "Held by", value: (row) => row.name, cell: (row) => nameCell(row, look()) },
  ];
}

/** How much is held, in how many allocations. */
function sizeColumns(look: () => HolderLook): GridColumn<Holder>[] {
  return [
    {
      id: "allocated",
      title: "Allocated",
      tip: "Bytes taken from the allocator, summed over the allocations of the row",
      width: 240,
      narrowWidth: 136,
      value: (row) => row.allocatedBytes,
      cell: (row) => barCell(row, look()),
    },
    {
      id: "requested",
      title: "Requested",
      tip: "Bytes the op asked for",
      width: 102,
      isRight: true,
      isOptional: true,
      value: (row) => row.requestedBytes,
      cell: (row) => inUnit(row.requestedBytes, look()),
    },
    {
      id: "count",
      title: "Count",
      tip: "Allocations",
      width: 56,
      isRight: true,
      value: (row) => row.count,
      cell: (row) => formatCount(row.count),
    },
  ];
}

/** Which tensors they are. */
const TENSOR: readonly GridColumn<Holder>[] = [
  {
    id: "region",
    title: "Region",
    width: 76,
    narrowWidth: 60,
    value: (row) => row.regionName,
    cell: (row) => row.regionName,
  },
  {
    id: "dtype",
    title: "Type",
    width: 66,
    narrowWidth: 52,
    value: (row) => row.dtypeName,
    cell: (row) => row.dtypeName,
  },
  {
    id: "shape",
    title: "Shape",
    width: 124,
    narrowWidth: 96,
    value: (row) => row.shapeName,
    cell: (row) => h("span", { title: row.shapeName }, row.shapeName),
  },
];

/** All sizes of a table share a unit, so the smallest are only told to be small. */
export function inUnit(bytes: number, { unit }: Pick<HolderLook, "unit">): string {
  const value = bytes / unit[0];
  return value > 0 && value < 0.001 ? "<0.001" : formatNumber(value);
}

function nameCell(row: Holder, { cuts }: HolderLook): Node {
  const isOp = row.op >= 0;
  return h("span", { title: row.name, class: isOp ? undefined : "q" }, cuts.get(row.name) ?? row.name);
}

function barCell(row: Holder, look: HolderLook): Node {
  return byteBar(row.allocatedBytes, look, row.op === STACK ? "stack" : "heap");
}

/** Bytes as a number and a bar. */
export function byteBar(bytes: number, look: Pick<HolderLook, "unit" | "maxBytes">, layer: "stack" | "heap"): Node {
  const bar = h("i");
  bar.style.width = `max(1px, ${(bytes / (look.maxBytes || 1)) * 100}%)`;
  bar.style.background = `var(--m-${layer})`;
  return h("div", { class: "tfp-bar-cell" }, h("span", {}, inUnit(bytes, look)), bar);
}
