/** Memory events and a window -> the Bokeh chart: stacked bytes, fragmentation, the peak, steps, hover and clicks. */

import {
  bytesInUse,
  envelope,
  heldBy,
  isFreeInformative,
  isInSmallPieces,
  type MemoryEvents,
  rowAt,
  stepCurves,
} from "../../model/memory/memory";
import type { MemoryStep } from "../../model/memory/memory_steps";
import { formatCount } from "../../model/text/format";
import { isSparse, uncapturedSpans } from "../../model/time/sessions";
import type { RangePs } from "../../model/time/viewport";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { type Chart, createChart } from "../../ui/bokeh";
import { h, onKeys, svg, unspoken } from "../../ui/dom";
import { inFrame, watchSize } from "../../ui/page";
import { createTip, drawLabels, type PlotLabel, watchPlot } from "../../ui/plot";
import type { TraceView } from "../../ui/view";
import { paintColors, paintLevels, paintTime } from "./paint";
import { eventTip, momentLabel, peakLabel } from "./words";

const MS = 1e9;
/** Steps narrower than this have no mark of their own peak. */
const MIN_PEAK_PX = 5;
/** Width from which a gap says what it is. */
const GAP_TEXT_PX = 90;

interface Shown {
  readonly events: MemoryEvents;
  readonly range: RangePs;
  readonly peak: number;
  readonly moment: number | null;
  /** What each step did, for the marks of their peaks. */
  readonly steps: readonly MemoryStep[];
}

export class MemoryChart {
  readonly element = h("div.tfp-plot", { tabindex: 0, role: "img" });
  /** What is drawn beyond what the figures beside the chart explain. */
  readonly legend = h("span.tfp-mem-keys");
  /** How many of the events the chart draws, where those are not all. */
  readonly drawn = h("p.q.tfp-mem-drawn");
  isFreeDrawn = false;
  isFragmentationDrawn = false;
  readonly #peaksKey = h("span.tfp-key", { hidden: true }, h("i.peaks"), "peak of each step");
  readonly #labels = unspoken("div.tfp-labels");
  readonly #draw: () => void;
  #chart: Chart | null = null;
  #shown: Shown | null = null;

  constructor(
    readonly view: TraceView,
    readonly onMoment: (timePs: number | null) => void,
  ) {
    this.#draw = inFrame(() => this.#render(), view.signal);
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
    onKeys(this.element, view.signal, ({ key }) => this.#key(key));
  }

  show(shown: Shown): void {
    if (this.#shown?.events !== shown.events) this.isFragmentationDrawn = isInSmallPieces(shown.events);
    this.#shown = shown;
    this.isFreeDrawn = isFreeInformative(shown.events, shown.peak);
    this.#showLegend();
    this.#draw();
  }

  /** The range; else the whole capture, or where that is next to all gaps, the session of the peak. */
  #window(): readonly [number, number] {
    const { meta } = this.view.data;
    const { sessions } = meta;
    const session = sessions[this.#peakSession()];
    if (session === undefined) return this.#shown?.range ?? [0, meta.duration_ps];
    const { events, peak } = this.#shown as Shown;
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
    paintLevels(chart, events, most, this.isFragmentationDrawn);
    const width = Math.max(200, this.element.clientWidth - 90);
    paintTime(chart, { t0, t1, width }, data.table("steps") ?? EMPTY_TABLE, data.meta.step_names);
    paintColors(chart, root, this.isFreeDrawn, this.isFragmentationDrawn);
    chart.get("moment").setv({ location: (shown.moment ?? 0) / MS, visible: shown.moment !== null });
    chart.get("range").setv({ visible: false });
    // Bokeh lays out in a later frame; the words go where its frame is then.
    requestAnimationFrame(this.view.guard(() => !this.view.signal.aborted && this.#drawLabels(chart)));
  }

  /** Fills the curves; the last level holds to the end of the window. Returns the bytes at the top of the axis. */
  #fill(chart: Chart, rows: Int32Array, t0: number, t1: number): number {
    const { events, peak } = this.#shown as Shown;
    const heldRows = this.#heldRows();
    const whole = (row: number) => events.stack[row] + events.heap[row] + events.free[row];
    const curves = stepCurves(
      rows,
      t0,
      t1,
      {
        stack: (row) => events.stack[row < 0 ? ~row : row],
        heap: (row) => bytesInUse(events, row),
        free: (row) => Math.max(bytesInUse(events, row), this.isFreeDrawn ? whole(row < 0 ? ~row : row) : 0),
        fragmentation: (row) => events.fragmentation[row < 0 ? ~row : row],
        held: (row) => heldRows?.[row - events.begin] ?? 0,
      },
      events.time,
    );
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
    this.view.data.meta.names.forEach((name, id) => {
      if (chosen.has(name)) ids.add(id);
    });
    return ids.size > 0 ? heldBy((this.#shown as Shown).events, ids) : null;
  }

  #drawLabels(chart: Chart): void {
    const { events, peak, moment } = this.#shown as Shown;
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
    const { steps } = this.#shown as Shown;
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
    const { events, peak } = this.#shown as Shown;
    const { left, right, top } = chart.frame();
    const isPeakLeft = peak >= 0 && chart.xToPx(events.time[peak] / MS) < (left + right) / 2;
    const side = isPeakLeft ? ({ x: right - 6, align: "right" } as const) : ({ x: left + 6, align: "left" } as const);
    const notes: PlotLabel[] = [];
    const session = this.#peakSession();
    if (session >= 0) {
      const of = `${session + 1} of ${this.view.data.meta.sessions.length}`;
      notes.push({ ...side, y: top + 27, text: `the session with the peak, ${of}; choose steps to see another` });
    }
    return notes;
  }

  /** Covers the time between sessions, in which the level is not known. */
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

  #hover(px: number, tip: ReturnType<typeof createTip>): void {
    const chart = this.#chart;
    if (chart === null || this.#shown === null) return;
    const { events } = this.#shown;
    const row = nearestRow(events, this.#timeAt(px));
    if (row < 0) {
      tip.hide();
      return;
    }
    tip.show(chart.xToPx(events.time[row] / MS), 18, eventTip(this.view.data.meta, events, row));
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
  #key(key: string): boolean {
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
