/** What is known of allocators without their events -> a table of their peaks, for a reduced profile. */

import { formatBytes, formatCount, formatMsNumber, plural } from "../../model/text/format";
import type { MemorySummaryRow } from "../../model/wire/meta";
import { button, h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import { Ledger, type LedgerRow } from "../../ui/ledger";
import type { TraceView } from "../../ui/view";
import { barColumn, nameColumn, type Scale, scaleOf } from "./ledgers";

type SumRow = MemorySummaryRow & LedgerRow;

const NO_EVENTS =
  "A reduced profile has the peaks of memory without single allocations: open a host in full for its timeline.";

export function showSums(view: TraceView): void {
  const { data, root, signal } = view;
  const rows = data.meta.memory_summary.map((row) => ({ ...row, key: row.allocator, name: row.allocator }));
  const scale = scaleOf(rows.map((row) => row.peak_bytes));
  const ledger = new Ledger<SumRow>(root, signal, {
    label: "Memory by allocator",
    columns: (cut) => columns(cut, () => scale),
    sortBy: "peak",
    placeholder: "No allocator reported to the profiler.",
    onPick: () => undefined,
    isSelected: () => false,
    fileName: "memory_summary.csv",
    csvHeader: ["allocator", "peak_bytes", "peak_at_ms", "capacity_bytes", "n_allocations", "n_deallocations"],
    csvRow: (row) => [
      ...[row.allocator, row.peak_bytes, row.peak_at_ms, row.capacity_bytes ?? ""],
      ...[row.n_allocations, row.n_deallocations],
    ],
  });
  const save = button("CSV", () => ledger.save(), signal, { title: "Save the rows shown: bytes and ms" });
  const words = h("span", { class: "tfp-say", role: "note" }, NO_EVENTS);
  root.append(
    h(
      "div",
      { class: "tfp-fill" },
      h("div", { class: "bar" }, words, h("span", { class: "sp" }), save),
      ledger.element,
    ),
  );
  ledger.show(rows, { name: plural(rows.length, "allocator"), peak: `Peak, ${scale.unit[1]}` });
}

function columns(cut: (name: string) => string, scale: () => Scale): GridColumn<SumRow>[] {
  return [
    nameColumn("Allocator", cut),
    barColumn("peak", "Peak", "Most in use: stack and heap", (row) => row.peak_bytes, scale),
    {
      id: "at",
      title: "at, ms",
      tip: "When, after the begin of the capture",
      width: 82,
      isRight: true,
      value: (row) => row.peak_at_ms,
      cell: (row) => formatMsNumber(row.peak_at_ms * 1e9),
    },
    {
      id: "capacity",
      title: "Capacity",
      tip: "What the allocator may use",
      width: 92,
      isRight: true,
      value: (row) => row.capacity_bytes ?? 0,
      cell: (row) => (row.capacity_bytes === null ? "" : formatBytes(row.capacity_bytes)),
    },
    {
      id: "n",
      title: "Allocations",
      width: 92,
      isRight: true,
      value: (row) => row.n_allocations,
      cell: (row) => formatCount(row.n_allocations),
    },
  ];
}
