/** Two timelines -> one window: what each tells of its own, and how a window of one is that of the other. */
import type { Span } from "./viewport";

/** Told by a timeline when its window changed; bubbles. */
export const WINDOW_SHOWN = "tfprof-window-shown";
/** Asks a timeline for a window. */
export const SHOW_WINDOW = "tfprof-show-window";

export interface ShownWindow {
  readonly view: Span;
  /** Of the whole capture. */
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

/** From the earliest begin to the latest end. */
export function union(spans: readonly Span[]): Span {
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

  /** Back to where the comparison began. */
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
