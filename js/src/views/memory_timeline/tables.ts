/** The tables under the memory chart: holders by op, layer or line, by step, lifetimes, what is not freed. */

import { notReduced } from "../../data/hosts";
import type { MemorySummaryRow } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import {
  AFTER_STEPS,
  type Held,
  type HeldBy,
  type LiveGroup,
  liveAt,
  type MemoryStep,
  OpPlaces,
  REMAINDER,
  STACK,
  together,
  type Unfreed,
  unfreedByOp,
} from "../../model/memory";
import { NOT_HERE, stepsOfRange, stepWords } from "../../model/range";
import { PLACE_SECTIONS } from "../../model/source";
import { timeOfSteps } from "../../model/steps";
import {
  type CsvColumns,
  fields,
  formatBytes,
  formatCount,
  formatMsNumber,
  formatPercent,
  plural,
} from "../../model/text";
import { type Pane, PaneSwitch } from "../../ui/controls";
import { button, h, textFits } from "../../ui/dom";
import type { GridColumn } from "../../ui/sheet";
import {
  barColumn,
  type Field,
  Ledger,
  type LedgerOptions,
  type LedgerRow,
  ledgerPane,
  nameColumn,
  numberColumn,
  rankColumn,
  textColumn,
} from "../../ui/table";
import { chooseRange, type TraceView, toggleSelection } from "../../ui/view";
import { type MemoryChart, type MemoryScene, opName } from "./chart";
import { AllocatorMap } from "./map";

interface Holder extends LedgerRow, Pick<LiveGroup, "count" | "allocatedBytes" | "requestedBytes"> {
  readonly rank: number;
  /** Name id of the first of its ops, or what stands for no op. */
  readonly op: number;
  readonly ops: readonly string[];
  readonly regionName: string;
  readonly dtypeName: string;
  readonly shapeName: string;
}

function holderColumns(): GridColumn<Holder>[] {
  const tip = "Bytes taken from the allocator, summed over the allocations of the row";
  const held = { id: "allocated", title: "Allocated", tip, width: 240, narrowWidth: 136 };
  const counted = { id: "count", title: "Count", tip: "Allocations", width: 56, isOptional: false };
  return [
    rankColumn(),
    nameColumn({ id: "name", title: "In memory" }, "name", "name", ({ op }) => op < 0),
    barColumn(
      held,
      (row) => row.allocatedBytes,
      formatBytes,
      ({ op }) => `var(--m-${op === STACK ? "stack" : "heap"})`,
    ),
    numberColumn(
      { id: "requested", title: "Requested", tip: "Bytes the op asked for", width: 102 },
      "requestedBytes",
      formatBytes,
    ),
    numberColumn(counted, "count", formatCount),
    textColumn({ id: "region", title: "Region", width: 76, narrowWidth: 60 }, "regionName"),
    textColumn({ id: "dtype", title: "Type", width: 66, narrowWidth: 52 }, "dtypeName"),
    textColumn({ id: "shape", title: "Shape", width: 124, narrowWidth: 96 }, "shapeName"),
  ];
}

function holderCsv(when: () => string): CsvColumns<Holder> {
  return {
    op: (row) => row.name,
    allocated_bytes: (row) => row.allocatedBytes,
    requested_bytes: (row) => row.requestedBytes,
    count: (row) => row.count,
    region: (row) => row.regionName,
    dtype: (row) => row.dtypeName,
    shape: (row) => row.shapeName,
    held: when,
  };
}

const HEAD_PADDING_PX = 14;
const NOUNS: Readonly<Record<HeldBy, string>> = { op: "op", layer: "layer", line: "line" };
const NOTHING = "Nothing is held then.";

class LiveTable {
  readonly #ledger: Ledger<Holder>;
  #rows: readonly Holder[] = [];
  #groups: readonly LiveGroup[] = [];
  #by: HeldBy = "op";
  #places: OpPlaces | null = null;
  #when = "";

  constructor(readonly view: TraceView) {
    const { link, signal } = view;
    this.#ledger = new Ledger<Holder>(signal, {
      label: "What holds memory",
      columns: holderColumns(),
      sortBy: "allocated",
      placeholder: NOTHING,
      onPick: ({ ops }) => ops.length > 0 && toggleSelection(link, ops),
      isSelected: ({ ops }) => ops.some((name) => link.selection.includes(name)),
      onWidths: () => this.#ledger.sheet.setTitles({ name: this.#title }),
      fileName: "memory.csv",
      csv: holderCsv(() => this.#when),
    });
    link.on("selection", () => this.#ledger.mark(), signal);
  }

  get element(): HTMLElement {
    return this.#ledger.element;
  }

  /** Puts together what belongs to the same op, layer or line, as soon as it is known what does. */
  show({ events, row, when }: MemoryScene, by: HeldBy): void {
    this.#groups = liveAt(events, row);
    this.#when = when;
    this.#by = by;
    this.#draw();
    if (by === "op" || this.#places !== null) return;
    const { data, guard } = this.view;
    const fill = guard(async () => {
      await data.ready(PLACE_SECTIONS);
      if (PLACE_SECTIONS.every((name) => data.isWhole(name)))
        this.#places = new OpPlaces(data.meta, data.table("op_places"));
      this.#draw();
    });
    fill();
  }

  #draw(): void {
    const { meta } = this.view.data;
    const [by, places] = [this.#by, this.#places];
    const isKnown = by === "op" || places !== null;
    const waiting = this.view.data.isOffline ? NOT_HERE : `Looking for the ${NOUNS[by]}s …`;
    this.#ledger.sheet.setPlaceholder(isKnown ? NOTHING : waiting);
    const place = (group: LiveGroup) => {
      const own = holderName(group, (id) => opName(meta, id));
      if (by === "op" || group.op <= REMAINDER) return own;
      return places?.of(meta.names[group.op] ?? "", by) || (group.op < 0 ? own : unknown(by));
    };
    const held: readonly Held[] =
      by === "op" ? this.#groups.map((one) => ({ name: place(one), groups: [one] })) : together(this.#groups, place);
    this.#rows = isKnown ? held.map((one, i) => this.#holder(one, i + 1)) : [];
    this.#ledger.show(this.#rows, { name: this.#title });
  }

  #holder({ name, groups }: Held, rank: number): Holder {
    const { names } = this.view.data.meta;
    const sum = (value: (group: LiveGroup) => number) => groups.reduce((total, group) => total + value(group), 0);
    // What describes one group says nothing of several.
    const text = (id: (group: LiveGroup) => number) => (groups.length === 1 ? (names[id(groups[0])] ?? "") : "");
    const isOps = groups[0].op !== REMAINDER && groups[0].op !== STACK;
    const dtype = text((group) => group.dtype);
    return {
      ...{ key: String(rank), rank, name, op: groups[0].op },
      count: sum((group) => group.count),
      allocatedBytes: sum((group) => group.allocatedBytes),
      requestedBytes: sum((group) => group.requestedBytes),
      regionName: isOps ? text((group) => group.region) : "",
      dtypeName: dtype === "INVALID" ? "" : dtype,
      shapeName: text((group) => group.shape),
      ops: [...new Set(groups.flatMap(({ op }) => names[op] || []))],
    };
  }

  get #title(): string {
    const sum = (rows: readonly Holder[]) => rows.reduce((bytes, { allocatedBytes }) => bytes + allocatedBytes, 0);
    const held = sum(this.#rows);
    const explained = sum(this.#rows.filter(({ op }) => op !== REMAINDER));
    const share = held > 0 && explained < held ? ` · ${formatPercent(explained / held)} from this capture` : "";
    const counted = this.#n > 0 ? `: ${plural(this.#n, NOUNS[this.#by])}` : "";
    const title = `In memory ${this.#when}${counted}`;
    const fits = textFits(this.view.root, this.#ledger.sheet.columnWidth("name") - HEAD_PADDING_PX);
    return fits(`${title}${share}`) ? `${title}${share}` : title;
  }

  get #n(): number {
    if (this.#by === "op") return new Set(this.#rows.flatMap(({ ops }) => ops)).size;
    return this.#rows.filter(({ ops, name }) => ops.length > 0 && name !== unknown(this.#by)).length;
  }

  save(): void {
    this.#ledger.save();
  }
}

function unknown(by: HeldBy): string {
  return `${by} not known`;
}

function holderName({ op }: LiveGroup, name: (id: number) => string): string {
  if (op === REMAINDER) return "allocated before the capture";
  return op === STACK ? "stack" : name(op);
}

type Value<R> = Field<R, number>;

function bytesColumn<R>(id: string, title: string, tip: string, value: Value<R>): GridColumn<R> {
  return numberColumn({ id, title, tip, width: 94, isOptional: false }, value, formatBytes);
}

function byteBars<R>(id: string, title: string, tip: string, value: Value<R>): GridColumn<R> {
  const head = { id, title, tip, width: 220, narrowWidth: 150 };
  const color = () => "var(--m-heap)";
  return barColumn(head, value, formatBytes, color);
}

function momentColumn<R>(tip: string, ps: Value<R>): GridColumn<R> {
  return numberColumn({ id: "at", title: "at, ms", tip, width: 74, isOptional: false }, ps, formatMsNumber);
}

function timesColumn<R>(id: string, title: string, tip: string, value: Value<R>): GridColumn<R> {
  return numberColumn({ id, title, tip, width: 84, isOptional: false }, value, formatCount);
}

/** @param unknown what an allocation that names no op is called */
const allocatedBy = (unknown: string) =>
  nameColumn<LedgerRow>({ id: "name", title: "Allocated by" }, ({ name }) => name || unknown, "name");

/** Steps: all, whatever the range, as one of many is only told to be high beside the others. */
function stepsPane(view: TraceView): Pane<MemoryScene> {
  type Row = MemoryStep & LedgerRow;
  const { link, data } = view;
  const table = () => data.table("steps") ?? EMPTY_TABLE;
  const growth = (row: Row) => row.endBytes - row.startBytes;
  const columns: GridColumn<Row>[] = [
    { id: "name", title: "Step", value: (row) => row.step, cell: (row) => row.name },
    byteBars("peak", "Peak", "Most in use during the step: stack and heap", "peakBytes"),
    momentColumn("When, after the begin of the step", (row) => row.peakAtPs - row.startPs),
    bytesColumn("start", "Begin", "In use when the step begins", "startBytes"),
    bytesColumn("end", "End", "In use when the step ends", "endBytes"),
    {
      ...bytesColumn("growth", "Change", "End less begin", growth),
      value: growth,
      cell: (row) => signed(growth(row)),
    },
    timesColumn("allocations", "Allocations", "Made in the step", "nAllocations"),
    {
      ...bytesColumn("allocated", "Allocated", "Sum over its allocations", (row: Row) => row.allocatedBytes),
      isOptional: true,
    },
  ];
  const options: LedgerOptions<Row> = {
    label: "Memory by step",
    columns,
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
      growth_bytes: growth,
      n_allocations: (row) => row.nAllocations,
      allocated_bytes: (row) => row.allocatedBytes,
    },
    onPick: ({ step }) => {
      const isChosen = link.step === step;
      chooseRange(link, isChosen ? null : timeOfSteps(table(), step, step), isChosen ? -1 : step);
    },
    isSelected: ({ step }) => {
      const range = link.timeRange;
      const covered = range && stepsOfRange(table(), [range[0] * 1000, range[1] * 1000]);
      return covered ? covered[0] <= step && step <= covered[1] : false;
    },
  };
  const rows = ({ steps }: MemoryScene) =>
    steps.map((one) => ({ ...one, key: String(one.step), name: stepWords(data.meta.step_names, one.step) }));
  return ledgerPane(view, options, rows, (shown) => ({ name: plural(shown.length, "step") }));
}

function signed(bytes: number): string {
  const sign = bytes > 0 ? "+" : "−";
  return `${bytes === 0 ? "" : sign}${formatBytes(Math.abs(bytes))}`;
}

function select({ link }: TraceView, { name }: LedgerRow): void {
  if (name !== "") toggleSelection(link, [name]);
}

function unfreedPane(view: TraceView): Pane<MemoryScene> {
  type Row = Unfreed & LedgerRow;
  const { meta } = view.data;
  const late = `Bytes given back, but more than ${AFTER_STEPS} steps later`;
  const steps = "In how many steps: a leak shows in most, a variable in one";
  const options: LedgerOptions<Row> = {
    label: "What is not given back",
    columns: [
      allocatedBy(opName(meta, -1)),
      byteBars("held", "Not freed", "Bytes not given back until the capture ends", "heldBytes"),
      bytesColumn("late", "Freed late", late, (row) => row.allocatedBytes - row.heldBytes),
      bytesColumn("rate", "Growth a step", "Of both, per step", "bytesPerStep"),
      timesColumn("steps", "In steps", steps, "nSteps"),
      { ...timesColumn("allocations", "Allocations", "How many", (row: Row) => row.nAllocations), isOptional: true },
    ],
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
    onPick: (row) => select(view, row),
    isSelected: (row) => view.link.selection.includes(row.name),
  };
  const rows = ({ events, steps, range }: MemoryScene) => {
    const inRange = steps.filter((step) => range === null || (step.startPs < range[1] && step.endPs > range[0]));
    return unfreedByOp(events, inRange).map((row) => ({ ...row, key: String(row.op), name: meta.names[row.op] ?? "" }));
  };
  return ledgerPane(view, options, rows, ({ length }) => ({
    name: `Held over ${AFTER_STEPS} steps: ${plural(length, "op")}`,
  }));
}

type SumRow = MemorySummaryRow & LedgerRow;

export function showSums(view: TraceView): void {
  const { data, root, signal } = view;
  const rows = data.meta.memory_summary.map((row) => ({ ...row, key: row.allocator, name: row.allocator }));
  const ledger = new Ledger<SumRow>(signal, {
    label: "Memory by allocator",
    columns: columns(),
    sortBy: "peak",
    placeholder: "No allocator reported to the profiler.",
    onPick: () => undefined,
    isSelected: () => false,
    fileName: "memory_summary.csv",
    csv: fields("allocator", "peak_bytes", "peak_at_ms", "capacity_bytes", "n_allocations", "n_deallocations"),
  });
  const save = button("CSV", () => ledger.save(), signal, { title: SAVE_TITLE });
  const words = h("span.tfp-say", { role: "note" }, notReduced(data.meta, "memory"));
  root.append(h("div.tfp-fill", h("div.bar", words, h("span.sp"), save), ledger.element));
  ledger.show(rows, { name: plural(rows.length, "allocator") });
}

function columns(): GridColumn<SumRow>[] {
  const at = { id: "at", title: "at, ms", tip: "When, after the begin of the capture", width: 82, isOptional: false };
  const may = { id: "capacity", title: "Capacity", tip: "What the allocator may use", width: 92, isOptional: false };
  return [
    nameColumn({ id: "name", title: "Allocator" }, ({ name }) => name || "unnamed allocator", "name"),
    byteBars("peak", "Peak", "Most in use: stack and heap", "peak_bytes"),
    numberColumn(at, (row) => row.peak_at_ms * 1e9, formatMsNumber),
    numberColumn(may, (row) => row.capacity_bytes || Number.NaN, formatBytes),
    numberColumn({ id: "n", title: "Allocations", width: 92, isOptional: false }, "n_allocations", formatCount),
  ];
}

const SAVE_TITLE = "Save the rows shown: bytes and ms";
const CHOICES = [
  { value: "map", text: "Map" },
  { value: "op", text: "By op" },
  { value: "layer", text: "By layer" },
  { value: "line", text: "By line" },
  { value: "steps", text: "By step" },
  { value: "unfreed", text: "Possible leaks" },
] as const;

type Choice = (typeof CHOICES)[number]["value"];
/** Of a page that keeps a part: those that are of all steps, and of when what was allocated is freed. */
const OF_ALL: readonly Choice[] = ["steps", "unfreed"];

class MemoryPanes extends PaneSwitch<Choice, MemoryScene> {
  allow(isAllHere: boolean): void {
    this.csvButton.hidden = this.pane.save === undefined;
    this.choices.forEach(({ value }, i) => {
      (this.control.children[i] as HTMLElement).hidden = !isAllHere && OF_ALL.includes(value);
    });
  }
}

export function memoryPanes(
  view: TraceView,
  chart: MemoryChart,
  first: Choice,
  onMoment: (timePs: number | null) => void,
  onChoose: () => void,
) {
  const live = new LiveTable(view);
  const make = (chosen: Choice): Pane<MemoryScene> => {
    if (chosen === "map") return new AllocatorMap(view, chart, onMoment);
    if (chosen === "steps") return stepsPane(view);
    if (chosen === "unfreed") return unfreedPane(view);
    return { element: live.element, show: (scene) => live.show(scene, chosen), save: () => live.save() };
  };
  return new MemoryPanes("Table", CHOICES, first, make, onChoose, SAVE_TITLE, view.signal);
}
