/** The executions of kernels in the linked time range -> a bar of the top kernels and a table of all of them. */

import { formatPercent, formatTime } from "../../model/text/format";
import { readableKernels, shortKernel } from "../../model/text/kernel_names";
import { perStep } from "../../model/time/scope";
import { STEADY } from "../../model/time/viewport";
import type { KernelMeta, TraceMeta } from "../../model/wire/meta";
import { emptyState, h, noOps } from "../../ui/dom";
import { LinkedTable } from "../../ui/linked_table";
import type { OfHost } from "../../ui/of_host";
import { ShareBar, type ShareLook, shareSegments } from "../../ui/share_bar";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { KERNEL_CSV, kernelColumns } from "./columns";
import { familyOf, type KernelRow, kernelRows, tensorCore } from "./rows";

class KernelTable {
  #rows: readonly KernelRow[] = [];
  readonly #kernels: readonly KernelMeta[];
  readonly #finding = h("span.q");
  readonly #table: LinkedTable<KernelRow>;

  constructor(readonly view: TraceView) {
    const { data, signal } = view;
    this.#kernels = data.meta.kernels ?? [];
    const readable = readableKernels(this.#kernels.map((kernel) => kernel.name));
    const bar = new ShareBar("Kernel time", (key) => this.#pickKey(key), signal);
    const hasOps = this.#kernels.some((kernel) => kernel.op_name !== "");
    const hasOccupancy = this.#kernels.some((kernel) => (kernel.occupancy_pct ?? 0) > 0);
    this.#table = new LinkedTable<KernelRow>(view, {
      label: "Kernels by total time",
      filterLabel: "Filter kernels by name or op",
      noun: () => "kernels",
      weightNoun: "kernel time",
      weight: (row) => row.totalPs,
      columns: kernelColumns(hasOps, hasOccupancy),
      sortBy: "total",
      key: keyOf,
      attributes: (row) => ({ "data-kernel": row.name }),
      rows: (scope) => kernelRows(this.#kernels, readable, (name) => data.table(name), scope),
      scope: (linked) => (linked === STEADY && data.table("kernel_step_totals") === undefined ? null : linked),
      titles: (nSteps) => ({ total: perStep("Total, ms", nSteps), count: perStep("Count", nSteps) }),
      texts: (row) => [row.name, row.readable, row.op_name, row.op_type],
      opsOf: (row) => (row.op_name ? [row.op_name] : []),
      whyEmpty: () => "No kernel ran in this time range. Clear the range to see all kernels.",
      csv: { file: "kernels.csv", columns: KERNEL_CSV },
      controls: [this.#finding],
      above: [bar.element],
      onRows: (all, nSteps) => {
        this.#rows = all;
        const each = perStep("", nSteps);
        this.#finding.textContent = finding(all, each);
        bar.set(shareSegments(all, (row) => row.totalPs, { ...shareLook(all), each }));
      },
      onSelection: (chosen) => bar.setSelected(new Set(this.#rows.filter((row) => chosen.has(row.op_name)).map(keyOf))),
      empty: () => (this.#kernels.length === 0 ? noKernels(data.meta, signal) : null),
    });
  }

  #pickKey(key: string): void {
    const row = this.#rows.find((one) => keyOf(one) === key);
    if (row?.op_name) this.#table.pick([row.op_name]);
  }
}

function keyOf(row: KernelRow): string {
  return `kernel:${row.kernel}`;
}

/** What Tensor Cores do, in a few words; "" where no op is eligible. */
function finding(rows: readonly KernelRow[], each: string): string {
  const time = (wanted: (row: KernelRow) => boolean) =>
    rows.filter(wanted).reduce((total, row) => total + row.totalPs, 0);
  const eligible = time((row) => tensorCore(row) !== "none");
  if (eligible === 0) return "";
  const used = time((row) => tensorCore(row) === "used");
  return `On Tensor Cores: ${formatPercent(used / eligible)} of the ${formatTime(eligible)}${each} that are eligible`;
}

const NO_LAUNCHES =
  "A device ran ops here, but the trace says nothing of how they were launched: a TPU has no kernels, and some tools leave the launches out. The Ops view has the time of the ops; where XLA compiled them, the HLO ops view has their parts.";

/** Without its types a kernel may read as another one; such names stay whole. */
function shareLook(rows: readonly KernelRow[]): ShareLook<KernelRow> {
  const counts = new Map<string, number>();
  for (const { readable } of rows) counts.set(shortKernel(readable), (counts.get(shortKernel(readable)) ?? 0) + 1);
  return {
    noun: "kernels",
    whole: "kernel time",
    of: (row) => {
      const short = shortKernel(row.readable);
      const labels = counts.get(short) === 1 ? [row.readable, short] : [row.readable];
      return { key: keyOf(row), name: row.name, family: familyOf(row), short: labels };
    },
  };
}

function noKernels(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  if (meta.op_name.length === 0) return noOps(signal);
  if (meta.op_device.includes(1)) return emptyState("No kernels in this trace", NO_LAUNCHES, "", signal);
  return emptyState(
    "No kernels: nothing ran on a GPU in this capture",
    "The ops ran on the CPU; the Ops view has their time. Where TensorFlow finds a GPU, this view lists the kernels that the ops launch there and whether Tensor Cores serve them. This says what it finds:",
    'tf.config.list_physical_devices("GPU")',
    signal,
  );
}

/** Whether kernels are known without their executions. */
function isSummed({ meta }: TraceView["data"]): boolean {
  return meta.kernels?.[0]?.occurrences !== undefined;
}

const KERNELS_OF_HOST: OfHost = {
  follows: true,
  isEmpty: (data) => data.nRows("kernel_totals") === 0 && !isSummed(data),
  emptyWords: "ran no kernel",
  ofAll: (data) => (isSummed(data) ? "These are the kernels of all hosts: a reduced profile has only their sums." : ""),
  needsExecutions: true,
};

export const kernelTable: TraceBuilder = {
  name: "kernel_table",
  build(view) {
    new KernelTable(view);
  },
  needs: ["kernels", "kernel_totals", "kernel_step_totals", "steps"],
  forRange: ["kernel_runs"],
  ofHost: KERNELS_OF_HOST,
};
