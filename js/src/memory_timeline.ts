/** The memory events of an allocator -> what is in use over time, the peak of the linked range, and what holds it. */

import "./memory_timeline.css";
import { formatBytes, formatCount, formatNumber, formatPercent } from "./core/format";
import { countEvents, type MemoryEvents, memoryEvents, peakRow, rowAt } from "./core/memory";
import type { RangePs } from "./core/ops";
import { rangeInPs, stepLabel } from "./core/span_text";
import { EMPTY_TABLE } from "./core/wire";
import { copyButton, emptyState, h } from "./draw/dom";
import { paced } from "./draw/page";
import { MemoryChart } from "./memory/chart";
import { LiveTable } from "./memory/live_table";
import { mount, type TraceView } from "./view";

class MemoryTimeline {
  #events: MemoryEvents;
  #allocator = 0;
  /** A moment chosen by a click; null shows the peak. */
  #moment: number | null = null;
  readonly #say = h("span", { class: "tfp-say", role: "status" });
  readonly #chart: MemoryChart;
  readonly #table: LiveTable;

  constructor(readonly view: TraceView) {
    const { signal, data, link } = view;
    this.#allocator = firstUsed(view);
    this.#events = memoryEvents(data.table("memory") ?? EMPTY_TABLE, this.#allocator);
    this.#chart = new MemoryChart(view, (timePs) => this.#choose(timePs));
    this.#table = new LiveTable(view);
    view.root.append(
      h("div", { class: "tfp-fill" }, notice(view), this.#toolbar(), this.#chart.element, this.#table.element),
    );
    const update = paced(
      view.guard(() => this.#update()),
      signal,
    );
    link.on(
      "time_range",
      () => {
        this.#moment = null;
        update();
      },
      signal,
    );
    link.on("selection", update, signal);
    data.onChange(() => {
      if (!data.isComplete) return;
      this.#events = memoryEvents(data.table("memory") ?? EMPTY_TABLE, this.#allocator);
      update();
    }, signal);
    view.root.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || this.#moment === null) return;
        event.stopPropagation();
        this.#choose(null);
      },
      { signal },
    );
  }

  async build(): Promise<void> {
    this.#update();
    await this.#chart.build();
    this.#update();
  }

  get #range(): RangePs {
    return rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
  }

  #toolbar(): HTMLElement {
    const { meta } = this.view.data;
    const select = h("select", { "aria-label": "Allocator" });
    meta.allocators.forEach((name, i) => {
      select.append(h("option", { value: i, selected: i === this.#allocator }, name || "unnamed allocator"));
    });
    select.addEventListener(
      "change",
      this.view.guard(() => {
        this.#allocator = Number(select.value);
        this.#events = memoryEvents(this.view.data.table("memory") ?? EMPTY_TABLE, this.#allocator);
        this.#moment = null;
        this.#update();
      }),
      { signal: this.view.signal },
    );
    return h(
      "div",
      { class: "bar" },
      select,
      this.#say,
      h("span", { class: "sp" }),
      this.#chart.legend,
      this.#table.csvButton,
    );
  }

  #choose(timePs: number | null): void {
    this.#moment = timePs;
    this.#update();
  }

  #update(): void {
    const events = this.#events;
    const range = this.#range;
    const peak = peakRow(events, range);
    const momentRow = this.#moment === null ? -1 : rowAt(events, this.#moment);
    const { meta } = this.view.data;
    this.#sayPeak(peak);
    this.#chart.show(events, range, peak, this.#moment);
    const row = this.#moment === null ? peak : momentRow;
    const when = this.#moment === null ? "at the peak" : `at ${formatNumber(this.#moment / 1e9, 6)} ms`;
    this.#table.show(events, row, when);
    this.#chart.element.setAttribute(
      "aria-label",
      `${meta.allocators[this.#allocator] ?? ""}: ${this.#say.textContent ?? ""}`,
    );
  }

  #sayPeak(peak: number): void {
    const events = this.#events;
    if (peak < 0) {
      this.#say.replaceChildren("This allocator reports nothing in this range.");
      return;
    }
    const used = events.stack[peak] + events.heap[peak];
    const { allocations, freed } = countEvents(events, this.#range);
    const capacity = used + events.free[peak];
    const of = events.free[peak] > 0 ? ` of ${formatBytes(capacity)}` : "";
    const step = events.step[peak];
    const rest = [
      events.free[peak] > 0
        ? `free ${formatBytes(events.free[peak])}${this.#chart.isFreeDrawn ? "" : " (not drawn)"}`
        : "",
      `fragmentation ${formatPercent(events.fragmentation[peak])}`,
      `${formatCount(allocations)} allocations${freed === allocations && allocations > 0 ? ", all freed" : `, ${formatCount(freed)} freed`}`,
      this.#kept(),
    ].filter(Boolean);
    const where = step >= 0 ? ` (step ${stepLabel(this.view.data.meta.step_names, step)})` : "";
    this.#say.replaceChildren(
      h("b", {}, `${formatBytes(used)}${of}`),
      ` at the peak${where} `,
      h("span", { class: "q" }, `· ${rest.join(" · ")}`),
    );
    this.#say.title = this.#say.textContent ?? "";
  }

  #kept(): string {
    const { data } = this.view;
    const n = data.table("memory")?.n ?? 0;
    const all = data.meta.n_memory ?? n;
    return n < all ? `${formatCount(n)} of ${formatCount(all)} events here` : "";
  }
}

/** The allocator with the highest peak: the one that matters, where several report. */
function firstUsed(view: TraceView): number {
  const table = view.data.table("memory") ?? EMPTY_TABLE;
  let best = 0;
  let most = -1;
  view.data.meta.allocators.forEach((_, i) => {
    const events = memoryEvents(table, i);
    const peak = peakRow(events, null);
    const used = peak < 0 ? -1 : events.stack[peak] + events.heap[peak];
    if (used > most) [best, most] = [i, used];
  });
  return best;
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
  return h("div", { class: "note", role: "status", title: code }, h("span", {}, reason), copy);
}

export default mount("memory_timeline", async (view) => {
  view.root.classList.add("tfp-memory_timeline");
  const { meta } = view.data;
  if ((view.data.table("memory") ?? EMPTY_TABLE).n === 0 && view.data.isComplete) {
    const isCpu = !meta.planes.some((plane) => plane.kind === "device");
    const [reason, code] = remedy(meta.memory_remedy);
    const title = `No allocation recorded${isCpu ? " on this CPU run" : ""}`;
    view.root.append(emptyState(title, reason || "No allocator reported to the profiler.", code, view.signal));
    return;
  }
  await new MemoryTimeline(view).build();
});
