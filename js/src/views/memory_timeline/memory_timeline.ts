/** What is in use over time, the peak of the linked range, and what holds it. */

import { isWithin, type RangePs, rangeInPs } from "../../data/columns";
import type { TraceMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import {
  countEvents,
  freeBytes,
  isInSmallPieces,
  type MemoryEvents,
  type MemoryStep,
  memoryEvents,
  memorySteps,
  peakRow,
  rowAt,
} from "../../model/memory";
import { KEEP_ALL, stepLabel, stepWords, windowWords } from "../../model/range";
import { formatBytes, formatCount, formatInstant, formatNumber } from "../../model/text";
import { isInDashboard, labelList, labelled } from "../../ui/controls";
import { button, type Child, copyButton, emptyState, h, MANY_ROWS, on, paced, selectBox } from "../../ui/dom";
import { FailurePanel } from "../../ui/failure_panel";
import { legendEntry, swatch } from "../../ui/share_bar";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { MemoryChart } from "./chart";
import { memoryPanes, showSums } from "./tables";

interface Facts {
  readonly meta: TraceMeta;
  readonly events: MemoryEvents;
  readonly range: RangePs;
  /** Rows; -1 for none. */
  readonly peak: number;
  readonly moment: number | null;
  readonly momentRow: number;
  readonly isLimited: boolean;
  /** The highest mark since the process began; NaN where it is not known. */
  readonly peakHeapBytes: number;
  readonly isFreeDrawn: boolean;
}

function showFacts(list: HTMLElement, facts: Facts): void {
  const { meta, events, peak, moment, momentRow } = facts;
  const rows: HTMLElement[] = [];
  const at = (value: (row: number) => string) =>
    [peak, ...(moment === null ? [] : [momentRow])].map((row) => (row < 0 ? "–" : value(row)));
  const line = (label: Node | string, cells: readonly Child[]) => rows.push(labelled(label, cells));
  const bytes = (label: Node | string, of: (row: number) => number) =>
    line(
      label,
      at((row) => formatBytes(of(row))),
    );
  const used = (row: number) => events.stack[row] + events.heap[row];
  const heads = ["at the peak", ...(moment === null ? [] : ["then"])].map((text) => h("span.q", text));
  line("", heads);
  bytes(h("b", "In use"), used);
  bytes(key("stack", "Stack"), (row) => events.stack[row]);
  bytes(key("heap", "Heap"), (row) => events.heap[row]);
  if (facts.isLimited) {
    const piece = key("", "Largest free piece", "At most so much of the free memory lies in one piece");
    bytes(key(facts.isFreeDrawn ? "free" : "", "Free"), (row) => freeBytes(events, row));
    bytes(piece, (row) => events.piece[row]);
    if (events.taken[peak] > 0 && events.taken[peak] < events.capacity[peak])
      bytes("Taken from device", (row) => events.taken[row]);
    bytes("Capacity", (row) => events.capacity[row]);
  }
  const times = [peak < 0 ? "–" : formatInstant(events.time[peak], 1e8)];
  if (moment !== null) times.push(formatInstant(moment, 1e8));
  line("Time", times);
  const steps = at((row) => (events.step[row] >= 0 ? stepLabel(meta.step_names, events.step[row]) : "none"));
  line("Step", steps);
  const { allocations, deallocations } = countEvents(events, facts.range);
  const [counted, highest] = [
    `${formatCount(allocations)}, ${formatCount(deallocations)}`,
    formatBytes(facts.peakHeapBytes),
  ];
  const inRange = { title: "Allocations and deallocations in this range" };
  rows.push(labelled("Allocated, freed", [counted], inRange));
  rows.push(labelled("Peak heap, lifetime", [highest], { title: "The highest mark since the process began" }));
  list.replaceChildren(...rows);
}

function key(layer: string, text: string, tip = ""): HTMLElement {
  const mark = swatch(`var(--m-${layer})`);
  if (layer === "") mark.style.visibility = "hidden";
  const entry = legendEntry(mark, text);
  entry.title = tip;
  return entry;
}

class MemoryTimeline {
  #events: MemoryEvents;
  #steps: readonly MemoryStep[] = [];
  #allocator = 0;
  /** A moment chosen by a click; null shows the peak. */
  #moment: number | null = null;
  readonly #say = h("span.tfp-say", { role: "status" });
  readonly #growth = h("div.tfp-growth");
  readonly #facts = labelList("tfp-mem-facts", "Figures of the memory");
  readonly #chart: MemoryChart;
  readonly #panes: ReturnType<typeof memoryPanes>;

  constructor(readonly view: TraceView) {
    const { signal, data, link } = view;
    const { meta } = data;
    const failed = failedAllocator(view);
    this.#allocator = failed >= 0 ? failed : firstUsed(view);
    this.#events = this.#read();
    this.#moment = this.#allocator === failed ? (meta.memory_failure?.at_ps ?? null) : null;
    const choose = (timePs: number | null) => this.#choose(timePs);
    this.#chart = new MemoryChart(view, choose);
    const first = meta.memory_failure || isInSmallPieces(this.#events) ? "map" : "op";
    this.#panes = memoryPanes(view, this.#chart, first, choose, () => this.#update());
    const main = h("div.tfp-fill", this.#toolbar(), this.#chart.element, this.#panes.element);
    const attributes = { tabindex: 0, "aria-label": "Memory in figures" };
    const aside = h("aside", attributes, this.#growth, roomWords(view), this.#facts, this.#chart.drawn);
    view.root.append(this.#failure() ?? "", notice(view) ?? "", h("div.tfp-mem", main, aside));
    const isSlow = () => this.#events.end - this.#events.begin > MANY_ROWS;
    const update = paced(() => this.#update(), signal, isSlow);
    const onRange = () => {
      this.#moment = null;
      this.#chart.zoom(null);
      update();
    };
    link.on("time_range", onRange, signal);
    link.on("selection", update, signal);
    let table = data.table("memory");
    data.onTables(() => {
      if (table === data.table("memory")) return;
      table = data.table("memory");
      this.#events = this.#read();
      update();
    }, signal);
    const keydown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || this.#moment === null) return;
      event.stopPropagation();
      this.#choose(null);
    };
    on(view.root, signal, { keydown });
  }

  async build(): Promise<void> {
    this.#update();
    await this.#chart.build();
    this.#update();
  }

  /** The linked range; without one the whole capture, or what a page keeps of it. */
  get #range(): RangePs {
    const { link, data } = this.view;
    const kept = this.#isHere(null) ? null : data.window;
    return rangeInPs(link.timeRange, data.table("steps")) ?? (kept && [kept.t0, kept.t1]);
  }

  #read(): MemoryEvents {
    const { data } = this.view;
    const events = memoryEvents(data.table("memory") ?? EMPTY_TABLE, this.#allocator);
    const steps = memorySteps(events, data.table("steps") ?? EMPTY_TABLE);
    this.#steps = steps.filter(({ startPs, endPs }) => this.#isHere([startPs, endPs]));
    this.#sayGrowth();
    return events;
  }

  /** Whether all events of a span, null for the whole capture, are here. */
  #isHere(range: RangePs): boolean {
    const { data } = this.view;
    return data.isWhole("memory") || isWithin(range, data.window);
  }

  #sayGrowth(): void {
    const { sentence = "", is_significant: isLeak = false } = this.view.data.meta.memory_summary[this.#allocator] ?? {};
    const kept = this.#isHere(null) ? "" : `This page keeps the memory of ${this.#kept()}. ${KEEP_ALL}`;
    this.#growth.hidden = sentence === "" && kept === "";
    this.#growth.classList.toggle("calm", !isLeak);
    const show = button("Possible leaks", () => this.#panes.choose("unfreed"), this.view.signal, { class: "link" });
    this.#growth.replaceChildren(
      h("p", { role: "status" }, `${sentence} ${kept} `, isLeak && this.#isHere(null) && show),
    );
  }

  #kept(): string {
    const { meta, window } = this.view.data;
    return window === null ? "no step" : windowWords(meta, this.view.data.table("steps"), window);
  }

  #toolbar(): HTMLElement {
    const { allocators } = this.view.data.meta;
    const change = (value: string) => {
      this.#allocator = Number(value);
      this.#events = this.#read();
      this.#moment = null;
      this.#chart.zoom(null);
      this.#update();
    };
    const options = allocators.map((name, i) =>
      h("option", { value: i, selected: i === this.#allocator }, name || "unnamed allocator"),
    );
    const select = selectBox("Allocator", this.view.signal, change, ...options);
    select.title = "Memory ID";
    const { control, csvButton } = this.#panes;
    return h("div.bar", select, this.#say, this.#chart.legend, control, csvButton);
  }

  /** Why an allocation failed; its moment lies in the allocator that failed. A dashboard tells above all but that. */
  #failure(): HTMLElement | null {
    const { meta } = this.view.data;
    if (!meta.memory_failure) return null;
    const isHere = meta.memory_failure.at_ps !== null && this.#allocator === failedAllocator(this.view);
    const show = (timePs: number) => {
      this.view.link.setTimeRange(null);
      this.#choose(timePs);
    };
    if (!isInDashboard(this.view.root))
      return new FailurePanel(this.view, meta.memory_failure, isHere ? show : null).element;
    const at = meta.memory_failure.at_ps;
    if (!isHere || at === null) return null;
    const link = button("Show the moment in the chart", () => show(at), this.view.signal, { class: "link" });
    return h("div.note", { role: "note" }, `Memory ran out at ${formatInstant(at, 1e8)}.`, link);
  }

  #choose(timePs: number | null): void {
    this.#moment = timePs;
    this.#update();
  }

  #update(): void {
    const events = this.#events;
    const range = this.#range;
    const moment = this.#moment;
    const peak = peakRow(events, range);
    const momentRow = moment === null ? -1 : rowAt(events, moment);
    const { meta } = this.view.data;
    this.#sayPeak(peak);
    const row = moment === null ? peak : momentRow;
    const when = moment === null ? "at the peak" : `at ${formatNumber(moment / 1e9, 6)} ms`;
    const allocator = meta.allocators[this.#allocator] ?? "";
    const scene = { events, allocator, range, peak, moment, steps: this.#steps, row, when };
    this.#chart.show(scene);
    const sums = meta.memory_summary[this.#allocator];
    const peakHeapBytes = sums?.peak_heap_bytes ?? Number.NaN;
    const isLimited = sums?.capacity_bytes !== 0;
    this.#panes.allow(this.#isHere(null));
    const { isFreeDrawn } = this.#chart;
    const known = { isLimited, peakHeapBytes, isFreeDrawn };
    showFacts(this.#facts, { meta, events, range, peak, moment, momentRow, ...known });
    this.#panes.pane.show(scene);
    this.#chart.element.setAttribute("aria-label", `${allocator}: ${this.#say.textContent ?? ""}`);
  }

  #sayPeak(peak: number): void {
    const events = this.#events;
    if (peak < 0) {
      this.#say.replaceChildren("This allocator reports nothing in this range.");
      return;
    }
    const used = events.stack[peak] + events.heap[peak];
    const of = freeBytes(events, peak) > 0 ? ` of ${formatBytes(events.capacity[peak])}` : "";
    const step = events.step[peak];
    const where = step >= 0 ? ` (${stepWords(this.view.data.meta.step_names, step)})` : "";
    const ofKept = this.#isHere(null) ? "" : ` of ${this.#kept()}`;
    const ofWhat = this.view.link.timeRange ? " of this range" : ofKept;
    this.#say.replaceChildren(h("b", `${formatBytes(used)}${of}`), ` at the peak${ofWhat}${where}`);
  }
}

function failedAllocator(view: TraceView): number {
  const { memory_failure, allocators } = view.data.meta;
  return memory_failure ? allocators.indexOf(memory_failure.allocator) : -1;
}

/** The allocator of the device, else that with the highest peak of the whole capture: the one that matters. */
function firstUsed({ data }: TraceView): number {
  const { memory_summary, allocators, device_memory } = data.meta;
  const peaks = memory_summary.map((row) => row.peak_bytes);
  const fullest = peaks.indexOf(peaks.reduce((a, b) => Math.max(a, b), -1));
  return Math.max(0, device_memory ? allocators.indexOf(device_memory.allocator) : fullest);
}

/** What to do where nothing useful was recorded: the words, and the code on the last line. */
function remedy(text: string | null): readonly [string, string] {
  const lines = (text ?? "").split("\n");
  const code = lines.length > 1 ? (lines.pop() as string) : "";
  return [lines.join(" "), code];
}

/** Above a chart of what little was recorded: why the rest is missing. */
function notice(view: TraceView): HTMLElement | null {
  const [reason, code] = remedy(view.data.meta.memory_remedy);
  if (!reason) return null;
  const copy = code ? copyButton("Copy the line", () => code, view.signal) : null;
  return h("div.note", { role: "status", title: code }, h("span", reason), copy);
}

function roomWords({ data }: TraceView): HTMLElement {
  const words = h("p.q");
  void data.ready(["batch_room"]).then(() => {
    const [fits, why] = data.meta.batch_room ?? [];
    if (fits) words.append(`${fits}: ${why}.`);
  });
  return words;
}

export const memoryTimeline: TraceBuilder = {
  name: "memory_timeline",
  async build(view) {
    const { meta } = view.data;
    if ((view.data.table("memory") ?? EMPTY_TABLE).n === 0) {
      if (meta.is_summed && meta.memory_summary.length > 0) return showSums(view);
      const isCpu = !meta.planes.some((plane) => plane.kind === "device");
      const [reason, code] = remedy(meta.memory_remedy);
      if (meta.memory_failure && !isInDashboard(view.root)) {
        // It says why nothing is known of that moment, and what to do, so there is nothing to add.
        view.root.append(new FailurePanel(view, meta.memory_failure, null).element);
        return;
      }
      const title = `No allocation recorded${isCpu ? " on this CPU run" : ""}`;
      view.root.append(emptyState(title, reason || "No allocator reported to the profiler.", code, view.signal));
      return;
    }
    await new MemoryTimeline(view).build();
  },
  needs: ["memory", "steps", "allocators", "memory_summary"],
  ofWindow: ["memory"],
  about: "memory",
  atHost: "rebuilt",
};
