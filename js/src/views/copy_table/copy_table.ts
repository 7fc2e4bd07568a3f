/** Copies between host and devices in the linked time range: a table of tensors and ways, those that no kernel hid first. */

import { columns, isInRange, overlapPs, type Scope, STEADY } from "../../data/columns";
import type { CopyMeta } from "../../data/meta";
import type { Table } from "../../data/pack";
import { DEVICES_CODE, frameworkOf } from "../../model/overview";
import { perStep, stepsOfScope } from "../../model/range";
import { type CsvColumns, fields, formatAmount, formatBytes, formatMsNumber, formatNumber } from "../../model/text";
import { emptyState, noOps } from "../../ui/dom";
import type { GridColumn } from "../../ui/sheet";
import { barColumn, LinkedTable, nameColumn, numberColumn, rankColumn, textColumn } from "../../ui/table";
import type { TraceBuilder, TraceView } from "../../ui/view";

interface CopyRow extends CopyMeta {
  readonly rank: number;
  readonly memory: string;
}

const PS_PER_MS = 1e9;

/**
 * The copies of a scope, those that cost most first; of one cut by a range the part inside counts, with that share of what no
 * kernel hides. Without `runs` only the sums of the whole capture are known. `nSteps`: what sums are divided by.
 */
function copyRows(copies: readonly CopyMeta[], runs: Table | undefined, scope: Scope, nSteps: number): CopyRow[] {
  const found = runs === undefined ? copies : summed(copies, runs, scope, nSteps);
  return found
    .filter(({ occurrences }) => occurrences > 0)
    .toSorted((a, b) => b.exposed_time_ms - a.exposed_time_ms)
    .map((copy, i) => ({ ...copy, rank: i + 1, memory: memoryOf(copy) }));
}

function summed(copies: readonly CopyMeta[], runs: Table, scope: Scope, nSteps: number): CopyMeta[] {
  const sums = copies.map(() => ({ occurrences: 0, bytes: 0, total: 0, exposed: 0, back: 0 }));
  const [copy, start, duration, exposed] = columns(runs, "copy", "start_ps", "duration_ps", "exposed_ps");
  const [bytes, isBack, isSteady] = columns(runs, "bytes", "is_back", "is_steady");
  for (let i = 0; i < runs.n; i++) {
    if (scope === STEADY ? isSteady[i] !== 1 : !isInRange(start[i], duration[i], scope)) continue;
    const ps = scope === STEADY ? duration[i] : overlapPs(start[i], duration[i], scope);
    const own = sums[copy[i]];
    own.occurrences += 1;
    own.bytes += bytes[i];
    own.total += ps;
    own.exposed += duration[i] > 0 ? (exposed[i] * ps) / duration[i] : 0;
    own.back += isBack[i];
  }
  return copies.map((one, k) => {
    const own = sums[k];
    return {
      ...one,
      occurrences: own.occurrences / nSteps,
      bytes: own.bytes / nSteps,
      bytes_per_copy: own.bytes > 0 ? own.bytes / own.occurrences : null,
      total_time_ms: own.total / PS_PER_MS / nSteps,
      // What was cut by a range moved fewer bytes than all of it: the rate stays that of the whole.
      hidden_time_ms: (own.total - own.exposed) / PS_PER_MS / nSteps,
      exposed_time_ms: own.exposed / PS_PER_MS / nSteps,
      round_trips: own.back / nSteps,
    };
  });
}

function memoryOf({ source, destination }: CopyMeta): string {
  return source || destination ? `${source || "?"} → ${destination || "?"}` : "";
}

const CATEGORIES: Readonly<Record<string, string>> = {
  "host to device": "copy_to_device",
  "device to host": "output",
  "device to device": "device_to_device",
};

function showCopies(view: TraceView, copies: readonly CopyMeta[]) {
  const { data } = view;
  /** Every copy, of a window of a page for a range alone; undefined where there are only sums. */
  const runsOf = (scope: Scope) =>
    (scope !== null && scope !== STEADY) || data.isWhole("copy_runs") ? data.table("copy_runs") : undefined;
  new LinkedTable<CopyRow>(view, {
    label: "Copies by exposed time",
    filterLabel: "Filter copies by direction, memory, op or tensor",
    noun: () => "copies",
    weightNoun: "the time that no kernel hides",
    weight: (row) => row.exposed_time_ms,
    columns: gridColumns(copies),
    sortBy: "exposed",
    key: ({ direction, memory, op, read_by, tensor }) => ["copy", direction, memory, op, read_by, tensor].join(":"),
    attributes: ({ direction }) => ({ "data-copy": direction }),
    rows: (scope) => copyRows(copies, runsOf(scope), scope, stepsOfScope(data.table("steps"), scope) ?? 1),
    // Of whole steps only all copies tell.
    scope: (linked) => (linked === STEADY && runsOf(linked) === undefined ? null : linked),
    titles: (nSteps) => ({
      count: perStep("Count", nSteps),
      exposed: perStep("Exposed, ms", nSteps),
      total: perStep("Total, ms", nSteps),
    }),
    texts: (row) => [row.direction, row.memory, row.op, row.read_by, row.tensor],
    opsOf: ({ op, read_by }) => [...new Set([op, read_by])].filter(Boolean),
    csv: { file: "copies.csv", columns: COPY_CSV },
  });
}
function gridColumns(rows: readonly CopyMeta[]): GridColumn<CopyRow>[] {
  const ms = (value: number) => formatMsNumber(value * 1e9);
  const exposed = "Time in which no kernel ran on the device: what the copies cost";
  const total = "On the device, also beside kernels";
  const back = "Copies that bring back in a step what was copied to the host, or what was made of it there";
  const color = ({ direction }: CopyRow) => `var(--c-${CATEGORIES[direction] ?? "other"})`;
  const rate = (value: number) => (value < 0.01 ? "<0.01" : formatNumber(value));
  const bytes = (value: number) => (value > 0 ? formatBytes(value) : "");
  const each = { id: "bytes", title: "Each", tip: "Bytes a copy, the mean", width: 76 };
  const cost = { id: "exposed", title: "Exposed, ms", tip: exposed, width: 190, narrowWidth: 140 };
  const trips = { id: "back", title: "Round trips", tip: back, width: 84 };
  const columns = [
    rankColumn<CopyRow>("Rank by exposed time"),
    textColumn<CopyRow>({ id: "direction", title: "Direction", width: 110 }, "direction"),
    textColumn<CopyRow>(
      { id: "memory", title: "Memory", tip: "Read → written", width: 128, isOptional: true },
      "memory",
    ),
    nameColumn<CopyRow>(
      { id: "op", title: "Op", tip: "That made the tensor, else the one that copies it" },
      "op",
      (row) => [row.op || "The trace names no op for it", row.tensor].filter(Boolean).join("\n"),
    ),
    nameColumn<CopyRow>({ id: "reader", title: "Read by", shownFrom: 1240 }, "read_by"),
    numberColumn<CopyRow>({ id: "count", title: "Count", width: 88, isOptional: false }, "occurrences", formatAmount),
    numberColumn<CopyRow>(each, (row) => row.bytes_per_copy ?? Number.NaN, bytes),
    barColumn<CopyRow>(cost, (row) => row.exposed_time_ms, ms, color),
    numberColumn({ id: "total", title: "Total, ms", tip: total, width: 106, isOptional: false }, "total_time_ms", ms),
    numberColumn<CopyRow>({ id: "rate", title: "GB/s", width: 62 }, (row) => row.gb_per_s ?? Number.NaN, rate),
  ];
  if (!rows.some((row) => row.round_trips > 0)) return columns;
  return [...columns, numberColumn<CopyRow>(trips, (row) => row.round_trips || Number.NaN, formatAmount)];
}

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
};
