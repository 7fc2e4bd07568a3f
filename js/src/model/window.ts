/** Windows of a timeline: shared by two of them, and snapped to edges. */

import { lowerBound, upperBound } from "../data/columns";
import type { Span } from "../data/time";
import type { Steps } from "./steps";
import { formatInstant, formatTime, plural } from "./text";

/** Told by a timeline when its window changed; bubbles. */
export const WINDOW_SHOWN = "tfprof-window-shown";
/** Asks a timeline for a window. */
export const SHOW_WINDOW = "tfprof-show-window";

export interface ShownWindow {
  readonly view: Span;
  readonly bounds: Span;
}

export interface WantedWindow {
  readonly view: Span;
  /** How far panning and zooming go from now on, in place of the capture's bounds. */
  readonly limits: Span;
}

export function shifted(span: Span, by: number): Span {
  return { t0: span.t0 + by, t1: span.t1 + by };
}

function union(spans: readonly Span[]): Span {
  return {
    t0: Math.min(...spans.map((span) => span.t0)),
    t1: Math.max(...spans.map((span) => span.t1)),
  };
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
    const known = this.#bounds.flatMap((bounds) => bounds ?? []);
    const limits = union([...known, this.home]);
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

export function stepEdges(steps: Pick<Steps, "n" | "start" | "end">, time: number): number[] {
  const k = upperBound(steps.start, time) - 1;
  const edges: number[] = [];
  for (let i = Math.max(0, k - 1); i <= Math.min(steps.n - 1, k + 1); i++) edges.push(steps.start[i], steps.end[i]);
  return edges;
}

export function stepsInside(steps: Pick<Steps, "n" | "start" | "end">, span: Span): number {
  const from = lowerBound(steps.start, span.t0 - 1000, 0, steps.n);
  let to = from;
  while (to < steps.n && steps.end[to] <= span.t1 + 1000) to += 1;
  return to - from;
}

/** "Δ 12.3 ms · 431.200 to 443.500 ms · 2 steps". */
export function describeMeasure(span: Span, steps: Pick<Steps, "n" | "start" | "end">): string {
  const length = span.t1 - span.t0;
  const resolution = Math.max(1e3, 10 ** Math.floor(Math.log10(Math.max(1, length) / 100)));
  const from = formatInstant(span.t0, resolution).replace(/ m?s$/, "");
  const words = [`Δ ${formatTime(length)}`, `${from} to ${formatInstant(span.t1, resolution)}`];
  if (steps.n > 0) words.push(plural(stepsInside(steps, span), "whole step"));
  return words.join(" · ");
}
