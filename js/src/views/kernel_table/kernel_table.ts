/** The executions of kernels in the linked time range -> a bar of the top kernels and a table of all of them. */

import { DEVICES_CODE, frameworkOf } from "../../model/overview/framework";
import { formatPercent, formatTime } from "../../model/text/format";
import { readableKernels, shortKernel } from "../../model/text/kernel_names";
import { perStep } from "../../model/time/scope";
import { STEADY } from "../../model/time/viewport";
import type { KernelMeta, TraceMeta } from "../../model/wire/meta";
import { type Choice, emptyState, h, noOps, segmented } from "../../ui/dom";
import { LinkedTable } from "../../ui/linked_table";
import type { OfHost } from "../../ui/of_host";
import { isMostlyRest, ShareBar, type ShareLook, shareSegments } from "../../ui/share_bar";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { KERNEL_CSV, kernelColumns } from "./columns";
import { type Grouping, groupKernels, type KernelGroup } from "./groups";
import { familyOf, type KernelRow, kernelRows, tensorCore } from "./rows";

const GROUPINGS: readonly Choice<Grouping>[] = [
  { value: "name", text: "by name" },
  { value: "op", text: "by op" },
  { value: "type", text: "by op type" },
  { value: "unit", text: "by unit" },
];
const NOUNS: Readonly<Record<Grouping, string>> = { name: "kernels", op: "ops", type: "op types", unit: "units" };
const HEADS: Readonly<Record<Grouping, string>> = {
  name: "Kernel",
  op: "Kernels",
  type: "Kernels",
  unit: "Computed on",
};
/** Of more kernels each is a small part: what kind of op launches them says more at first. */
const MANY_KERNELS = 200;

class KernelTable {
  #rows: readonly KernelGroup[] = [];
  #grouping: Grouping = "name";
  /** Kernel by kernel. */
  #single: readonly KernelRow[] = [];
  readonly #kernels: readonly KernelMeta[];
  readonly #finding = h("span.q");
  readonly #table: LinkedTable<KernelGroup>;

  constructor(readonly view: TraceView) {
    const { data, signal } = view;
    this.#kernels = data.meta.kernels ?? [];
    const readable = readableKernels(this.#kernels.map((kernel) => kernel.name));
    const bar = new ShareBar("Kernel time", (key) => this.#pickKey(key), signal);
    const hasOps = this.#kernels.some((kernel) => kernel.op_name !== "");
    const hasTypes = this.#kernels.some((kernel) => kernel.op_type !== "");
    if (hasTypes && this.#kernels.length > MANY_KERNELS) this.#grouping = "type";
    const choices = GROUPINGS.filter(({ value }) => (value !== "op" || hasOps) && (value !== "type" || hasTypes));
    const group = (grouping: Grouping) => {
      this.#grouping = grouping;
      this.#table.compute();
    };
    const isLed = data.nRows("op_shares") > 0;
    const hasOccupancy = this.#kernels.some((kernel) => (kernel.occupancy_pct ?? 0) > 0);
    this.#table = new LinkedTable<KernelGroup>(view, {
      label: "Kernels by total time",
      filterLabel: "Filter kernels by name or op",
      noun: () => NOUNS[this.#grouping],
      weightNoun: "kernel time",
      weight: (row) => row.totalPs,
      columns: kernelColumns(hasOps, hasOccupancy, () => this.#grouping),
      sortBy: "total",
      key: (row) => row.key,
      attributes: (row) => ({ "data-kernel": row.name }),
      rows: (scope) => {
        this.#single = kernelRows(this.#kernels, readable, data.table, scope);
        return groupKernels(this.#single, this.#grouping, isLed);
      },
      // A group stands for those of its kernels that match; a kernel keeps its rank among all.
      regroup: (test) => {
        const keep = (row: KernelRow) => [row.name, row.readable, row.op_name, row.op_type].some(test);
        if (this.#grouping === "name") return groupKernels(this.#single, "name", isLed).filter(keep);
        return groupKernels(this.#single.filter(keep), this.#grouping, isLed);
      },
      scope: (linked) => (linked === STEADY && data.table("kernel_step_totals") === undefined ? null : linked),
      titles: (nSteps) => ({
        name: HEADS[this.#grouping],
        op: this.#grouping === "name" ? "Op" : "How many",
        total: perStep("Total, ms", nSteps),
        count: perStep("Count", nSteps),
      }),
      texts: (row) => [row.name, row.readable, row.op_name, row.op_type],
      opsOf: (row) => row.ops,
      csv: { file: "kernels.csv", columns: KERNEL_CSV },
      controls: [segmented("Rows", choices, this.#grouping, group, signal), this.#finding],
      above: [bar.element],
      onRows: (all, nSteps) => {
        this.#rows = all;
        const each = perStep("", nSteps);
        this.#finding.textContent = finding(this.#single, each);
        const look = shareLook(all, NOUNS[this.#grouping]);
        const segments = shareSegments(all, (row) => row.totalPs, { ...look, each });
        bar.element.hidden = isMostlyRest(segments);
        bar.set(segments);
      },
      onSelection: (chosen) => {
        const isChosen = ({ ops }: KernelGroup) => ops.some((name) => chosen.has(name));
        bar.setSelected(new Set(this.#rows.filter(isChosen).map(({ key }) => key)));
      },
      empty: () => (this.#kernels.length === 0 ? noKernels(data.meta, signal) : null),
    });
  }

  #pickKey(key: string): void {
    const row = this.#rows.find((one) => one.key === key);
    if (row && row.ops.length > 0) this.#table.pick(row.ops);
  }
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
function shareLook(rows: readonly KernelGroup[], noun: string): ShareLook<KernelGroup> {
  const counts = new Map<string, number>();
  for (const { readable } of rows) counts.set(shortKernel(readable), (counts.get(shortKernel(readable)) ?? 0) + 1);
  return {
    noun,
    whole: "kernel time",
    of: (row) => {
      const short = shortKernel(row.readable);
      const labels = counts.get(short) === 1 ? [row.readable, short] : [row.readable];
      return { key: row.key, name: row.name, family: familyOf(row), short: labels };
    },
  };
}

function noKernels(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  if (meta.op_name.length === 0) return noOps(meta, signal);
  if (meta.op_device.includes(1)) return emptyState("No kernels in this trace", NO_LAUNCHES, "", signal);
  const framework = frameworkOf(meta);
  return emptyState(
    "No kernels: nothing ran on a GPU in this capture",
    `The ops ran on the CPU; the Ops view has their time. Where ${framework} finds a GPU, this view lists the kernels that the ops launch there and whether Tensor Cores serve them. This says what it finds:`,
    DEVICES_CODE[framework],
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
