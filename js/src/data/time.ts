/** Spans and ranges of trace time: their overlap, their pixels, and what a zoom or pan makes of them. */

/** A span of time in ps after the trace origin, t0 < t1. */
export interface Span {
  readonly t0: number;
  readonly t1: number;
}

/** A half-open time range in ps after the trace origin, or null for the whole capture. */
export type RangePs = readonly [number, number] | null;

/** The steps that the average step time is of; figures of them are told a step. */
export const STEADY = "steady";
export type Scope = RangePs | typeof STEADY;

export function rangeOf(scope: Scope): RangePs {
  return scope === STEADY ? null : scope;
}

/** Zooming stops at 1 ns across the screen: the clock of the trace is no finer. */
export const MIN_SPAN_PS = 1000;

export function timeAt(view: Span, width: number, x: number): number {
  return view.t0 + (x / width) * (view.t1 - view.t0);
}

export function xAt(view: Span, width: number, time: number): number {
  return ((time - view.t0) / (view.t1 - view.t0)) * width;
}

/** `view` inside `bounds`, with its length kept where it fits. */
export function clamp(view: Span, bounds: Span): Span {
  const whole = bounds.t1 - bounds.t0;
  const span = Math.min(whole, Math.max(Math.min(MIN_SPAN_PS, whole), view.t1 - view.t0));
  const t0 = Math.min(Math.max(view.t0, bounds.t0), bounds.t1 - span);
  return { t0, t1: t0 + span };
}

/** Scales the span by `factor` (< 1 zooms in) so that `time` stays at its pixel, unless a bound is met. */
export function zoomAt(view: Span, time: number, factor: number, bounds: Span): Span {
  const whole = bounds.t1 - bounds.t0;
  const span = view.t1 - view.t0;
  const next = Math.min(whole, Math.max(Math.min(MIN_SPAN_PS, whole), span * factor));
  const t0 = time - ((time - view.t0) / span) * next;
  return clamp({ t0, t1: t0 + next }, bounds);
}

export function panBy(view: Span, delta: number, bounds: Span): Span {
  return clamp({ t0: view.t0 + delta, t1: view.t1 + delta }, bounds);
}

/** A view of `range` with `margin` of its length on both sides. */
export function fitRange(range: Span, bounds: Span, margin = 0.1): Span {
  const pad = Math.max(MIN_SPAN_PS, (range.t1 - range.t0) * margin);
  return clamp({ t0: range.t0 - pad, t1: range.t1 + pad }, bounds);
}

/** Whether the reader can see `range` for what it is: all of it, or the view lies inside it. */
export function shows(view: Span, range: Span): boolean {
  const isInside = range.t0 >= view.t0 && range.t1 <= view.t1;
  return isInside || (range.t0 <= view.t0 && range.t1 >= view.t1);
}

/** Distance between ruler ticks: 1, 2 or 5 times a power of ten, at least `minPx` apart. */
export function tickStep(view: Span, width: number, minPx: number): number {
  const least = ((view.t1 - view.t0) / width) * minPx;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (power * factor >= least) return power * factor;
  return power * 10;
}

/** Length of the part of [start, start + duration) inside the range. */
export function overlapPs(start: number, duration: number, range: RangePs): number {
  if (range === null) return duration;
  return Math.max(0, Math.min(start + duration, range[1]) - Math.max(start, range[0]));
}

/** Whether an occurrence counts: it overlaps the range, or has no length and lies inside it. */
export function isInRange(start: number, duration: number, range: RangePs): boolean {
  if (range === null) return true;
  if (duration > 0) return start < range[1] && start + duration > range[0];
  return start >= range[0] && start < range[1];
}
