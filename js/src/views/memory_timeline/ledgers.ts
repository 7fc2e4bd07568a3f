/** Memory by step, by allocation and by op that keeps it -> the rows and columns of the tables under the chart. */

import { byteUnit, type MemoryEvents } from "../../model/memory/memory";
import { AFTER_STEPS, type Unfreed } from "../../model/memory/memory_growth";
import { lifetimePs } from "../../model/memory/memory_lifetimes";
import type { MemoryStep } from "../../model/memory/memory_steps";
import { formatCount, formatMsNumber } from "../../model/text/format";
import { stepLabel, stepWords } from "../../model/time/span_text";
import type { TraceMeta } from "../../model/wire/meta";
import { barColumn, nameColumn, numberColumn, textColumn } from "../../ui/cells";
import type { GridColumn } from "../../ui/grid_column";
import type { LedgerOptions, LedgerRow } from "../../ui/ledger";
import { type ByteUnit, inUnit } from "./columns";

export function unitOf(bytes: readonly number[]): ByteUnit {
  return byteUnit(bytes.reduce((a, b) => Math.max(a, b), 0));
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
/** The unit of all sizes of a table now. */
type Unit = () => ByteUnit;
type Value<R> = (row: R) => number;

/** Room in a heading for ", MiB" and the mark of the order, and for a letter of the title. */
const UNIT_PX = 40;
const LETTER_PX = 6;

function bytesColumn<R>(id: string, title: string, tip: string, value: Value<R>, unit: Unit): GridColumn<R> {
  const head = { id, title, tip, width: UNIT_PX + LETTER_PX * title.length, isOptional: false };
  return numberColumn(head, value, (bytes) => inUnit(bytes, unit()));
}

export function byteBars<R>(id: string, title: string, tip: string, value: Value<R>, unit: Unit): GridColumn<R> {
  const head = { id, title, tip, width: 220, narrowWidth: 150 };
  return barColumn(
    head,
    value,
    (bytes) => inUnit(bytes, unit()),
    () => "var(--m-heap)",
  );
}

function momentColumn<R>(tip: string, ps: Value<R>): GridColumn<R> {
  return numberColumn({ id: "at", title: "at, ms", tip, width: 74, isOptional: false }, ps, formatMsNumber);
}

function timesColumn<R>(id: string, title: string, tip: string, value: Value<R>): GridColumn<R> {
  return numberColumn({ id, title, tip, width: 84, isOptional: false }, value, formatCount);
}

/** @param unknown what an allocation that names no op is called */
const allocatedBy = (unknown: string) =>
  nameColumn<LedgerRow>(
    { id: "name", title: "Allocated by" },
    ({ name }) => name || unknown,
    ({ name }) => name,
  );

export function stepRow(step: MemoryStep, stepNames: readonly string[]): StepRow {
  return { ...step, key: String(step.step), name: stepWords(stepNames, step.step) };
}

function stepColumns(unit: Unit): GridColumn<StepRow>[] {
  const growth = (row: StepRow) => row.endBytes - row.startBytes;
  return [
    { id: "name", title: "Step", value: (row) => row.step, cell: (row) => row.name },
    byteBars("peak", "Peak", "Most in use during the step: stack and heap", (row) => row.peakBytes, unit),
    momentColumn("When, after the begin of the step", (row) => row.peakAtPs - row.startPs),
    bytesColumn("start", "Begin", "In use when the step begins", (row) => row.startBytes, unit),
    bytesColumn("end", "End", "In use when the step ends", (row) => row.endBytes, unit),
    {
      ...bytesColumn("growth", "Change", "End less begin", growth, unit),
      value: growth,
      cell: (row) => signed(growth(row), unit()),
    },
    timesColumn("allocations", "Allocations", "Made in the step", (row) => row.nAllocations),
    {
      ...bytesColumn("allocated", "Allocated", "Sum over its allocations", (row: StepRow) => row.allocatedBytes, unit),
      isOptional: true,
    },
  ];
}

export function stepLedger(unit: Unit): Parts<StepRow> {
  return {
    label: "Memory by step",
    columns: stepColumns(unit),
    sortBy: "peak",
    placeholder: "No step in this capture; the step chart says why.",
    attributes: (row) => ({ "data-step": String(row.step) }),
    fileName: "memory_steps.csv",
    csv: {
      step: (row) => row.step,
      peak_bytes: (row) => row.peakBytes,
      peak_at_ms: (row) => row.peakAtPs / 1e9,
      start_bytes: (row) => row.startBytes,
      end_bytes: (row) => row.endBytes,
      growth_bytes: (row) => row.endBytes - row.startBytes,
      n_allocations: (row) => row.nAllocations,
      allocated_bytes: (row) => row.allocatedBytes,
    },
  };
}

function signed(bytes: number, unit: ByteUnit): string {
  const text = inUnit(Math.abs(bytes), unit);
  // What is only told to be small needs no direction.
  if (bytes === 0 || text.startsWith("<")) return text;
  return `${bytes > 0 ? "+" : "−"}${text}`;
}

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

function lifeColumns(unit: Unit, unknown: string): GridColumn<LifeRow>[] {
  const life: GridColumn<LifeRow> = {
    ...{ id: "life", title: "Lived, ms", tip: "From the allocation to the deallocation", width: 92, isRight: true },
    value: (row) => row.lifePs,
    cell: (row) => (Number.isFinite(row.lifePs) ? formatMsNumber(row.lifePs) : "not freed"),
  };
  return [
    allocatedBy(unknown),
    life,
    bytesColumn("bytes", "Allocated", "Bytes taken from the allocator", (row) => row.bytes, unit),
    momentColumn("When it was allocated; a click shows what was held then", (row) => row.atPs),
    { id: "step", title: "Step", width: 50, isRight: true, value: (row) => row.step, cell: (row) => row.stepName },
    textColumn({ id: "region", title: "Region", width: 68, isOptional: true }, (row) => row.region),
    textColumn({ id: "dtype", title: "Type", width: 60 }, (row) => row.dtype),
    textColumn({ id: "shape", title: "Shape", width: 104 }, (row) => row.shape),
  ];
}

export function lifeLedger(unit: Unit, unknown: string): Parts<LifeRow> {
  return {
    label: "Lifetimes of allocations",
    columns: lifeColumns(unit, unknown),
    sortBy: "life",
    placeholder: "Nothing was allocated in this range.",
    fileName: "memory_lifetimes.csv",
    csv: {
      op: (row) => row.name,
      step: (row) => row.stepName,
      region: (row) => row.region,
      dtype: (row) => row.dtype,
      shape: (row) => row.shape,
      allocation_bytes: (row) => row.bytes,
      allocated_at_ms: (row) => row.atPs / 1e9,
      lifetime_ms: (row) => (Number.isFinite(row.lifePs) ? row.lifePs / 1e9 : ""),
    },
  };
}

export function unfreedRow(row: Unfreed, names: readonly string[]): UnfreedRow {
  return { ...row, key: String(row.op), name: names[row.op] ?? "" };
}

function unfreedColumns(unit: Unit, unknown: string): GridColumn<UnfreedRow>[] {
  const late = `Bytes given back, but more than ${AFTER_STEPS} steps later`;
  const steps = "In how many steps: a leak shows in most, a variable in one";
  return [
    allocatedBy(unknown),
    byteBars("held", "Not freed", "Bytes not given back until the capture ends", (row) => row.heldBytes, unit),
    bytesColumn("late", "Freed late", late, (row) => row.allocatedBytes - row.heldBytes, unit),
    bytesColumn("rate", "Growth a step", "Of both, per step", (row) => row.bytesPerStep, unit),
    timesColumn("steps", "In steps", steps, (row) => row.nSteps),
    {
      ...timesColumn("allocations", "Allocations", "How many", (row: UnfreedRow) => row.nAllocations),
      isOptional: true,
    },
  ];
}

export function unfreedLedger(unit: Unit, unknown: string): Parts<UnfreedRow> {
  return {
    label: "What is not given back",
    columns: unfreedColumns(unit, unknown),
    sortBy: "held",
    placeholder: `Every allocation of a step was given back within ${AFTER_STEPS} steps.`,
    fileName: "memory_not_freed.csv",
    csv: {
      op: (row) => row.name,
      n_allocations: (row) => row.nAllocations,
      n_steps: (row) => row.nSteps,
      allocated_bytes: (row) => row.allocatedBytes,
      bytes_per_step: (row) => row.bytesPerStep,
      held_bytes: (row) => row.heldBytes,
    },
  };
}
