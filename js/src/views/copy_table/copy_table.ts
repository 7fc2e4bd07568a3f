/** The copies between host and devices in the whole capture -> a table of them, those that no kernel hid first. */

import { type CsvColumns, fields } from "../../model/text/csv";
import {
  formatBytes,
  formatCount,
  formatMs,
  formatMsNumber,
  formatNumber,
  formatPercent,
} from "../../model/text/format";
import type { CopyMeta } from "../../model/wire/copy_meta";
import { barColumn, nameColumn, numberColumn, rankColumn, textColumn } from "../../ui/cells";
import { emptyState, noOps } from "../../ui/dom";
import { FilteredTable } from "../../ui/filtered_table";
import type { GridColumn } from "../../ui/grid_column";
import { toggleSelection } from "../../ui/selecting";
import type { TraceBuilder, TraceView } from "../../ui/view";

interface CopyRow extends CopyMeta {
  readonly rank: number;
  /** Memory read and written, as far as it is known. */
  readonly memory: string;
}

/** Their categories in a step, for their colours. */
const CATEGORIES: Readonly<Record<string, string>> = {
  "host to device": "copy_to_device",
  "device to host": "output",
  "device to device": "device_to_device",
};

class CopyTable {
  readonly #rows: readonly CopyRow[];
  #chosen: ReadonlySet<string> = new Set();

  constructor(view: TraceView, copies: readonly CopyMeta[]) {
    const { link, signal } = view;
    this.#rows = copies.map((copy, i) => ({ ...copy, rank: i + 1, memory: memoryOf(copy) }));
    const exposed = sum(this.#rows);
    const table = new FilteredTable<CopyRow>(view, {
      label: "Copies by exposed time",
      filterLabel: "Filter copies by direction, memory, op or tensor",
      columns: columns(this.#rows),
      sortBy: "exposed",
      key: ({ rank }) => `copy:${rank}`,
      attributes: ({ direction }) => ({ "data-copy": direction }),
      onPick: (row) => toggleSelection(link, opsOf(row)),
      isMarked: (row) => opsOf(row).some((name) => this.#chosen.has(name)),
      passing: (test, isOff) =>
        isOff
          ? this.#rows
          : this.#rows.filter((row) => [row.direction, row.memory, row.op, row.read_by, row.tensor].some(test)),
      describe: (shown) => {
        const share = exposed > 0 ? ` · ${formatPercent(sum(shown) / exposed)}` : "";
        const count = `${formatCount(shown.length)} of ${formatCount(this.#rows.length)}`;
        return [
          `${count} · whole capture${view.hasHosts ? ", all hosts" : ""}${share} of ${formatMs(exposed)} that no kernel hides`,
        ];
      },
      whyEmpty: () => "None of the copies matches the filter. Clear it, or write /pattern/i for a regular expression.",
      csv: { file: "copies.csv", columns: () => COPY_CSV },
    });
    const follow = () => {
      this.#chosen = new Set(link.selection);
      table.followSelection(true);
    };
    view.root.append(table.element);
    link.on("selection", follow, signal);
    table.apply();
    follow();
  }
}

function sum(rows: readonly CopyRow[]): number {
  return rows.reduce((total, { exposed_time_ms }) => total + exposed_time_ms, 0);
}

function opsOf({ op, read_by }: CopyMeta): string[] {
  return [...new Set([op, read_by])].filter(Boolean);
}

function memoryOf({ source, destination }: CopyMeta): string {
  return source || destination ? `${source || "?"} → ${destination || "?"}` : "";
}

function columns(rows: readonly CopyRow[]): GridColumn<CopyRow>[] {
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
    numberColumn({ id: "count", title: "Count", width: 60, isOptional: false }, (row) => row.occurrences, formatCount),
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
      { id: "total", title: "Total, ms", tip: total, width: 76, isOptional: false },
      (row) => row.total_time_ms,
      ms,
    ),
    numberColumn({ id: "rate", title: "GB/s", width: 62 }, (row) => row.gb_per_s ?? Number.NaN, rate),
    ...(rows.some((row) => row.round_trips > 0)
      ? [
          numberColumn<CopyRow>(
            { id: "back", title: "Round trips", tip: back, width: 84 },
            (row) => row.round_trips || Number.NaN,
            formatCount,
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
    if (meta.copies?.length) new CopyTable(view, meta.copies);
    else if (meta.op_name.length === 0) view.root.append(noOps(view.signal));
    else {
      const why =
        "No device copied anything here: tensors stayed where they were made. Of a GPU, this says what is found:";
      view.root.append(
        emptyState("No copies in this capture", why, 'tf.config.list_physical_devices("GPU")', view.signal),
      );
    }
  },
  needs: ["copies"],
};
