/** Turns a moment near the edge of a slice or step into that edge, and says what lies between two moments. */

import { formatInstant, formatTime, plural } from "../text/format";
import { lowerBound, upperBound } from "../wire/bisect";
import type { Steps } from "./steps";
import type { Span } from "./viewport";

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

/** The starts and ends of steps next to a moment. */
export function stepEdges(steps: Pick<Steps, "n" | "start" | "end">, time: number): number[] {
  const k = upperBound(steps.start, time) - 1;
  const edges: number[] = [];
  for (let i = Math.max(0, k - 1); i <= Math.min(steps.n - 1, k + 1); i++) edges.push(steps.start[i], steps.end[i]);
  return edges;
}

/** Steps that start in a span. */
export function stepsInside(steps: Pick<Steps, "n" | "start" | "end">, span: Span): number {
  // Bounds come through the link in whole nanoseconds.
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
