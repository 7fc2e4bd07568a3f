/** A window of memory -> ticks, ranges and colours of the Bokeh memory chart. */

import { byteUnit, type MemoryEvents } from "../../model/memory/memory";
import { formatInstant, formatNumber } from "../../model/text/format";
import { stepLabel } from "../../model/time/span_text";
import { niceTicks } from "../../model/time/step_bars";
import { columns } from "../../model/wire/column";
import type { Table } from "../../model/wire/wire";
import { bokehColors, type Chart, colorAxes, setTicks } from "../../ui/bokeh";

const MS = 1e9;
const FRAGMENTATION_TICKS = 3;
const STEP_LABEL_PX = 58;
const TIME_LABEL_PX = 110;
/** Steps narrower than this have no ticks at their borders. */
const MIN_STEP_PX = 6;
/** A step that a range of whole steps only touches, for its bounds are rounded to ns, is not inside. */
const TOUCH_PS = 2000;
/** Room above the highest level for the words about the peak. */
const HEADROOM = 1.3;

/** The left axis up to `most` bytes, and the right one for the fragmentation of all events, where that is drawn. */
export function paintLevels(chart: Chart, events: MemoryEvents, most: number, hasFragmentation: boolean): void {
  const [size, unit] = byteUnit(most);
  const levels = niceTicks(most / size, 4).map((level) => level * size);
  const last = levels[levels.length - 1];
  chart.get("y").setv({ start: 0, end: most * HEADROOM });
  setTicks(chart, "y_axis", levels, (level) => `${formatTick(level / size)}${level === last ? ` ${unit}` : ""}`);
  chart.get("fragmentation_axis").setv({ visible: hasFragmentation });
  if (!hasFragmentation) return;
  let worst = 0;
  for (let i = events.begin; i < events.end; i++) worst = Math.max(worst, events.fragmentation[i]);
  // Twice the worst value, so that the line keeps to the lower half and leaves the peak in sight.
  const top = Math.max(0.05, worst * 2);
  const ticks = niceTicks(Math.min(1, top), FRAGMENTATION_TICKS);
  chart.get("fragmentation").setv({ start: 0, end: top * HEADROOM });
  setTicks(chart, "fragmentation_axis", ticks, (ratio) => `${formatTick(ratio * 100)} %`);
}

export interface TimeWindow {
  readonly t0: number;
  readonly t1: number;
  /** px. */
  readonly width: number;
}

/** Names the steps of the window where there are several, else the time. */
export function paintTime(
  chart: Chart,
  { t0, t1, width }: TimeWindow,
  steps: Table,
  stepNames: readonly string[],
): void {
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

export function paintColors(chart: Chart, root: HTMLElement, isFreeDrawn: boolean, hasFragmentation: boolean): void {
  const names = ["ink", "ink-2", "bg", "rule", "rule-2", "act", "m-stack", "m-heap", "m-free", "m-frag"];
  const color = bokehColors(root, names);
  for (const layer of ["stack", "heap", "free"]) {
    chart.get(`area_${layer}`).setv({ fill_color: { value: color[`m-${layer}`] }, fill_alpha: { value: 1 } });
  }
  chart.get("level").setv({ line_color: { value: color["m-heap"] } });
  chart.get("held").setv({ fill_color: { value: color.ink }, fill_alpha: { value: 0.45 } });
  const alpha = { line_alpha: { value: hasFragmentation ? 1 : 0 } };
  chart.get("fragmentation_halo").setv({ line_color: { value: color.bg }, ...alpha });
  chart.get("fragmentation_line").setv({ line_color: { value: color["m-frag"] }, ...alpha });
  chart.get("peak_mark").setv({ fill_color: { value: color.ink } });
  chart.get("moment").setv({ line_color: color.act });
  chart.get("range").setv({ fill_color: color.act, fill_alpha: 0.14, line_color: color.act });
  chart.get("grid").setv({ grid_line_color: color.rule, grid_line_alpha: isFreeDrawn ? 0 : 1 });
  const font = getComputedStyle(root).fontFamily;
  colorAxes(chart, ["x_axis", "y_axis", "fragmentation_axis"], color["ink-2"], font);
  chart.get("x_axis").setv({ minor_tick_line_color: color["rule-2"] });
}

function formatTick(value: number): string {
  return formatNumber(value, 4)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}
