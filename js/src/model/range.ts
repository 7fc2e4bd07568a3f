/** The range, step or whole capture that figures are of and the words on it, and the windows of timelines. */

import {
  columns,
  lowerBound,
  numbers,
  type RangePs,
  rangeInPs,
  type Scope,
  type Span,
  STEADY,
  upperBound,
} from "../data/columns";
import type { SessionMeta, TraceMeta } from "../data/meta";
import { EMPTY_TABLE, type Table } from "../data/pack";
import type { EventsState } from "../data/store";
import { formatCount, formatFixed, formatInstant, formatTime, plural } from "./text";

/** Told by a timeline when its window changed; bubbles. */
export const WINDOW_SHOWN = "tfprof-window-shown";
/** Asks a timeline for a window. */
export const SHOW_WINDOW = "tfprof-show-window";

export type ShownWindow = Readonly<Record<"view" | "bounds", Span>>;

export interface WantedWindow {
  readonly view: Span;
  /** How far panning and zooming go from now on, in place of the capture's bounds. */
  readonly limits: Span;
}

export function shifted(span: Span, by: number): Span {
  return { t0: span.t0 + by, t1: span.t1 + by };
}

/** A window is told back with the rounding of two additions. */
const ECHO_RATIO = 1e-9;

export function isEcho(a: Span, b: Span): boolean {
  const tolerance = Math.max(1e-3, (a.t1 - a.t0) * ECHO_RATIO);
  return Math.abs(a.t0 - b.t0) <= tolerance && Math.abs(a.t1 - b.t1) <= tolerance;
}

/**
 * Keeps the windows of several timelines the same, each counted from a moment of its own.
 *
 * @param startsPs the moment of each from which time is counted
 * @param show gives a timeline a window in its own time
 */
export class SharedWindow {
  /** From the moments on, so the same for all; null until the first is shown. */
  #view: Span | null = null;
  readonly #bounds: (Span | null)[];

  constructor(
    readonly startsPs: readonly number[],
    readonly home: Span,
    readonly show: (index: number, wanted: WantedWindow) => void,
  ) {
    this.#bounds = startsPs.map(() => null);
  }

  get view(): Span {
    return this.#view ?? this.home;
  }

  /** A timeline tells of its window: the first time it gets the shared one, later the others get its own. */
  told(index: number, shown: ShownWindow): void {
    const start = this.startsPs[index];
    const bounds = shifted(shown.bounds, -start);
    const known = this.#bounds[index];
    if (known === null || !isEcho(known, bounds)) {
      this.#bounds[index] = bounds;
      this.#set(this.view, -1);
      return;
    }
    const view = shifted(shown.view, -start);
    if (!isEcho(this.view, view)) this.#set(view, index);
  }

  reset(): void {
    this.#set(this.home, -1);
  }

  #set(view: Span, from: number): void {
    this.#view = view;
    const spans = [...this.#bounds.flatMap((bounds) => bounds ?? []), this.home];
    const limits = { t0: Math.min(...spans.map(({ t0 }) => t0)), t1: Math.max(...spans.map(({ t1 }) => t1)) };
    this.startsPs.forEach((start, index) => {
      if (index === from || this.#bounds[index] === null) return;
      this.show(index, { view: shifted(view, start), limits: shifted(limits, start) });
    });
  }
}

/** The edge nearest to `time` that is no further than `reach`; `time` itself when there is none. */
export function snapped(time: number, edges: readonly number[], reach: number): number {
  let best = time;
  let least = reach;
  for (const edge of edges) {
    const distance = Math.abs(edge - time);
    if (distance > least) continue;
    best = edge;
    least = distance;
  }
  return best;
}

interface StepSpans {
  readonly n: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
}

export function stepEdges(steps: StepSpans, time: number): number[] {
  const k = upperBound(steps.start, time) - 1;
  const edges: number[] = [];
  for (let i = Math.max(0, k - 1); i <= Math.min(steps.n - 1, k + 1); i++) edges.push(steps.start[i], steps.end[i]);
  return edges;
}

export function stepsInside(steps: StepSpans, span: Span): number {
  const from = lowerBound(steps.start, span.t0 - 1000, 0, steps.n);
  let to = from;
  while (to < steps.n && steps.end[to] <= span.t1 + 1000) to += 1;
  return to - from;
}

/** "Δ 12.3 ms · 431.200 to 443.500 ms · 2 steps". */
export function describeMeasure(span: Span, steps: StepSpans): string {
  const length = span.t1 - span.t0;
  const resolution = Math.max(1e3, 10 ** Math.floor(Math.log10(Math.max(1, length) / 100)));
  const from = formatInstant(span.t0, resolution).replace(/ m?s$/, "");
  const words = [`Δ ${formatTime(length)}`, `${from} to ${formatInstant(span.t1, resolution)}`];
  if (steps.n > 0) words.push(plural(stepsInside(steps, span), "whole step"));
  return words.join(" · ");
}

export function uncapturedSpans(sessions: readonly SessionMeta[]): Span[] {
  const sorted = [...sessions].sort((a, b) => a.start_ps - b.start_ps);
  const gaps: Span[] = [];
  let reached = sorted[0]?.stop_ps ?? 0;
  for (const session of sorted) {
    if (session.start_ps > reached) gaps.push({ t0: reached, t1: session.start_ps });
    reached = Math.max(reached, session.stop_ps);
  }
  return gaps;
}

export function timeInside(spans: readonly Span[], window: Span): number {
  let time = 0;
  for (const { t0, t1 } of spans) time += Math.max(0, Math.min(t1, window.t1) - Math.max(t0, window.t0));
  return time;
}

export function capturedPs({ sessions, duration_ps }: TraceMeta): number {
  if (sessions.length === 0) return duration_ps;
  const t0 = Math.min(...sessions.map(({ start_ps }) => start_ps));
  const t1 = Math.max(...sessions.map(({ stop_ps }) => stop_ps));
  return t1 - t0 - timeInside(uncapturedSpans(sessions), { t0, t1 });
}

/** Whether drawing the whole capture would mostly draw the time between its sessions. */
export function isSparse(meta: TraceMeta): boolean {
  return meta.sessions.length > 1 && capturedPs(meta) < meta.duration_ps / 10;
}

const SLACK_PS = 2000;

/** The number of a step at the end of its name, with that of its epoch where numbers start again: "train 2·3". */
const NUMBER = /(\d+·)?\d+$/;
const KINDS = new WeakMap<readonly string[], string | null>();

/** "train" where every step is called "train 0", "train 1", ...; null where steps of several kinds are mixed. */
function commonKind(stepNames: readonly string[]): string | null {
  let kind = KINDS.get(stepNames);
  if (kind === undefined) {
    const kinds = new Set(stepNames.map((name) => name.replace(NUMBER, "")));
    kind = kinds.size === 1 ? ([...kinds][0] as string) : null;
    KINDS.set(stepNames, kind);
  }
  return kind;
}

/** The label of a step: its number, with its kind ("test 3") where the capture has several; its row where it has no name. */
export function stepLabel(stepNames: readonly string[], row: number): string {
  const name = stepNames[row];
  if (name === undefined || name === "") return String(row);
  const kind = commonKind(stepNames);
  const number = kind === null ? name : name.slice(kind.length);
  return number === "" ? String(row) : number;
}

/** A step in a sentence, by its label: "step 3", "epoch 2, step 3", "test 3". */
export function stepWords(stepNames: readonly string[], row: number): string {
  const label = stepLabel(stepNames, row);
  const words = label.replace(/(\d+)·(\d+)$/, "epoch $1, step $2");
  return /^\d+$/.test(words) ? `step ${words}` : words;
}

/** Steps of several hosts or sessions need not follow each other. Found out once: a drag asks with every frame. */
const SORTED = new WeakMap<object, boolean>();

function areSorted(times: ArrayLike<number> & object): boolean {
  let isSorted = SORTED.get(times);
  if (isSorted === undefined) {
    isSorted = true;
    for (let i = 1; isSorted && i < times.length; i++) isSorted = times[i - 1] <= times[i];
    SORTED.set(times, isSorted);
  }
  return isSorted;
}

/** The first and last step that lie in a range whole, or stick out of it by less than `slackPs`; null for none. */
export function wholeSteps(
  steps: Table,
  range: readonly [number, number],
  slackPs = 0,
): readonly [number, number] | null {
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  let first = -1;
  let last = -1;
  const isSorted = areSorted(start);
  for (let i = isSorted ? lowerBound(start, range[0] - slackPs) : 0; i < steps.n; i++) {
    if (isSorted && start[i] > range[1] + slackPs) break;
    const end = start[i] + duration[i];
    if (start[i] < range[0] - slackPs || end > range[1] + slackPs) continue;
    if (first < 0) first = i;
    last = i;
  }
  return first < 0 ? null : [first, last];
}

/** The first and last step that a range covers whole, when it covers nothing else; null otherwise. */
export function stepsOfRange(steps: Table | undefined, range: RangePs): readonly [number, number] | null {
  const whole = range && steps && wholeSteps(steps, range, SLACK_PS);
  if (!whole) return null;
  const [first, last] = whole;
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  const startsThere = Math.abs(start[first] - range[0]) <= SLACK_PS;
  const endsThere = Math.abs(start[last] + duration[last] - range[1]) <= SLACK_PS;
  return startsThere && endsThere ? [first, last] : null;
}

function averagedRows(steps: Table): number[] {
  const isAveraged = numbers(steps, "is_averaged");
  return Array.from({ length: steps.n }, (_, row) => row).filter((row) => isAveraged[row] === 1);
}

/** "average of steps 1–9", or how many of how many where they do not follow each other. */
function describeAveraged(meta: TraceMeta, steps: Table): string {
  const rows = averagedRows(steps);
  const [first, last] = [rows[0] ?? 0, rows[rows.length - 1] ?? 0];
  if (rows.length === 1) return stepWords(meta.step_names, first);
  const [from, to] = [first, last].map((row) => stepLabel(meta.step_names, row));
  const host = steps.columns.host === undefined ? [] : numbers(steps, "host");
  // Step numbers start again with each call of fit(), and those of several hosts are the same.
  const isNumbered = to.includes("·") || Number(to) - Number(from) === last - first;
  const areNumbered = isNumbered && rows.every((row) => host[row] === host[first]);
  if (last - first + 1 === rows.length && areNumbered) return `average of steps ${from}–${to}`;
  const all = rows.length === steps.n ? "" : `${formatCount(rows.length)} of `;
  return `average of ${all}${plural(steps.n, "step")}`;
}

export function describeRange(meta: TraceMeta, steps: Table | undefined, range: Scope): string {
  const nSteps = (steps ?? EMPTY_TABLE).n;
  if (range === STEADY) return describeAveraged(meta, steps ?? EMPTY_TABLE);
  if (range === null) {
    return ["whole capture", nSteps > 0 ? plural(nSteps, "step") : "", formatTime(capturedPs(meta))]
      .filter(Boolean)
      .join(" · ");
  }
  const length = formatTime(range[1] - range[0]);
  const covered = stepsOfRange(steps, range);
  if (covered === null) return `${formatBounds(range)} · ${length}`;
  const [first, last] = covered.map((row) => stepLabel(meta.step_names, row));
  const count = covered[1] - covered[0] + 1;
  // Step numbers start again with each call of fit().
  if (Number(first) >= Number(last) && count > 1) return `${count} steps, ${first} to ${last} · ${length}`;
  if (count === 1) return `${stepWords(meta.step_names, covered[0])} · ${length}`;
  return `${/^\d/.test(first) ? "steps " : ""}${first}–${last} · ${length}`;
}

/** "431–580 ms", with as many decimals as tell the bounds apart. */
function formatBounds(range: readonly [number, number]): string {
  const span = Math.max(1, range[1] - range[0]);
  const decimals = Math.max(0, Math.min(6, Math.ceil(2 - Math.log10(span / 1e9))));
  const text = (ps: number) => formatFixed(ps / 1e9, decimals);
  return `${text(range[0])}–${text(range[1])} ms`;
}

/** A sentence in parts, of which every second one is a number with its unit ("(62 %)."), not to be broken over lines. */
export function keepTogether(sentence: string): string[] {
  return sentence.split(/(\(?[\d.,]+ (?:%|s|ms|µs|ns)\S*)/);
}

interface Chosen {
  /** In ns. */
  readonly timeRange: readonly [number, number] | null;
  readonly isWholeCapture: boolean;
}

/** Without a range the averaged steps, where there are any and the reader does not ask for the whole capture. */
export function scopeOf(chosen: Chosen, table: (name: string) => Table | undefined): Scope {
  const range = rangeInPs(chosen.timeRange, table("steps"));
  if (range !== null) return range;
  return chosen.isWholeCapture || !hasSteady(table) ? null : STEADY;
}

/** Whether there are averaged steps, and it is known what ran in them: a host need not have any. */
export function hasSteady(table: (name: string) => Table | undefined): boolean {
  const steps = table("steps");
  return table("step_totals") !== undefined && steps !== undefined && averagedRows(steps).length > 0;
}

/** Steps that figures are divided by: those of a scope that is of whole steps; null where it is of time. */
export function stepsOfScope(steps: Table | undefined, scope: Scope): number | null {
  if (scope === null || steps === undefined) return null;
  if (scope === STEADY) return averagedRows(steps).length;
  const covered = stepsOfRange(steps, scope);
  return covered === null ? null : covered[1] - covered[0] + 1;
}

export function perStep(title: string, nSteps: number | null): string {
  return nSteps === null ? title : `${title} a step`;
}

/** In place of a figure that would be one of a sample. */
export const NOT_KNOWN = "not known here";
export const KEEP_ALL = 'To keep all: prof.to_html("trace.html", embed="full").';

/** "steps 100–140 of 20,000", or the times of a window without whole steps. */
export function windowWords(meta: TraceMeta, steps: Table | undefined, window: Span): string {
  const whole = steps && wholeSteps(steps, [window.t0, window.t1]);
  if (!whole) return `${formatInstant(window.t0, 1e9)} to ${formatInstant(window.t1, 1e9)}`;
  const [first, last] = whole.map((row) => stepLabel(meta.step_names, row));
  const which = whole[0] === whole[1] ? stepWords(meta.step_names, whole[0]) : `steps ${first}–${last}`;
  return `${which} of ${formatCount(steps.n)}`;
}

/** Why a view on a page without a kernel shows no figures of a range, or of the whole capture; of what it would. */
export function notKnownWords(
  meta: TraceMeta,
  steps: Table | undefined,
  window: Span,
  isRange: boolean,
): readonly [why: string, held: string] {
  const what = isRange ? "this range" : "the whole capture";
  return [`The figures of ${what} are ${NOT_KNOWN}. ${KEEP_ALL}`, windowWords(meta, steps, window)];
}

/** Why a view has nothing to draw on a page that holds not even a window of it. */
export const NOT_HERE =
  'This page was saved without the data of this view. Run the cell again, or keep all with prof.to_html("trace.html", embed="full").';

/** What the kernel reads when the cell that was profiled is shown: the source map. */
const READ_LATE = ["source_lines", "layers", "structure"];

export function waitingWords(names: readonly string[], here: number, all: number, hasKernel: boolean): string {
  if (names.some((name) => READ_LATE.includes(name)))
    return `${hasKernel ? "Reading" : "Waiting for the kernel to read"} source lines, layers and structure …`;
  if (here > 0 || hasKernel) return `Loading: ${formatCount(here)} of ${plural(all, "part")} are here.`;
  return "Waiting for the kernel to send the data of this view; it answers when the running cell ends.";
}

/** "N of M events", what happens to the others, and the reason at length. */
export function eventsWords(
  from: EventsState & { readonly nLoaded: number; readonly n: number; readonly nAll: number },
): { readonly count: string; readonly state: string; readonly why: string } {
  const { nLoaded, n, nAll } = from;
  const all = plural(nAll, "event");
  if (nLoaded >= nAll) return { count: all, state: "", why: from.problem };
  const count = `${formatCount(nLoaded)} of ${all}`;
  const others = "Of the others the longest are drawn.";
  if (nLoaded >= n) {
    return { count, state: "", why: "Events of the lines that did least, or that nest deepest, are left out." };
  }
  if (from.problem) return { count, state: ", the others could not be loaded", why: from.problem };
  if (from.isOffline) return { count, state: " in this page", why: `${others} ${KEEP_ALL}` };
  if (from.isFull) {
    const why = `${others} The browser holds 1 GiB; what comes on the screen is still loaded.`;
    return { count, state: ", memory full", why };
  }
  if (!from.hasKernel) {
    const why = `${others} A busy kernel answers when its cell ends. ${KEEP_ALL}`;
    return { count, state: ", waiting for the kernel", why };
  }
  return { count, state: `, loading ${Math.floor((100 * nLoaded) / Math.max(1, n))} %`, why: others };
}
