/** What is known of allocators without their events -> a table of their peaks, for a reduced profile. */

import { fields } from "../../model/text/csv";
import { formatBytes, formatCount, formatMsNumber, plural } from "../../model/text/format";
import type { MemorySummaryRow } from "../../model/wire/meta";
import { nameColumn, numberColumn } from "../../ui/cells";
import { button, h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import { Ledger, type LedgerRow } from "../../ui/ledger";
import type { TraceView } from "../../ui/view";
import type { ByteUnit } from "./columns";
import { byteBars, unitOf } from "./ledgers";

type SumRow = MemorySummaryRow & LedgerRow;

const NO_EVENTS =
  "A reduced profile has the peaks of memory without single allocations: open a host in full for its timeline.";

export function showSums(view: TraceView): void {
  const { data, root, signal } = view;
  const rows = data.meta.memory_summary.map((row) => ({ ...row, key: row.allocator, name: row.allocator }));
  const unit = unitOf(rows.map((row) => row.peak_bytes));
  const ledger = new Ledger<SumRow>(signal, {
    label: "Memory by allocator",
    columns: columns(unit),
    sortBy: "peak",
    placeholder: "No allocator reported to the profiler.",
    onPick: () => undefined,
    isSelected: () => false,
    fileName: "memory_summary.csv",
    csv: fields("allocator", "peak_bytes", "peak_at_ms", "capacity_bytes", "n_allocations", "n_deallocations"),
  });
  const save = button("CSV", () => ledger.save(), signal, { title: "Save the rows shown: bytes and ms" });
  const words = h("span.tfp-say", { role: "note" }, NO_EVENTS);
  root.append(h("div.tfp-fill", h("div.bar", words, h("span.sp"), save), ledger.element));
  ledger.show(rows, { name: plural(rows.length, "allocator"), peak: `Peak, ${unit[1]}` });
}

function columns(unit: ByteUnit): GridColumn<SumRow>[] {
  const at = { id: "at", title: "at, ms", tip: "When, after the begin of the capture", width: 82, isOptional: false };
  const may = { id: "capacity", title: "Capacity", tip: "What the allocator may use", width: 92, isOptional: false };
  return [
    nameColumn(
      { id: "name", title: "Allocator" },
      ({ name }) => name || "unnamed allocator",
      ({ name }) => name,
    ),
    byteBars(
      "peak",
      "Peak",
      "Most in use: stack and heap",
      (row) => row.peak_bytes,
      () => unit,
    ),
    numberColumn(at, (row) => row.peak_at_ms * 1e9, formatMsNumber),
    numberColumn(may, (row) => row.capacity_bytes || Number.NaN, formatBytes),
    numberColumn(
      { id: "n", title: "Allocations", width: 92, isOptional: false },
      (row) => row.n_allocations,
      formatCount,
    ),
  ];
}
