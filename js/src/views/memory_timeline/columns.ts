/** A holder of memory -> its cells on the screen and in a CSV file. */

import { type LiveGroup, STACK } from "../../model/memory/memory";
import type { CsvColumns } from "../../model/text/csv";
import { formatCount, formatNumber } from "../../model/text/format";
import { barColumn, nameColumn, numberColumn, rankColumn, textColumn } from "../../ui/cells";
import type { GridColumn } from "../../ui/grid_column";
import type { LedgerRow } from "../../ui/ledger";

export interface Holder extends LedgerRow, Pick<LiveGroup, "count" | "allocatedBytes" | "requestedBytes"> {
  readonly rank: number;
  /** Name id of the first of its ops, or what stands for no op. */
  readonly op: number;
  /** Names of its ops. */
  readonly ops: readonly string[];
  readonly regionName: string;
  readonly dtypeName: string;
  readonly shapeName: string;
}

/** Bytes of the unit that the sizes of a table are shown in, and its name. */
export type ByteUnit = readonly [number, string];

/** @param unit the unit now */
export function holderColumns(unit: () => ByteUnit): GridColumn<Holder>[] {
  const size = (bytes: number) => inUnit(bytes, unit());
  const allocated = "Bytes taken from the allocator, summed over the allocations of the row";
  return [
    rankColumn(),
    nameColumn(
      { id: "name", title: "In memory" },
      ({ name }) => name,
      ({ name }) => name,
      ({ op }) => op < 0,
    ),
    barColumn(
      { id: "allocated", title: "Allocated", tip: allocated, width: 240, narrowWidth: 136 },
      (row) => row.allocatedBytes,
      size,
      ({ op }) => `var(--m-${op === STACK ? "stack" : "heap"})`,
    ),
    numberColumn(
      { id: "requested", title: "Requested", tip: "Bytes the op asked for", width: 102 },
      (row) => row.requestedBytes,
      size,
    ),
    numberColumn(
      { id: "count", title: "Count", tip: "Allocations", width: 56, isOptional: false },
      (row) => row.count,
      formatCount,
    ),
    textColumn({ id: "region", title: "Region", width: 76, narrowWidth: 60 }, (row) => row.regionName),
    textColumn({ id: "dtype", title: "Type", width: 66, narrowWidth: 52 }, (row) => row.dtypeName),
    textColumn({ id: "shape", title: "Shape", width: 124, narrowWidth: 96 }, (row) => row.shapeName),
  ];
}

/** @param when the moment that the rows are of now */
export function holderCsv(when: () => string): CsvColumns<Holder> {
  return {
    op: (row) => row.name,
    allocated_bytes: (row) => row.allocatedBytes,
    requested_bytes: (row) => row.requestedBytes,
    count: (row) => row.count,
    region: (row) => row.regionName,
    dtype: (row) => row.dtypeName,
    shape: (row) => row.shapeName,
    held: when,
  };
}

/** All sizes of a table share a unit, so the smallest are only told to be small. */
export function inUnit(bytes: number, [size]: ByteUnit): string {
  const value = bytes / size;
  return value > 0 && value < 0.001 ? "<0.001" : formatNumber(value);
}
