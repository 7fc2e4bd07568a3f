/** Memory events and a window -> the Bokeh chart: stacked bytes, fragmentation, the peak, steps, hover and clicks. */

import { bokehColors, type Chart, colorAxes, createChart, setTicks } from "../bokeh";
import { numbers } from "../core/column";
import { formatBytes, formatCount, formatNumber, formatPercent } from "../core/format";
import { byteUnit, envelope, heldBy, isFreeInformative, type MemoryEvents, rowAt, stepCurves } from "../core/memory";
import type { RangePs } from "../core/ops";
import { formatInstantOn, stepLabel } from "../core/span_text";
import { niceTicks } from "../core/step_bars";
import { EMPTY_TABLE } from "../core/wire";
import { h } from "../draw/dom";
import { inFrame, watchSize } from "../draw/page";
import { createTip, drawLabels, type PlotLabel, watchPlot } from "../draw/plot";
import type { TraceView } from "../view";

const MS = 1e9;
const FRAGMENTATION_TICKS = 3;
/** Room above the highest level for the words about the peak. */
const HEADROOM = 1.2;

interface Shown {
  readonly events: MemoryEvents;
  readonly range: RangePs;
  readonly peak: number;
  readonly moment: number | null;
}

export class MemoryChart {
  readonly element = h("div", { class: "tfp-plot", tabindex: 0, role: "img", "data-lm-suppress-shortcuts": "true" });
  readonly legend = h("span", { style: "display:inline-flex;gap:8px" });
  isFreeDrawn = false;
  readonly #labels = h("div", { class: "tfp-labels", "aria-hidden": "true" });
  readonly #draw: () => void;
  #chart: Chart | null = null;
  #shown: Shown | null = null;
  #nDrawn = 0;
  #nInWindow = 0;

  constructor(
    readonly view: TraceView,
    readonly onMoment: (timePs: number | null) => void,
  ) {
    this.#draw = inFrame(
      view.guard(() => this.#render()),
      view.signal,
    );
  }

  async build(): Promise<void> {
    const { view } = this;
    const tip = createTip(this.element);
    this.#chart = await createChart(view, this.element);
    this.element.append(this.#labels);
    view.onTheme(this.#draw);
    watchSize(this.element, this.#draw, view.signal);
    watchPlot(
      this.element,
      {
        onHover: (x) => this.#hover(x, tip),
        onLeave: () => tip.hide(),
        onClick: (x) => this.#click(x),
        onDrag: (x0, x1) => this.#band(x0, x1),
        onDragEnd: (x0, x1) => this.#choose(x0, x1),
      },
      view.signal,
    );
    this.element.addEventListener(
      "keydown",
      view.guard((event: KeyboardEvent) => this.#key(event)),
      { signal: view.signal },
    );
  }

  show(events: MemoryEvents, range: RangePs, peak: number, moment: number | null): void {
    this.#shown = { events, range, peak, moment };
    this.isFreeDrawn = isFreeInformative(events, peak);
    this.#showLegend();
    this.#draw();
  }

  #window(): readonly [number, number] {
    return this.#shown?.range ?? [0, this.view.data.meta.duration_ps];
  }

  #render(): void {
    const chart = this.#chart;
    const shown = this.#shown;
    if (chart === null || shown === null) return;
    const [t0, t1] = this.#window();
    const { events } = shown;
    const drawn = envelope(events, t0, t1, Math.max(1, this.element.clientWidth - 90));
    this.#nDrawn = drawn.rows.length;
    this.#nInWindow = drawn.nInWindow;
    const most = this.#fill(chart, drawn.rows, t0, t1);
    chart.get("x").setv({ start: t0 / MS, end: Math.max(t1, t0 + 1) / MS });
    this.#drawAxes(chart, most);
    this.#drawColors(chart);
    chart.get("moment").setv({ location: (shown.moment ?? 0) / MS, visible: shown.moment !== null });
    chart.get("range").setv({ visible: false });
    // Bokeh lays out in a later frame; the words go where its frame is then.
    requestAnimationFrame(this.view.guard(() => !this.view.signal.aborted && this.#drawLabels(chart)));
  }

  /** Fills the curves; the last level holds to the end of the window. Returns the bytes at the top of the axis. */
  #fill(chart: Chart, rows: Int32Array, t0: number, t1: number): number {
    const { events, peak } = this.#shown as Shown;
    const heldRows = this.#heldRows();
    const curves = stepCurves(rows, t0, t1, {
      stack: (row) => events.stack[row],
      heap: (row) => events.stack[row] + events.heap[row],
      free: (row) => events.stack[row] + events.heap[row] + (this.isFreeDrawn ? events.free[row] : 0),
      fragmentation: (row) => events.fragmentation[row],
      held: (row) => heldRows?.[row - events.begin] ?? 0,
    }, events.time);
    chart.setData("memory", curves);
    const used = peak < 0 ? 0 : events.stack[peak] + events.heap[peak];
    chart.setData("peak", peak < 0 ? { x: [], y: [] } : { x: [Math.max(t0, events.time[peak]) / MS], y: [used] });
    const top = this.isFreeDrawn && peak >= 0 ? used + events.free[peak] : used;
    return top > 0 ? top : 1;
  }

  /** What the selected ops hold after each row; null while none is selected. */
  #heldRows(): Float64Array | null {
    const chosen = new Set(this.view.link.selection);
    if (chosen.size === 0) return null;
    const ids = new Set<number>();
    this.view.data.meta.names.forEach((name, id) => chosen.has(name) && ids.add(id));
    return ids.size > 0 ? heldBy((this.#shown as Shown).events, ids) : null;
  }

  #drawAxes(chart: Chart, most: number): void {
    const [size, unit] = byteUnit(most);
    const levels = niceTicks(most / size, 4).map((level) => level * size);
    chart.get("y").setv({ start: 0, end: most * HEADROOM });
    const last = levels[levels.length - 1];
    setTicks(chart, "y_axis", levels, (level) => `${formatTick(level / size)}${level === last ? ` ${unit}` : ""}`);
    const { events } = this.#shown as Shown;
    let worst = 0;
    for (let i = events.begin; i < events.end; i++) worst = Math.max(worst, events.fragmentation[i]);
    // Twice the worst value, so that the line keeps to the lower half and leaves the peak in sight.
    const top = Math.max(0.05, worst * 2);
    const ticks = niceTicks(Math.min(1, top), FRAGMENTATION_TICKS);
    chart.get("fragmentation").setv({ start: 0, end: top * HEADROOM });
    setTicks(chart, "fragmentation_axis", ticks, (ratio) => `${formatTick(ratio * 100)} %`);
    this.#drawTimeAxis(chart);
  }

  /** Names the steps of the window where there is room for them, else the time. */
  #drawTimeAxis(chart: Chart): void {
    const [t0, t1] = this.#window();
    const { meta } = this.view.data;
    const steps = this.view.data.table("steps") ?? EMPTY_TABLE;
    const start = numbers(steps, "start_ps");
    const duration = numbers(steps, "duration_ps");
    const inside: number[] = [];
    for (let i = 0; i < steps.n; i++) if (start[i] < t1 && start[i] + duration[i] > t0) inside.push(i);
    const width = Math.max(200, this.element.clientWidth - 90);
    const labels = new Map<number, string>();
    if (inside.length < 2) {
      const length = t1 - t0;
      const [, step = length] = niceTicks(length, Math.max(2, width / 110));
      for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) labels.set(t / MS, formatInstantOn(t, step));
      chart.get("x_axis_ticker").setv({ minor_ticks: [] });
    } else {
      const [, every = 1] = niceTicks(inside.length, Math.max(2, width / 64));
      for (const i of inside) {
        if ((i - inside[0]) % Math.max(1, Math.round(every)) !== 0) continue;
        const middle = (Math.max(t0, start[i]) + Math.min(t1, start[i] + duration[i])) / 2;
        labels.set(middle / MS, `step ${stepLabel(meta.step_names, i)}`);
      }
      const edges = inside.length <= width / 8 ? inside.map((i) => start[i] / MS) : [];
      chart.get("x_axis_ticker").setv({ minor_ticks: edges });
    }
    setTicks(chart, "x_axis", [...labels.keys()], (tick) => labels.get(tick) ?? "");
  }

  #drawColors(chart: Chart): void {
    const names = ["ink", "ink-2", "bg", "rule", "rule-2", "act", "m-stack", "m-heap", "m-free", "m-frag"];
    const color = bokehColors(this.view.root, names);
    for (const layer of ["stack", "heap", "free"]) {
      chart.get(`area_${layer}`).setv({ fill_color: { value: color[`m-${layer}`] }, fill_alpha: { value: 1 } });
    }
    chart.get("held").setv({ fill_color: { value: color.ink }, fill_alpha: { value: 0.45 } });
    chart.get("fragmentation_halo").setv({ line_color: { value: color.bg } });
    chart.get("fragmentation_line").setv({ line_color: { value: color["m-frag"] } });
    chart.get("peak_mark").setv({ fill_color: { value: color.ink } });
    chart.get("moment").setv({ line_color: color.act });
    chart.get("range").setv({ fill_color: color.act, fill_alpha: 0.14, line_color: color.act });
    chart.get("grid").setv({ grid_line_color: color.rule, grid_line_alpha: this.isFreeDrawn ? 0 : 1 });
    const font = getComputedStyle(this.view.root).fontFamily;
    colorAxes(chart, ["x_axis", "y_axis", "fragmentation_axis"], color["ink-2"], font);
    chart.get("x_axis").setv({ minor_tick_line_color: color["rule-2"] });
  }

  #drawLabels(chart: Chart): void {
    const { events, peak, moment } = this.#shown as Shown;
    const frame = chart.frame();
    const labels: PlotLabel[] = [];
    const [t0] = this.#window();
    if (peak >= 0) {
      const used = events.stack[peak] + events.heap[peak];
      const x = chart.xToPx(Math.max(t0, events.time[peak]) / MS);
      const isLeft = x > (frame.left + frame.right) / 2;
      const text = `peak ${formatBytes(used)} at ${formatInstantOn(events.time[peak], 1e8)}${this.#about(peak)}`;
      labels.push({
        x: isLeft ? x - 9 : x + 9,
        y: Math.max(8, chart.yToPx(used) - 4),
        text,
        align: isLeft ? "right" : "left",
        isBold: true,
      });
    }
    if (moment !== null) {
      const row = rowAt(events, moment);
      const text =
        row < 0
          ? "before the first event"
          : `${formatBytes(events.stack[row] + events.heap[row])} at ${formatInstantOn(moment, 1e8)}`;
      const x = chart.xToPx(moment / MS);
      const isLeft = x > (frame.left + frame.right) / 2;
      labels.push({ x: isLeft ? x - 4 : x + 4, y: frame.bottom - 10, text, align: isLeft ? "right" : "left" });
    }
    if (this.#nDrawn < this.#nInWindow) {
      const text = `${formatCount(this.#nDrawn)} of ${formatCount(this.#nInWindow)} events drawn, with every extreme`;
      labels.push({ x: frame.left + 6, y: frame.top + 22, text, align: "left" });
    }
    drawLabels(this.#labels, labels);
  }

  /** ", step 13, Conv2DBackpropInput": when and through whom. */
  #about(row: number): string {
    const { meta } = this.view.data;
    const { events } = this.#shown as Shown;
    const step = events.step[row] >= 0 ? `, step ${stepLabel(meta.step_names, events.step[row])}` : "";
    const name = meta.names[events.op[row]] ?? "";
    const leaf = name.split("/").pop() ?? "";
    return `${step}${leaf ? `, ${leaf}` : ""}`;
  }

  #showLegend(): void {
    const keys = ["stack", "heap", ...(this.isFreeDrawn ? ["free"] : [])].map((layer) => {
      const swatch = h("i", { class: "sw" });
      swatch.style.background = `var(--m-${layer})`;
      return h("span", { class: "tfp-key" }, swatch, layer);
    });
    const line = h("span", { class: "tfp-key" }, h("i", { class: "line" }), "fragmentation, right axis");
    this.legend.replaceChildren(...keys, line);
  }

  #timeAt(px: number): number {
    const [t0, t1] = this.#window();
    return Math.max(t0, Math.min(t1, (this.#chart?.toX(px) ?? 0) * MS));
  }

  #hover(px: number, tip: ReturnType<typeof createTip>): void {
    const chart = this.#chart;
    if (chart === null || this.#shown === null) return;
    const { events } = this.#shown;
    const row = nearestRow(events, this.#timeAt(px));
    if (row < 0) {
      tip.hide();
      return;
    }
    const { names } = this.view.data.meta;
    const name = (id: number) => names[id] ?? "";
    const title = `${events.isFree[row] ? "frees" : "allocates"} ${formatBytes(events.allocated[row])} · ${name(events.op[row]) || "op not recorded"}`;
    const kind = [name(events.region[row]), name(events.dtype[row]), name(events.shape[row])]
      .filter(Boolean)
      .join(" · ");
    const use = `in use ${formatBytes(events.stack[row] + events.heap[row])} · fragmentation ${formatPercent(events.fragmentation[row])}`;
    const when = `at ${formatInstantOn(events.time[row], 1e6)}${this.#stepWord(row)} · requested ${formatBytes(events.requested[row])}`;
    tip.show(chart.xToPx(events.time[row] / MS), 18, { title, lines: [kind, use, when].filter(Boolean) });
  }

  #stepWord(row: number): string {
    const step = this.#shown?.events.step[row] ?? -1;
    return step >= 0 ? `, step ${stepLabel(this.view.data.meta.step_names, step)}` : "";
  }

  #click(px: number): void {
    const time = this.#timeAt(px);
    const now = this.#shown?.moment ?? null;
    const isSame = now !== null && this.#chart !== null && Math.abs(this.#chart.xToPx(now / MS) - px) < 3;
    this.onMoment(isSame ? null : time);
  }

  #band(x0: number, x1: number): void {
    const [left, right] = [this.#timeAt(Math.min(x0, x1)) / MS, this.#timeAt(Math.max(x0, x1)) / MS];
    this.#chart?.get("range").setv({ left, right, visible: true });
  }

  #choose(x0: number, x1: number): void {
    this.view.link.setTimeRange([this.#timeAt(Math.min(x0, x1)) / 1000, this.#timeAt(Math.max(x0, x1)) / 1000]);
  }

  /** Left and right walk through the events; Enter shows the peak again. */
  #key(event: KeyboardEvent): void {
    const shown = this.#shown;
    if (shown === null || !["ArrowLeft", "ArrowRight", "Enter"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") {
      this.onMoment(null);
      return;
    }
    const { events } = shown;
    const at = shown.moment === null ? shown.peak : rowAt(events, shown.moment);
    const next = Math.max(events.begin, Math.min(events.end - 1, at + (event.key === "ArrowLeft" ? -1 : 1)));
    if (next >= 0) this.onMoment(events.time[next]);
  }
}

function nearestRow(events: MemoryEvents, timePs: number): number {
  const before = rowAt(events, timePs);
  const after = before < 0 ? events.begin : before + 1;
  if (before < 0) return after < events.end ? after : -1;
  if (after >= events.end) return before;
  return timePs - events.time[before] <= events.time[after] - timePs ? before : after;
}

function formatTick(value: number): string {
  return formatNumber(value, 4)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}
