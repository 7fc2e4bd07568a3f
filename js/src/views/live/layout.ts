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
const WORKER_PX = { least: 52, most: 92, all: 420 };
/** Of more workers the slowest have a row. */
export const MOST_WORKERS = 12;
const GAP_PX = 10;
const AXIS_PX = 19;
const STRIP_PX = 34;

export interface Box {
  readonly top: number;
  readonly height: number;
}

/** One row of step times. */
export interface RunRow extends Box {
  readonly run: Run;
  /** Place in `head.workers`; -1 where there is but one process. */
  readonly worker: number;
}

export interface StripRow extends Box {
  readonly strip: Strip;
}

export interface Layout {
  readonly axis: StepAxis;
  /** ms at the top of each row of step times. */
  readonly top: number;
  readonly levels: readonly Tick[];
  readonly events: Box;
  readonly rows: readonly RunRow[];
  /** Middle of the labels of step numbers, and of times. */
  readonly numbersY: number;
  readonly timesY: number;
  readonly strips: readonly StripRow[];
  /** From the first row of step times to the last chart: lines through all of it. */
  readonly body: Box;
  readonly height: number;
}

/** Workers that have a row: all, or the slowest, in their own order. */
function shownWorkers({ runs, head }: LiveState): number[] {
  const all = [...runs.keys()];
  const msOf = (i: number) => head.workers[i]?.step_ms ?? 0;
  const slowest = all.toSorted((a, b) => msOf(b) - msOf(a)).slice(0, MOST_WORKERS);
  return all.filter((i) => slowest.includes(i));
}

export function layOut(state: LiveState, strips: readonly Strip[], axis: StepAxis, top: number): Layout {
  const { runs, head } = state;
  const workers = shownWorkers(state);
  const above = head.marks.some(({ kind }) => kind === "window") ? FLAGS_PX : 0;
  const hasEvents = head.marks.some(({ kind }) => kind !== "window" && kind !== "anomaly");
  const events = { top: above, height: hasEvents ? EVENTS_PX : 0 };
  let y = above + events.height + 2;
  const begin = y;
  const each = Math.max(WORKER_PX.least, Math.min(WORKER_PX.most, WORKER_PX.all / Math.max(1, workers.length)));
  const height = runs.length > 1 ? Math.round(each) : MAIN_PX;
  const rows = workers.map((i, place) => {
    y += place > 0 ? GAP_PX : 0;
    y += height;
    return { run: runs[i], worker: runs.length > 1 ? i : -1, top: y - height, height };
  });
  const numbersY = y + AXIS_PX / 2;
  y += AXIS_PX;
  const placed = strips.map((strip, place) => {
    y += place > 0 ? GAP_PX : 3;
    y += STRIP_PX;
    return { strip, top: y - STRIP_PX, height: STRIP_PX };
  });
  const body = { top: begin, height: y - begin };
  const levels = levelTicks(top, Math.max(2, Math.floor(height / 40)));
  const ends = { timesY: y + AXIS_PX / 2, height: y + AXIS_PX };
  return { axis, top, levels, events, rows, numbersY, strips: placed, body, ...ends };
}
