/** Kernels in the linked time range: a bar of those that cost most, and a table by kernel, op, type or unit. */

import { columns, eachInside, groupBy, numbers, type Scope, STEADY } from "../../data/columns";
import { FAMILIES, type KernelMeta, type TraceMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import { readableKernels, shortKernel } from "../../model/names";
import { DEVICES_CODE, frameworkOf } from "../../model/overview";
import { perStep, stepsOfScope } from "../../model/range";
import { type CsvColumns, fields, formatBytes, formatCount, formatPercent, formatTime, plural } from "../../model/text";
import { type Choice, emptyState, h, noOps, segmented } from "../../ui/dom";
import { isMostlyRest, ShareBar, type ShareLook, shareSegments } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import { countColumn, LinkedTable, msBarColumn, nameColumn, numberColumn, rankColumn, titled } from "../../ui/table";
import type { TraceBuilder, TraceView } from "../../ui/view";

interface KernelRow extends KernelMeta {
  readonly rank: number;
  readonly readable: string;
  readonly kernel: number;
  readonly occurrences: number;
  readonly totalPs: number;
  readonly minPs: number;
  readonly maxPs: number;
  readonly ratio: number;
}

/** The kernels that ran in a scope, most time first, of one cut by a range the part inside; a step where the scope is of steps. */
export function kernelRows(
  kernels: readonly KernelMeta[],
  readable: ReadonlyMap<string, string>,
  tables: (name: string) => Table | undefined,
  scope: Scope,
): KernelRow[] {
  const { total, count, longest, shortest } = sumsOf(kernels, tables, scope);
  const nSteps = stepsOfScope(tables("steps"), scope) ?? 1;
  const sum = total.reduce((all, ps) => all + ps, 0);
  const ran = kernels.map((_, k) => k).filter((k) => count[k] > 0);
  ran.sort((a, b) => total[b] - total[a] || a - b);
  return ran.map((k, i) => ({
    ...kernels[k],
    readable: readable.get(kernels[k].name) ?? kernels[k].name,
    ...{ rank: i + 1, kernel: k, occurrences: count[k] / nSteps, ratio: sum > 0 ? total[k] / sum : 0 },
    ...{ totalPs: total[k] / nSteps, minPs: shortest[k], maxPs: longest[k] },
  }));
}

type Sums = Readonly<Record<"total" | "count" | "longest" | "shortest", Float64Array>>;

function sumsOf(kernels: readonly KernelMeta[], tables: (name: string) => Table | undefined, scope: Scope): Sums {
  const n = kernels.length;
  const [total, count, longest] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  const shortest = new Float64Array(n).fill(Number.POSITIVE_INFINITY);
  const add = (k: number, times: number, ps: number, least: number, most: number) => {
    count[k] += times;
    total[k] += ps;
    shortest[k] = Math.min(shortest[k], least);
    longest[k] = Math.max(longest[k], most);
  };
  if (scope !== null && scope !== STEADY) {
    const runs = tables("kernel_runs") ?? EMPTY_TABLE;
    const kernel = numbers(runs, "kernel");
    eachInside(runs, scope, (i, ps) => add(kernel[i], 1, ps, ps, ps));
  } else if (scope === null && kernels[0]?.occurrences !== undefined) {
    // Sums that are told without any executions, as in a reduced profile.
    kernels.forEach(({ occurrences = 0, total_time_us = 0, min_time_us = 0, max_time_us = 0 }, k) => {
      add(k, occurrences, total_time_us * 1e6, min_time_us * 1e6, max_time_us * 1e6);
    });
  } else {
    const known = tables(scope === STEADY ? "kernel_step_totals" : "kernel_totals") ?? EMPTY_TABLE;
    const [kernel, times, sum, least, most] = columns(known, "kernel", "occurrences", "total_ps", "min_ps", "max_ps");
    for (let i = 0; i < known.n; i++) add(kernel[i], times[i], sum[i], least[i], most[i]);
  }
  return { total, count, longest, shortest };
}

type TensorCore = "used" | "idle" | "none";

/** Whether Tensor Cores serve the kernel, could but do not, or cannot. */
export function tensorCore(kernel: Pick<KernelMeta, "could_use_tensor_core" | "uses_tensor_core">): TensorCore {
  if (kernel.uses_tensor_core) return "used";
  return kernel.could_use_tensor_core ? "idle" : "none";
}

type Grouping = "name" | "op" | "type" | "unit";

interface KernelGroup extends KernelRow {
  /** What tells the row from others, whatever the grouping. */
  readonly key: string;
  readonly nKernels: number;
  readonly ops: readonly string[];
}

const UNKNOWN = "not known";
/** Of kernels that are put together, and differ. */
const SEVERAL = "several";

const NAME_OF: Readonly<Record<Exclude<Grouping, "name">, (row: KernelRow) => string>> = {
  op: (row) => row.op_name,
  type: (row) => row.op_type,
  unit: (row) => row.unit,
};

/** A row of an op's copies is called otherwise than the op; `isLed`: all of a kernel is that of the op with most of it. */
function groupKernels(rows: readonly KernelRow[], by: Grouping, isLed: boolean): KernelGroup[] {
  if (by === "name")
    return rows.map((row) => {
      const ops = row.op_name ? [row.op_name] : [];
      return { ...row, key: `kernel:${row.kernel}`, nKernels: 1, ops };
    });
  const nameOf = (row: KernelRow) => {
    const known = NAME_OF[by](row);
    return known && by !== "unit" ? `${isLed ? "led by" : "of"} ${known}` : known || UNKNOWN;
  };
  const found = [...groupBy(rows, nameOf)].map(([name, own]) => summed(own, name, `${by}:${name}`));
  found.sort((a, b) => b.totalPs - a.totalPs);
  return found.map((group, i) => ({ ...group, rank: i + 1 }));
}

/** What the rows have together; how they were launched is told of single kernels only. */
function summed(rows: readonly KernelRow[], name: string, key: string): KernelGroup {
  const sum = (value: (row: KernelRow) => number) => rows.reduce((total, row) => total + value(row), 0);
  const same = (value: (row: KernelRow) => string) => {
    const first = value(rows[0]);
    return rows.every((row) => value(row) === first) ? first : SEVERAL;
  };
  const [type, op] = [same((row) => row.op_type), same((row) => row.op_name)];
  return {
    ...rows[0],
    ...{ key, name, readable: name, nKernels: rows.length, kernel: -1 },
    ops: [...new Set(rows.flatMap(({ op_name }) => op_name || []))],
    ...{ op_type: type === SEVERAL ? "" : type, op_name: op === SEVERAL ? "" : op, unit: same((row) => row.unit) },
    tensor_core_eligible: rows.some((row) => row.tensor_core_eligible),
    could_use_tensor_core: rows.some((row) => row.could_use_tensor_core && !row.uses_tensor_core),
    uses_tensor_core: rows.every((row) => row.uses_tensor_core),
    ...{ registers_per_thread: Number.NaN, shared_memory_bytes: Number.NaN, occupancy_pct: Number.NaN },
    ...{ block_dim: "", grid_dim: "" },
    ...{ totalPs: sum((row) => row.totalPs), occurrences: sum((row) => row.occurrences) },
    ratio: sum((row) => row.ratio),
    minPs: rows.reduce((least, row) => Math.min(least, row.minPs), Number.POSITIVE_INFINITY),
    maxPs: rows.reduce((most, row) => Math.max(most, row.maxPs), 0),
  };
}

const TITLES: Readonly<Record<TensorCore, string>> = {
  used: "This kernel runs on Tensor Cores.",
  idle: "Tensor Cores could serve this op, but this kernel does not run on them: try mixed_float16 or TF32, and sizes that are multiples of 8.",
  none: "Tensor Cores serve matrix products and convolutions; this kernel makes none.",
};
/** Sorting by the column puts the finding first. */
const ORDER: Readonly<Record<TensorCore, number>> = { idle: 2, used: 1, none: 0 };

/** Widths of the table that leave some 200 px each to the names of kernel and op. */
const ROOM_PX = { launch: 1200, times: 1340, dimensions: 1520 };

/** `hasOps`, `hasOccupancy`: whether the trace tells any; `grouping`: what a row is now. */
function kernelColumns(hasOps: boolean, hasOccupancy: boolean, grouping: () => Grouping): GridColumn<KernelGroup>[] {
  const columns = [
    rankColumn<KernelGroup>("Rank by total time"),
    nameColumn<KernelGroup>({ id: "name", title: "Kernel" }, "readable", "name"),
    ...(hasOps ? [opColumn(grouping)] : []),
    countColumn<KernelRow>("Executions in the range"),
    ...timeColumns(),
    ...launchColumns(),
  ];
  return hasOccupancy ? [...columns, occupancyColumn()] : columns;
}

function opColumn(grouping: () => Grouping): GridColumn<KernelGroup> {
  const tip = "The op that launched it; under XLA the one with the largest share in it";
  const title = (row: KernelRow) =>
    [row.op_name || "The trace names no op for it", row.op_type].filter(Boolean).join("\n");
  const name = ({ op_name }: KernelRow) => op_name;
  const isSingle = () => grouping() === "name";
  return {
    ...{ id: "op", title: "Op", tip, names: (row) => (isSingle() ? name(row) : "") },
    value: (row) => (isSingle() ? name(row) : row.nKernels),
    cell: (row, { cut }) =>
      isSingle()
        ? titled(cut(name(row)), title(row))
        : titled(plural(row.nKernels, "kernel"), row.ops.join("\n"), true),
  };
}

function timeColumns(): GridColumn<KernelRow>[] {
  const tip = "Summed over streams and devices";
  const total = { id: "total", title: "Total, ms", tip, width: 210, narrowWidth: 140 };
  const ratio = { id: "ratio", title: "Total, %", tip: "Of the time of all kernels", width: 62, isOptional: false };
  const ends = { width: 66, shownFrom: ROOM_PX.times };
  const color = () => "var(--c-device_compute)";
  return [
    msBarColumn(total, ({ totalPs }) => totalPs, color),
    numberColumn(ratio, (row) => row.ratio * 100),
    tensorCoreColumn(),
    numberColumn({ id: "average", title: "Average, µs", width: 82 }, (row) => row.totalPs / row.occurrences / 1e6),
    numberColumn({ id: "min", title: "Min, µs", ...ends }, (row) => row.minPs / 1e6),
    numberColumn({ id: "max", title: "Max, µs", ...ends }, (row) => row.maxPs / 1e6),
  ];
}

function tensorCoreColumn(): GridColumn<KernelRow> {
  const tip = "What the kernel computes on; coloured where Tensor Cores could serve its op and do not";
  const cell = (row: KernelRow) => {
    const kind = tensorCore(row);
    return h("span", { class: `tfp-tc-${kind}`, title: TITLES[kind] }, row.unit || "–");
  };
  return { id: "tensor", title: "Computes on", tip, width: 124, value: (row) => ORDER[tensorCore(row)], cell };
}

function launchColumns(): GridColumn<KernelRow>[] {
  const shownFrom = ROOM_PX.launch;
  const registers = { id: "registers", title: "Regs", tip: "Registers per thread", width: 50, shownFrom };
  const shared = { id: "shared", title: "Shared", tip: "Shared memory per block, static and dynamic", width: 74 };
  return [
    numberColumn(registers, "registers_per_thread", formatCount),
    numberColumn({ ...shared, shownFrom }, "shared_memory_bytes", formatBytes),
    dimensions("block", "Block", "Threads per block: x, y, z", (row) => row.block_dim),
    dimensions("grid", "Grid", "Blocks: x, y, z", (row) => row.grid_dim),
  ];
}

function dimensions(id: string, title: string, tip: string, text: (row: KernelRow) => string): GridColumn<KernelRow> {
  const product = (row: KernelRow) =>
    text(row)
      .split(",")
      .reduce((n, part) => n * Number(part), 1);
  const cell = (row: KernelRow) => shortDimensions(text(row));
  return numberColumn({ id, title, tip, width: 92, shownFrom: ROOM_PX.dimensions, cell }, product);
}

/** "160,1,1" -> "160": dimensions of one at the end say nothing. */
export function shortDimensions(text: string): string {
  return text.replace(/(,1)+$/, "").replaceAll(",", "×");
}

function occupancyColumn(): GridColumn<KernelRow> {
  const tip =
    "Theoretical occupancy: warps that registers and shared memory leave room for, of the most a multiprocessor holds";
  const head = { id: "occupancy", title: "Occupancy, %", tip, width: 90 };
  return numberColumn(head, (row) => row.occupancy_pct || Number.NaN);
}

export const KERNEL_CSV: CsvColumns<KernelGroup> = {
  ...fields<KernelRow>("rank", "name", "registers_per_thread", "shared_memory_bytes", "block_dim", "grid_dim"),
  ...fields<KernelRow>("occupancy_pct", "tensor_core_eligible", "uses_tensor_core", "unit"),
  ...fields<KernelRow>("op_name", "occurrences"),
  total_time_us: (row) => row.totalPs / 1e6,
  avg_time_us: (row) => row.totalPs / row.occurrences / 1e6,
  min_time_us: (row) => row.minPs / 1e6,
  max_time_us: (row) => row.maxPs / 1e6,
  op_type: (row) => row.op_type,
};

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
      return { key: row.key, name: row.name, family: FAMILIES[row.family] ?? "runtime", short: labels };
    },
  };
}

function noKernels(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  if (meta.op_name.length === 0) return noOps(meta, signal);
  if (meta.op_device.includes(1)) return emptyState("No kernels in this trace", NO_LAUNCHES, "", signal);
  const framework = frameworkOf(meta);
  const title = "No kernels: nothing ran on a GPU in this capture";
  const why = `The ops ran on the CPU; the Ops view has their time. Where ${framework} finds a GPU, this view lists the kernels that the ops launch there and whether Tensor Cores serve them. This says what it finds:`;
  return emptyState(title, why, DEVICES_CODE[framework], signal);
}

export const kernelTable: TraceBuilder = {
  name: "kernel_table",
  build: (view) => void new KernelTable(view),
  needs: ["kernels", "kernel_totals", "kernel_step_totals", "steps"],
  forRange: ["kernel_runs"],
  about: "kernels",
};
