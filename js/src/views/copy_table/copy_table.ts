/** The copies between host and devices in the linked time range -> a table of them, those that no kernel hid first. */

import type { TraceData } from "../../host/data";
import { DEVICES_CODE, frameworkOf } from "../../model/overview/framework";
import { type CsvColumns, fields } from "../../model/text/csv";
import { formatAmount, formatBytes, formatMsNumber, formatNumber } from "../../model/text/format";
import { perStep, stepsOfScope } from "../../model/time/scope";
import { type Scope, STEADY } from "../../model/time/viewport";
import type { CopyMeta } from "../../model/wire/copy_meta";
import type { Table } from "../../model/wire/wire";
import { barColumn, nameColumn, numberColumn, rankColumn, textColumn } from "../../ui/cells";
import { emptyState, noOps } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import { LinkedTable } from "../../ui/linked_table";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { type CopyRow, copyRows } from "./rows";

/** Their categories in a step, for their colours. */
const CATEGORIES: Readonly<Record<string, string>> = {
  "host to device": "copy_to_device",
  "device to host": "output",
  "device to device": "device_to_device",
};

function showCopies(view: TraceView, copies: readonly CopyMeta[]) {
  const { data } = view;
  new LinkedTable<CopyRow>(view, {
    label: "Copies by exposed time",
    filterLabel: "Filter copies by direction, memory, op or tensor",
    noun: () => "copies",
    weightNoun: "the time that no kernel hides",
    weight: (row) => row.exposed_time_ms,
    columns: columns(copies),
    sortBy: "exposed",
    key: ({ direction, memory, op, read_by, tensor }) => ["copy", direction, memory, op, read_by, tensor].join(":"),
    attributes: ({ direction }) => ({ "data-copy": direction }),
    rows: (scope) => copyRows(copies, runsOf(data, scope), scope, stepsOfScope(data.table("steps"), scope) ?? 1),
    // Of whole steps only all copies tell.
    scope: (linked) => (linked === STEADY && runsOf(data, linked) === undefined ? null : linked),
    titles: (nSteps) => ({
      count: perStep("Count", nSteps),
      exposed: perStep("Exposed, ms", nSteps),
      total: perStep("Total, ms", nSteps),
    }),
    texts: (row) => [row.direction, row.memory, row.op, row.read_by, row.tensor],
    opsOf,
    csv: { file: "copies.csv", columns: COPY_CSV },
  });
}

function opsOf({ op, read_by }: CopyMeta): string[] {
  return [...new Set([op, read_by])].filter(Boolean);
}

/** Every copy, of a window of a page for a range alone; undefined where there are only sums. */
function runsOf(data: TraceData, scope: Scope): Table | undefined {
  const isRange = scope !== null && scope !== STEADY;
  return isRange || data.isWhole("copy_runs") ? data.table("copy_runs") : undefined;
}

function columns(rows: readonly CopyMeta[]): GridColumn<CopyRow>[] {
  const ms = (value: number) => formatMsNumber(value * 1e9);
  const exposed = "Time in which no kernel ran on the device: what the copies cost";
  const total = "On the device, also beside kernels";
  const back = "Copies that bring back in a step what was copied to the host, or what was made of it there";
  const color = ({ direction }: CopyRow) => `var(--c-${CATEGORIES[direction] ?? "other"})`;
  const rate = (value: number) => (value < 0.01 ? "<0.01" : formatNumber(value));
  const bytes = (value: number) => (value > 0 ? formatBytes(value) : "");
  return [
    rankColumn<CopyRow>("Rank by exposed time"),
    textColumn({ id: "direction", title: "Direction", width: 110 }, (row) => row.direction),
    textColumn(
      { id: "memory", title: "Memory", tip: "Read → written", width: 128, isOptional: true },
      (row) => row.memory,
    ),
    nameColumn(
      { id: "op", title: "Op", tip: "That made the tensor, else the one that copies it" },
      ({ op }) => op,
      (row) => [row.op || "The trace names no op for it", row.tensor].filter(Boolean).join("\n"),
    ),
    nameColumn({ id: "reader", title: "Read by", shownFrom: 1240 }, ({ read_by }) => read_by),
    numberColumn({ id: "count", title: "Count", width: 88, isOptional: false }, (row) => row.occurrences, formatAmount),
    numberColumn(
      { id: "bytes", title: "Each", tip: "Bytes a copy, the mean", width: 76 },
      (row) => row.bytes_per_copy ?? Number.NaN,
      bytes,
    ),
    barColumn(
      { id: "exposed", title: "Exposed, ms", tip: exposed, width: 190, narrowWidth: 140 },
      (row) => row.exposed_time_ms,
      ms,
      color,
    ),
    numberColumn(
      { id: "total", title: "Total, ms", tip: total, width: 106, isOptional: false },
      (row) => row.total_time_ms,
      ms,
    ),
    numberColumn({ id: "rate", title: "GB/s", width: 62 }, (row) => row.gb_per_s ?? Number.NaN, rate),
    ...(rows.some((row) => row.round_trips > 0)
      ? [
          numberColumn<CopyRow>(
            { id: "back", title: "Round trips", tip: back, width: 84 },
            (row) => row.round_trips || Number.NaN,
            formatAmount,
          ),
        ]
      : []),
  ];
}

/** The columns of `Profile.copies`. */
const COPY_CSV: CsvColumns<CopyRow> = {
  ...fields<CopyRow>("direction", "source", "destination", "op", "read_by", "tensor", "occurrences", "bytes"),
  ...fields<CopyRow>("bytes_per_copy", "total_time_ms", "gb_per_s", "hidden_time_ms", "exposed_time_ms", "round_trips"),
};

export const copyTable: TraceBuilder = {
  name: "copy_table",
  build(view) {
    const { meta } = view.data;
    if (meta.copies?.length) showCopies(view, meta.copies);
    else if (meta.op_name.length === 0) view.root.append(noOps(meta, view.signal));
    else {
      const why =
        "No device copied anything here: tensors stayed where they were made. Of a GPU, this says what is found:";
      const code = DEVICES_CODE[frameworkOf(meta)];
      view.root.append(emptyState("No copies in this capture", why, code, view.signal));
    }
  },
  needs: ["copies", "steps", "step_totals"],
  forRange: ["copy_runs"],
  ofHost: {
    follows: true,
    ofAll: (data) => (data.table("copy_runs") ? "" : "These are the copies of all hosts."),
    needsExecutions: true,
  },
};
