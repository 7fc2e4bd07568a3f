/** The Bokeh chart of memory: stacked bytes, the peak, steps, hover and clicks; and the window of time that the map below it shares. */

import { clamp, columns, type RangePs, type Span } from "../../data/columns";
import type { TraceMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import {
  bytesInUse,
  byteUnit,
  envelope,
  freeBytes,
  heldBy,
  isFreeInformative,
  type MemoryEvents,
  type MemoryStep,
  rowAt,
  stepCurves,
  untakenBytes,
} from "../../model/memory";
import { isSparse, stepLabel, stepWords, uncapturedSpans } from "../../model/range";
import { niceTicks } from "../../model/steps";
import { formatBytes, formatCount, formatInstant, formatNumber } from "../../model/text";
import { h, inFrame, onKeys, paced, svg, unspoken, watchSize } from "../../ui/dom";
import {
  bokehColors,
  type Chart,
  colorAxes,
  createChart,
  drawLabels,
  type PlotLabel,
  setTicks,
  type Tip,
  TipBox,
  watchPlot,
} from "../../ui/plot";
import type { TraceView } from "../../ui/view";

const MS = 1e9;
/** Left of the plot until Bokeh has laid it out. */
const FRAME_PX = 34;

/** What chart, map and tables are about. */
export interface MemoryScene {
  readonly events: MemoryEvents;
  readonly allocator: string;
  readonly range: RangePs;
  readonly peak: number;
  readonly moment: number | null;
  readonly steps: readonly MemoryStep[];
  /** Of the events: whose state map and table of holders show, and in words when that is. */
  readonly row: number;
  readonly when: string;
}

const inUse = (events: MemoryEvents, row: number) => formatBytes(bytesInUse(events, row));

/**
 * "largest free piece 3.52 of 3.54 GiB free; 68.4 GiB more are not taken from the device"; "" where the allocator tells nothing.
 * @param where behind the piece, where it lies
 */
export function pieceWords(events: MemoryEvents, row: number, where = ""): string {
  const untaken = untakenBytes(events, row);
  const [piece, free] = [events.piece[row], freeBytes(events, row) - untaken];
  if (!(piece >= 0 && free > 0)) return "";
  const [size, unit] = byteUnit(free);
  const [part, all] = [piece, free].map((bytes) => formatNumber(bytes / size));
  const more = untaken > 0 ? `; ${formatBytes(untaken)} more are not taken from the device` : "";
  return `largest free piece ${part} of ${all} ${unit} free${where}${more}`;
}

export function opName({ names, sections, hlo_ops }: TraceMeta, id: number): string {
  const hasXla = (sections?.hlo_ops?.n_rows ?? hlo_ops?.length ?? 0) > 0;
  return names[id] || (hasXla ? "allocated by XLA (op unknown)" : "op not recorded");
}

export function inStep(meta: TraceMeta, events: MemoryEvents, row: number): string {
  const step = events.step[row];
  return step >= 0 ? `, ${stepWords(meta.step_names, step)}` : "";
}

function beside(chart: Chart, x: number, y: number, gap: number, text: string): PlotLabel {
  const { left, right } = chart.frame();
  const isLeft = x > (left + right) / 2;
  return { x: isLeft ? x - gap : x + gap, y, text, align: isLeft ? "right" : "left" };
}

/** "peak 3.34 GiB at 483.4 ms, step 13, Conv2DBackpropInput", beside its marker; `t0` is where the plot begins. */
function peakLabel(chart: Chart, meta: TraceMeta, events: MemoryEvents, peak: number, t0: number): PlotLabel {
  // The last part of an op's path; `Const/_11` stays whole, for the number alone says nothing.
  const leaf = /[^/]*(?:\/_\d+)?$/.exec(meta.names[events.op[peak]] ?? "")?.[0];
  const when = `at ${formatInstant(events.time[peak], 1e8)}${inStep(meta, events, peak)}`;
  const text = `peak ${inUse(events, peak)} ${when}${leaf ? `, ${leaf}` : ""}`;
  const x = chart.xToPx(Math.max(t0, events.time[peak]) / MS);
  // In the room above the highest level, where it covers none.
  return { ...beside(chart, x, chart.frame().top + 6, 9, text), isBold: true };
}

function momentLabel(chart: Chart, events: MemoryEvents, moment: number): PlotLabel {
  const row = rowAt(events, moment);
  const text = `${inUse(events, row < 0 ? ~events.begin : row)} at ${formatInstant(moment, 1e8)}`;
  return beside(chart, chart.xToPx(moment / MS), chart.frame().bottom - 10, 4, text);
}

/** "output · float32 · [32,64]" */
export function tensorWords({ names }: TraceMeta, events: MemoryEvents, row: number): string {
  const [region, dtype, shape] = [events.region, events.dtype, events.shape].map((column) => names[column[row]] ?? "");
  return [region, dtype === "INVALID" ? "" : dtype, shape].filter(Boolean).join(" · ");
}

function eventTip(meta: TraceMeta, events: MemoryEvents, row: number): Tip {
  const verb = events.isFree[row] ? "frees" : "allocates";
  const when = `at ${formatInstant(events.time[row], 1e6)}${inStep(meta, events, row)}`;
  const lines = [
    tensorWords(meta, events, row),
    [`in use ${inUse(events, row)}`, pieceWords(events, row)].filter(Boolean).join(" · "),
    `${when} · requested ${formatBytes(events.requested[row])}`,
  ];
  const title = `${verb} ${formatBytes(events.allocated[row])} · ${opName(meta, events.op[row])}`;
  return { title, lines: lines.filter(Boolean) };
}

const STEP_LABEL_PX = 58;
const TIME_LABEL_PX = 110;
/** Steps narrower than this have no ticks at their borders. */
const MIN_STEP_PX = 6;
/** A step that a range of whole steps only touches, for its bounds are rounded to ns, is not inside. */
const TOUCH_PS = 2000;
/** Room above the highest level for the words about the peak. */
const HEADROOM = 1.3;

function paintLevels(chart: Chart, most: number): void {
  const [size, unit] = byteUnit(most);
  const levels = niceTicks(most / size, 4).map((level) => level * size);
  const last = levels[levels.length - 1];
  chart.get("y").setv({ start: 0, end: most * HEADROOM });
  setTicks(chart, "y_axis", levels, (level) => `${formatTick(level / size)}${level === last ? ` ${unit}` : ""}`);
}

type TimeWindow = Readonly<Record<"t0" | "t1" | "width", number>>;

/** Names the steps of the window where there are several, else the time. */
function paintTime(chart: Chart, { t0, t1, width }: TimeWindow, steps: Table, stepNames: readonly string[]): void {
  chart.get("x").setv({ start: t0 / MS, end: Math.max(t1, t0 + 1) / MS });
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  const inside: number[] = [];
  for (let i = 0; i < steps.n; i++) {
    if (start[i] < t1 - TOUCH_PS && start[i] + duration[i] > t0 + TOUCH_PS) inside.push(i);
  }
  const labels = new Map<number, string>();
  const pxPerPs = width / Math.max(1, t1 - t0);
  if (inside.length < 2) {
    const [, step = t1 - t0] = niceTicks(t1 - t0, width / TIME_LABEL_PX);
    for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) labels.set(t / MS, formatInstant(t, step));
  }
  let free = -Infinity;
  for (const i of inside.length < 2 ? [] : inside) {
    const middle = (Math.max(t0, start[i]) + Math.min(t1, start[i] + duration[i])) / 2;
    const px = (middle - t0) * pxPerPs;
    if (px < free) continue;
    free = px + STEP_LABEL_PX;
    labels.set(middle / MS, `step ${stepLabel(stepNames, i)}`);
  }
  const meanPx = ((t1 - t0) / Math.max(1, inside.length)) * pxPerPs;
  const borders = inside.length > 1 && meanPx > MIN_STEP_PX ? inside.map((i) => start[i] / MS) : [];
  chart.get("x_axis_ticker").setv({ minor_ticks: borders });
  setTicks(chart, "x_axis", [...labels.keys()], (tick) => labels.get(tick) ?? "");
}

function paintColors(chart: Chart, root: HTMLElement, isFreeDrawn: boolean): void {
  const names = ["ink", "ink-2", "rule", "rule-2", "act", "m-stack", "m-heap", "m-free"];
  const color = bokehColors(root, names);
  for (const layer of ["stack", "heap", "free"]) {
    chart.get(`area_${layer}`).setv({ fill_color: { value: color[`m-${layer}`] }, fill_alpha: { value: 1 } });
  }
  chart.get("level").setv({ line_color: { value: color["m-heap"] } });
  chart.get("held").setv({ fill_color: { value: color.ink }, fill_alpha: { value: 0.45 } });
  chart.get("peak_mark").setv({ fill_color: { value: color.ink } });
  chart.get("moment").setv({ line_color: color.act });
  chart.get("range").setv({ fill_color: color.act, fill_alpha: 0.14, line_color: color.act });
  chart.get("grid").setv({ grid_line_color: color.rule, grid_line_alpha: isFreeDrawn ? 0 : 1 });
  const font = getComputedStyle(root).fontFamily;
  colorAxes(chart, ["x_axis", "y_axis"], color["ink-2"], font);
  chart.get("x_axis").setv({ minor_tick_line_color: color["rule-2"] });
}

function formatTick(value: number): string {
  return formatNumber(value, 4)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}

/** Steps narrower than this have no mark of their own peak. */
const MIN_PEAK_PX = 5;
const GAP_TEXT_PX = 90;

export class MemoryChart {
  readonly element = h("div.tfp-plot", { tabindex: 0, role: "img" });
  /** What is drawn beyond what the figures beside the chart explain. */
  readonly legend = h("span.tfp-mem-keys.opt");
  readonly drawn = h("p.q.tfp-mem-drawn");
  isFreeDrawn = false;
  /** Called when the window of time has changed, and where it is drawn. */
  onWindow: () => void = () => undefined;
  readonly #peaksKey = h("span.tfp-key", { hidden: true }, h("i.peaks"), "peak of each step");
  readonly #labels = unspoken("div.tfp-labels");
  readonly #draw: () => void;
  readonly #drawLater: () => void;
  #chart: Chart | null = null;
  #shown: MemoryScene | null = null;
  #zoom: Span | null = null;

  constructor(
    readonly view: TraceView,
    readonly onMoment: (timePs: number | null) => void,
  ) {
    this.#draw = inFrame(() => this.#render(), view.signal);
    // The map follows a zoom with every frame, Bokeh when it rests.
    this.#drawLater = paced(
      () => this.#render(),
      view.signal,
      () => true,
    );
  }

  async build(): Promise<void> {
    const { view } = this;
    const tip = new TipBox(this.element);
    this.#chart = await createChart(view, this.element);
    this.element.append(this.#labels);
    view.onTheme(this.#draw);
    watchSize(this.element, view.signal, this.#draw);
    watchPlot(this.element, view.signal, {
      onHover: (x) => this.#hover(x, tip),
      onLeave: () => tip.hide(),
      onClick: (x) => this.#click(x),
      onDrag: (x0, x1) => this.band(x0, x1),
      onDragEnd: (x0, x1) => this.choose(x0, x1),
    });
    onKeys(this.element, view.signal, ({ key }) => this.walk(key));
  }

  show(shown: MemoryScene): void {
    this.#shown = shown;
    this.isFreeDrawn = isFreeInformative(shown.events, shown.peak);
    this.#showLegend();
    this.#draw();
  }

  /** Where the plot lies, and from when to when it is. */
  get place(): Span & Readonly<Record<"left" | "right", number>> {
    const { left, right } = this.#chart?.frame() ?? { left: FRAME_PX, right: this.element.clientWidth };
    const [t0, t1] = this.#window();
    return { left, right, t0, t1: Math.max(t1, t0 + 1) };
  }

  /** Shows a part of the window; null is all of it. */
  zoom(to: Span | null): void {
    this.#zoom = null;
    const [t0, t1] = this.#window();
    const zoom = to && clamp(to, { t0, t1 });
    if (zoom && zoom.t1 - zoom.t0 < t1 - t0) this.#zoom = zoom;
    this.onWindow();
    this.#drawLater();
  }

  #window(): readonly [number, number] {
    return this.#zoom ? [this.#zoom.t0, this.#zoom.t1] : this.#all();
  }

  /** The range; else the whole capture, or where that is next to all gaps, the session of the peak. */
  #all(): readonly [number, number] {
    const { meta } = this.view.data;
    const { sessions } = meta;
    const session = sessions[this.#peakSession()];
    if (session === undefined) return this.#shown?.range ?? [0, meta.duration_ps];
    const { events, peak } = this.#shown as MemoryScene;
    return [session.start_ps, Math.max(session.stop_ps, events.time[peak])];
  }

  /** The session that stands for a sparse capture, -1 while the window is another. */
  #peakSession(): number {
    const { meta } = this.view.data;
    const shown = this.#shown;
    if (shown === null || shown.range !== null || shown.peak < 0 || meta.sessions.length < 2) return -1;
    return isSparse(meta) ? shown.events.session[shown.peak] : -1;
  }

  #render(): void {
    const chart = this.#chart;
    const shown = this.#shown;
    if (chart === null || shown === null) return;
    const [t0, t1] = this.#window();
    const { events } = shown;
    const drawn = envelope(events, t0, t1, Math.max(1, this.element.clientWidth - 90));
    const isAll = drawn.rows.length >= drawn.nInWindow;
    const counts = `${formatCount(drawn.rows.length)} of ${formatCount(drawn.nInWindow)}`;
    this.drawn.textContent = isAll ? "" : `${counts} events drawn, with every extreme`;
    const most = this.#fill(chart, drawn.rows, t0, t1);
    const { data, root } = this.view;
    paintLevels(chart, most);
    const width = Math.max(200, this.element.clientWidth - 90);
    paintTime(chart, { t0, t1, width }, data.table("steps") ?? EMPTY_TABLE, data.meta.step_names);
    paintColors(chart, root, this.isFreeDrawn);
    chart.get("moment").setv({ location: (shown.moment ?? 0) / MS, visible: shown.moment !== null });
    chart.get("range").setv({ visible: false });
    // Bokeh lays out in a later frame; the words go where its frame is then.
    requestAnimationFrame(
      this.view.guard(() => {
        if (this.view.signal.aborted) return;
        this.#drawLabels(chart);
        this.onWindow();
      }),
    );
  }

  /** Fills the curves; the last level holds to the end of the window. Returns the bytes at the top of the axis. */
  #fill(chart: Chart, rows: Int32Array, t0: number, t1: number): number {
    const { events, peak } = this.#shown as MemoryScene;
    const heldRows = this.#heldRows();
    const at = (row: number) => (row < 0 ? ~row : row);
    const levels = {
      stack: (row: number) => events.stack[at(row)],
      heap: (row: number) => bytesInUse(events, row),
      free: (row: number) => Math.max(bytesInUse(events, row), this.isFreeDrawn ? events.capacity[at(row)] : 0),
      held: (row: number) => heldRows?.[row - events.begin] ?? 0,
    };
    chart.setData("memory", stepCurves(rows, t0, t1, levels, events.time));
    const used = peak < 0 ? 0 : events.stack[peak] + events.heap[peak];
    chart.setData("peak", peak < 0 ? { x: [], y: [] } : { x: [Math.max(t0, events.time[peak]) / MS], y: [used] });
    const top = this.isFreeDrawn && peak >= 0 ? events.capacity[peak] : used;
    return top > 0 ? top : 1;
  }

  /** What the selected ops hold after each row; null while none is selected. */
  #heldRows(): Float64Array | null {
    const chosen = new Set(this.view.link.selection);
    if (chosen.size === 0) return null;
    const ids = new Set(this.view.data.meta.names.flatMap((name, id) => (chosen.has(name) ? [id] : [])));
    return ids.size > 0 ? heldBy((this.#shown as MemoryScene).events, ids) : null;
  }

  #drawLabels(chart: Chart): void {
    const { events, peak, moment } = this.#shown as MemoryScene;
    const { meta } = this.view.data;
    const labels: PlotLabel[] = [];
    if (peak >= 0) labels.push(peakLabel(chart, meta, events, peak, this.#window()[0]));
    if (moment !== null) labels.push(momentLabel(chart, events, moment));
    labels.push(...this.#notes(chart));
    drawLabels(this.#labels, labels);
    this.#labels.prepend(...this.#gaps(chart), this.#stepPeaks(chart));
  }

  /** A line over each step at its peak, where steps are wide enough and there are several. */
  #stepPeaks(chart: Chart): SVGElement {
    const { steps } = this.#shown as MemoryScene;
    const [t0, t1] = this.#window();
    const inside = steps.filter((step) => step.startPs < t1 && step.endPs > t0);
    const drawing = svg("svg.tfp-step-peaks", { width: this.element.clientWidth, height: "100%" });
    const { left, right } = chart.frame();
    this.#peaksKey.hidden = inside.length < 2 || (right - left) / inside.length < MIN_PEAK_PX;
    if (this.#peaksKey.hidden) return drawing;
    const path = inside.map((step) => {
      const [x0, x1] = [Math.max(t0, step.startPs), Math.min(t1, step.endPs)].map((ps) => chart.xToPx(ps / MS));
      return `M${x0 + 1} ${chart.yToPx(step.peakBytes)}H${Math.max(x0 + 2, x1 - 1)}`;
    });
    drawing.append(svg("path", { d: path.join("") }));
    return drawing;
  }

  /** What of the capture the plot leaves out, on the side away from the peak and its words. */
  #notes(chart: Chart): PlotLabel[] {
    const { events, peak } = this.#shown as MemoryScene;
    const { left, right, top } = chart.frame();
    const isPeakLeft = peak >= 0 && chart.xToPx(events.time[peak] / MS) < (left + right) / 2;
    const side = isPeakLeft ? ({ x: right - 6, align: "right" } as const) : ({ x: left + 6, align: "left" } as const);
    const session = this.#peakSession();
    if (session < 0) return [];
    const of = `${session + 1} of ${this.view.data.meta.sessions.length}`;
    return [{ ...side, y: top + 27, text: `the session with the peak, ${of}; choose steps to see another` }];
  }

  #gaps(chart: Chart): HTMLElement[] {
    const { left, right, bottom } = chart.frame();
    const [t0, t1] = this.#window();
    return uncapturedSpans(this.view.data.meta.sessions).flatMap((gap) => {
      const x0 = Math.max(left, chart.xToPx(Math.max(t0, gap.t0) / MS));
      const x1 = Math.min(right, chart.xToPx(Math.min(t1, gap.t1) / MS));
      if (x1 - x0 < 1) return [];
      const style = { left: `${x0}px`, width: `${x1 - x0}px`, height: `${bottom}px` };
      return [h("div.tfp-gap", { style }, x1 - x0 > GAP_TEXT_PX && "not captured")];
    });
  }

  #showLegend(): void {
    const hasHeld = this.view.link.selection.length > 0;
    const held = h("span.tfp-key", h("i.sw.held"), "held by the selection");
    this.legend.replaceChildren(...(hasHeld ? [held] : []), this.#peaksKey);
  }

  #timeAt(px: number): number {
    const [t0, t1] = this.#window();
    return Math.max(t0, Math.min(t1, (this.#chart?.toX(px) ?? 0) * MS));
  }

  #hover(px: number, tip: TipBox): void {
    const chart = this.#chart;
    if (chart === null || this.#shown === null) return;
    const { events } = this.#shown;
    const row = nearestRow(events, this.#timeAt(px));
    if (row < 0) tip.hide();
    else tip.show(chart.xToPx(events.time[row] / MS), 18, eventTip(this.view.data.meta, events, row));
  }

  #click(px: number): void {
    const time = this.#timeAt(px);
    const now = this.#shown?.moment ?? null;
    const isSame = now !== null && this.#chart !== null && Math.abs(this.#chart.xToPx(now / MS) - px) < 3;
    this.onMoment(isSame ? null : time);
  }

  band(x0: number, x1: number): void {
    const [left, right] = [this.#timeAt(Math.min(x0, x1)) / MS, this.#timeAt(Math.max(x0, x1)) / MS];
    this.#chart?.get("range").setv({ left, right, visible: true });
  }

  choose(x0: number, x1: number): void {
    this.view.link.setTimeRange([this.#timeAt(Math.min(x0, x1)) / 1000, this.#timeAt(Math.max(x0, x1)) / 1000]);
  }

  /** To the event before or behind the moment, or back to the peak. */
  walk(key: string): boolean {
    const shown = this.#shown;
    if (shown === null || !["ArrowLeft", "ArrowRight", "Enter"].includes(key)) return false;
    if (key === "Enter") {
      this.onMoment(null);
      return true;
    }
    const { events } = shown;
    const at = shown.moment === null ? shown.peak : rowAt(events, shown.moment);
    const next = Math.max(events.begin, Math.min(events.end - 1, at + (key === "ArrowLeft" ? -1 : 1)));
    if (next >= 0) this.onMoment(events.time[next]);
    return true;
  }
}

function nearestRow(events: MemoryEvents, timePs: number): number {
  const before = rowAt(events, timePs);
  const after = before < 0 ? events.begin : before + 1;
  if (before < 0) return after < events.end ? after : -1;
  if (after >= events.end) return before;
  return timePs - events.time[before] <= events.time[after] - timePs ? before : after;
}
