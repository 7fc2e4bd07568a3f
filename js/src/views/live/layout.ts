/** What there is to draw -> where it goes on the canvas: marks, step times, their axis, small charts, times. */

import { levelTicks, type StepAxis, type Tick } from "./axes";
import type { LiveState, Run } from "./payload";
import type { Strip } from "./strips";

/** Room for names, levels and figures at the left. */
export const LABELS_PX = 128;
export const RIGHT_PX = 10;
const FLAGS_PX = 22;
const EVENTS_PX = 15;
const MAIN_PX = 208;
const GAP_PX = 10;
const AXIS_PX = 19;
const STRIP_PX = 34;

export interface Box {
  readonly top: number;
  readonly height: number;
}

export interface StripRow extends Box {
  readonly strip: Strip;
}

export interface Layout {
  readonly axis: StepAxis;
  readonly run: Run;
  /** ms at the top of the step times. */
  readonly top: number;
  readonly levels: readonly Tick[];
  readonly events: Box;
  readonly times: Box;
  /** Middle of the labels of step numbers, and of times. */
  readonly numbersY: number;
  readonly timesY: number;
  readonly strips: readonly StripRow[];
  /** From the step times to the last chart: lines through all of it. */
  readonly body: Box;
  readonly height: number;
}

export function layOut(state: LiveState, strips: readonly Strip[], axis: StepAxis, top: number): Layout {
  const { run, head } = state;
  const above = head.marks.some(({ kind }) => kind === "window") ? FLAGS_PX : 0;
  const hasEvents = head.marks.some(({ kind }) => kind !== "window" && kind !== "anomaly");
  const events = { top: above, height: hasEvents ? EVENTS_PX : 0 };
  let y = above + events.height + 2;
  const times = { top: y, height: MAIN_PX };
  y += MAIN_PX;
  const numbersY = y + AXIS_PX / 2;
  y += AXIS_PX;
  const placed = strips.map((strip, place) => {
    y += place > 0 ? GAP_PX : 3;
    y += STRIP_PX;
    return { strip, top: y - STRIP_PX, height: STRIP_PX };
  });
  const body = { top: times.top, height: y - times.top };
  const levels = levelTicks(top, Math.max(2, Math.floor(MAIN_PX / 40)));
  const ends = { timesY: y + AXIS_PX / 2, height: y + AXIS_PX };
  return { axis, run, top, levels, events, times, numbersY, strips: placed, body, ...ends };
}
