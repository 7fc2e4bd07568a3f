/** Memory by step, by allocation and by op that keeps it -> the rows and columns of the tables under the chart. */

import { byteUnit, type MemoryEvents } from "../../model/memory/memory";
import { AFTER_STEPS, type Unfreed } from "../../model/memory/memory_growth";
import { lifetimePs } from "../../model/memory/memory_lifetimes";
import type { MemoryStep } from "../../model/memory/memory_steps";
import { formatCount, formatMsNumber } from "../../model/text/format";
import { stepLabel } from "../../model/time/span_text";
import type { TraceMeta } from "../../model/wire/meta";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { LedgerOptions, LedgerRow } from "../../ui/ledger";
import { byteBar, inUnit } from "./columns";

/** The unit of all sizes of a table, and the bytes that fill a bar. */
export interface Scale {
  unit: readonly [number, string];
  maxBytes: number;
}

export function scaleOf(bytes: readonly number[]): Scale {
  const most = bytes.reduce((a, b) => Math.max(a, b), 0);
  return { unit: byteUnit(most), maxBytes: most };
}

export type StepRow = MemoryStep & LedgerRow;
export type UnfreedRow = Unfreed & LedgerRow;
export interface LifeRow extends LedgerRow {
  readonly bytes: number;
  readonly lifePs: number;
  readonly atPs: number;
  readonly stepName: string;
  readonly step: number;
  readonly region: string;
  readonly dtype: string;
  readonly shape: string;
}

type Parts<R extends LedgerRow> = Omit<LedgerOptions<R>, "onPick" | "isSelected">;
type Cut = (name: string) => string;

const bytesColumn = <R>(
  id: string,
  title: string,
  tip: string,
  value: (row: R) => number,
  scale: () => Scale,
): GridColumn<R> => ({
  id,
  title,
  tip,
  width: 92,
  narrowWidth: 76,
  isRight: true,
  value,
  cell: (row) => inUnit(value(row), scale()),
});

export const barColumn = <R>(
  id: string,
  title: string,
  tip: string,
  value: (row: R) => number,
  scale: () => Scale,
): GridColumn<R> => ({
  id,
  title,
  tip,
  width: 220,
  narrowWidth: 150,
  value,
  cell: (row) => byteBar(value(row), scale(), "heap"),
});

export const nameColumn = <R extends LedgerRow>(title: string, cut: Cut): GridColumn<R> => ({
  id: "name",
  title,
  value: (row) => row.name,
  cell: (row) => h("span", { title: row.name }, row.name ? cut(row.name) : "op not recorded"),
});

export function stepRow(step: MemoryStep, stepNames: readonly string[]): StepRow {
  return { ...step, key: String(step.step), name: `step ${stepLabel(stepNames, step.step)}` };
}

function stepColumns(scale: () => Scale): GridColumn<StepRow>[] {
  return [
    { id: "name", title: "Step", value: (row) => row.step, cell: (row) => row.name },
    barColumn("peak", "Peak", "Most in use during the step: stack and heap", (row) => row.peakBytes, scale),
    {
      id: "at",
      title: "at, ms",
      tip: "When, after the begin of the step",
      width: 74,
      isRight: true,
      value: (row) => row.peakAtPs - row.startPs,
      cell: (row) => formatMsNumber(row.peakAtPs - row.startPs),
    },
    bytesColumn("start", "Begin", "In use when the step begins", (row) => row.startBytes, scale),
    bytesColumn("end", "End", "In use when the step ends", (row) => row.endBytes, scale),
    {
      ...bytesColumn<StepRow>("growth", "Change", "End less begin", (row) => row.endBytes - row.startBytes, scale),
      cell: (row) => signed(row.endBytes - row.startBytes, scale()),
    },
    { ...countColumn("allocations", "Allocations", "Made in the step", (row: StepRow) => row.nAllocations) },
    {
      ...bytesColumn<StepRow>("allocated", "Allocated", "Sum over its allocations", (row) => row.allocatedBytes, scale),
      isOptional: true,
    },
  ];
}

export function stepLedger(scale: () => Scale): Parts<StepRow> {
  return {
    label: "Memory by step",
    columns: () => stepColumns(scale),
    sortBy: "peak",
    placeholder: "No step in this capture; the step chart says why.",
    attributes: (row) => ({ "data-step": String(row.step) }),
    fileName: "memory_steps.csv",
    csvHeader: [
      "step",
      "peak_bytes",
      "peak_at_ms",
      "start_bytes",
      "end_bytes",
      "growth_bytes",
      "n_allocations",
      "allocated_bytes",
    ],
    csvRow: (row) => [
      row.step,
      row.peakBytes,
      row.peakAtPs / 1e9,
      row.startBytes,
      row.endBytes,
      row.endBytes - row.startBytes,
      row.nAllocations,
      row.allocatedBytes,
    ],
  };
}

function signed(bytes: number, scale: Scale): string {
  const text = inUnit(Math.abs(bytes), scale);
  // What is only told to be small needs no direction.
  if (bytes === 0 || text.startsWith("<")) return text;
  return `${bytes > 0 ? "+" : "−"}${text}`;
}

const countColumn = <R>(id: string, title: string, tip: string, value: (row: R) => number): GridColumn<R> => ({
  id,
  title,
  tip,
  width: 84,
  isRight: true,
  value,
  cell: (row) => formatCount(value(row)),
});

export function lifeRow(meta: TraceMeta, events: MemoryEvents, row: number): LifeRow {
  const text = (id: number) => meta.names[id] ?? "";
  const step = events.step[row];
  return {
    key: String(row),
    name: text(events.op[row]),
    bytes: events.allocated[row],
    lifePs: lifetimePs(events, row),
    atPs: events.time[row],
    step,
    stepName: step >= 0 ? stepLabel(meta.step_names, step) : "–",
    region: text(events.region[row]),
    dtype: text(events.dtype[row]) === "INVALID" ? "" : text(events.dtype[row]),
    shape: text(events.shape[row]),
  };
}

const LIFE_TEXT: readonly GridColumn<LifeRow>[] = [
  { id: "step", title: "Step", width: 50, isRight: true, value: (row) => row.step, cell: (row) => row.stepName },
  { id: "region", title: "Region", width: 68, isOptional: true, value: (row) => row.region, cell: (row) => row.region },
  { id: "dtype", title: "Type", width: 60, value: (row) => row.dtype, cell: (row) => row.dtype },
  {
    id: "shape",
    title: "Shape",
    width: 104,
    value: (row) => row.shape,
    cell: (row) => h("span", { title: row.shape }, row.shape),
  },
];

function lifeColumns(cut: Cut, scale: () => Scale): GridColumn<LifeRow>[] {
  return [
    nameColumn("Allocated by", cut),
    {
      id: "life",
      title: "Lived, ms",
      tip: "From the allocation to the deallocation",
      width: 92,
      isRight: true,
      value: (row) => Math.min(row.lifePs, Number.MAX_VALUE),
      cell: (row) => (Number.isFinite(row.lifePs) ? formatMsNumber(row.lifePs) : "not freed"),
    },
    bytesColumn("bytes", "Allocated", "Bytes taken from the allocator", (row) => row.bytes, scale),
    {
      id: "at",
      title: "at, ms",
      tip: "When it was allocated; a click shows what was held then",
      width: 74,
      isRight: true,
      value: (row) => row.atPs,
      cell: (row) => formatMsNumber(row.atPs),
    },
    ...LIFE_TEXT,
  ];
}

export function lifeLedger(scale: () => Scale): Parts<LifeRow> {
  return {
    label: "Lifetimes of allocations",
    columns: (cut) => lifeColumns(cut, scale),
    sortBy: "life",
    placeholder: "Nothing was allocated in this range.",
    fileName: "memory_lifetimes.csv",
    csvHeader: ["op", "step", "region", "dtype", "shape", "allocation_bytes", "allocated_at_ms", "lifetime_ms"],
    csvRow: (row) => [
      row.name,
      row.stepName,
      row.region,
      row.dtype,
      row.shape,
      row.bytes,
      row.atPs / 1e9,
      Number.isFinite(row.lifePs) ? row.lifePs / 1e9 : "",
    ],
  };
}

export function unfreedRow(row: Unfreed, names: readonly string[]): UnfreedRow {
  return { ...row, key: String(row.op), name: names[row.op] ?? "" };
}

export function unfreedLedger(scale: () => Scale): Parts<UnfreedRow> {
  return {
    label: "What is not given back",
    columns: (cut) => [
      nameColumn("Allocated by", cut),
      barColumn("held", "Not freed", "Bytes not given back until the capture ends", (row) => row.heldBytes, scale),
      bytesColumn(
        "late",
        "Freed late",
        `Bytes given back, but more than ${AFTER_STEPS} steps later`,
        (row) => row.allocatedBytes - row.heldBytes,
        scale,
      ),
      bytesColumn("rate", "A step", "Of both, per step", (row) => row.bytesPerStep, scale),
      countColumn(
        "steps",
        "In steps",
        "In how many steps: a leak shows in most, a variable in one",
        (row: UnfreedRow) => row.nSteps,
      ),
      countColumn("allocations", "Allocations", "How many", (row: UnfreedRow) => row.nAllocations),
    ],
    sortBy: "held",
    placeholder: `Every allocation of a step was given back within ${AFTER_STEPS} steps.`,
    fileName: "memory_not_freed.csv",
    csvHeader: ["op", "n_allocations", "n_steps", "allocated_bytes", "bytes_per_step", "held_bytes"],
    csvRow: (row) => [row.name, row.nAllocations, row.nSteps, row.allocatedBytes, row.bytesPerStep, row.heldBytes],
  };
}
