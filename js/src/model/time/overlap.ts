/** A span and a time range -> how much of it counts. */

import type { RangePs } from "./viewport";

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
