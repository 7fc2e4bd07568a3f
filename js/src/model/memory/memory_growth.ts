/** What each step did to an allocator -> whether memory grows from step to step, and which ops allocate what stays. */

import { median } from "../time/statistics";
import type { MemoryEvents } from "./memory";
import type { MemoryStep } from "./memory_steps";

// The rules and their numbers are those of analysis/memory/memory_growth.py, where they are explained.
const MAX_STEPS_OF_SESSION = 400;
const MIN_DEVIATIONS = 3;
const MIN_SHARE_OF_PEAK = 0.01;
/** Steps after which an allocation of a step counts as not given back. */
export const AFTER_STEPS = 2;

export interface Growth {
  /** Robust slope; NaN where no session has two steps. */
  readonly bytesPerStep: number;
  readonly nSteps: number;
  /** Whether it looks like a leak: a steady rise that matters. */
  readonly isSignificant: boolean;
  /** Whether what is in use at the ends of all steps differs by no more than a hundredth of the peak. */
  readonly isSame: boolean;
}

export interface Unfreed {
  /** Name id, -1 unknown. */
  readonly op: number;
  readonly nAllocations: number;
  readonly nSteps: number;
  readonly allocatedBytes: number;
  readonly bytesPerStep: number;
  /** The part not given back until the session ends. */
  readonly heldBytes: number;
}

export function measureGrowth(steps: readonly MemoryStep[], peakBytes: number): Growth {
  const parts = bySession(steps).map(thinned);
  const { rise, variance } = slopes(parts);
  const nSteps = steps.length;
  if (rise.length === 0) return { bytesPerStep: Number.NaN, nSteps, isSignificant: false, isSame: false };
  const slope = median(rise);
  const later = slopes(parts.map((part) => part.slice(Math.floor(part.length / 2)))).rise;
  let excess = -1;
  for (const value of rise) excess += Math.sign(value);
  const isSteady = excess > 0 && excess >= MIN_DEVIATIONS * Math.sqrt(variance);
  const goesOn = later.length > 0 && median(later) >= slope / 2;
  const matters = slope * steps.length >= MIN_SHARE_OF_PEAK * peakBytes;
  const ends = steps.map(({ endBytes }) => endBytes);
  const [least, most] = [Math.min, Math.max].map((of) => ends.reduce((a, b) => of(a, b)));
  return {
    ...{ bytesPerStep: slope, nSteps, isSignificant: slope > 0 && isSteady && goesOn && matters },
    isSame: most - least <= MIN_SHARE_OF_PEAK * peakBytes,
  };
}

function bySession(steps: readonly MemoryStep[]): MemoryStep[][] {
  const found = new Map<number, MemoryStep[]>();
  for (const step of steps) {
    const own = found.get(step.session);
    if (own === undefined) found.set(step.session, [step]);
    else own.push(step);
  }
  return [...found.values()];
}

function thinned(steps: readonly MemoryStep[]): readonly MemoryStep[] {
  const n = steps.length;
  if (n <= MAX_STEPS_OF_SESSION) return steps;
  const place = (i: number) => Math.floor((i * (n - 1)) / (MAX_STEPS_OF_SESSION - 1));
  return Array.from({ length: MAX_STEPS_OF_SESSION }, (_, i) => steps[place(i)]);
}

/** Slopes between all pairs of steps of a session, and the variance of rising less falling pairs without a trend. */
function slopes(parts: readonly (readonly MemoryStep[])[]): { rise: Float64Array; variance: number } {
  const rise = new Float64Array(parts.reduce((sum, { length: n }) => sum + (n * (n - 1)) / 2, 0));
  let variance = 0;
  let k = 0;
  for (const part of parts) {
    const n = part.length;
    variance += (n * (n - 1) * (2 * n + 5)) / 18;
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) rise[k++] = (part[j].endBytes - part[i].endBytes) / (part[j].step - part[i].step);
    }
  }
  return { rise, variance };
}

/** Allocations of a step still held at the end of the step `afterSteps` later, by op; most held first. */
export function unfreedByOp(events: MemoryEvents, steps: readonly MemoryStep[], afterSteps = AFTER_STEPS): Unfreed[] {
  const due = new Map<number, { readonly session: number; readonly endPs: number }>();
  for (const part of bySession(steps)) {
    for (let i = 0; i + afterSteps < part.length; i++) {
      due.set(part[i].step, { session: part[i].session, endPs: part[i + afterSteps].endPs });
    }
  }
  const stepsOfOp = new Map<number, Set<number>>();
  const rows = new Map<number, { -readonly [K in keyof Unfreed]: Unfreed[K] }>();
  const dueSteps = new Set<number>();
  for (let i = events.begin; i < events.end; i++) {
    const deadline = due.get(events.step[i]);
    if (deadline === undefined || deadline.session !== events.session[i]) continue;
    dueSteps.add(events.step[i]);
    if (events.isFree[i]) continue;
    const freedAt = events.freedAt[i];
    if (freedAt >= 0 && events.time[freedAt] <= deadline.endPs) continue;
    const op = events.op[i];
    const row = rows.get(op) ?? { op, nAllocations: 0, nSteps: 0, allocatedBytes: 0, bytesPerStep: 0, heldBytes: 0 };
    rows.set(op, row);
    row.nAllocations += 1;
    row.allocatedBytes += events.allocated[i];
    if (freedAt < 0) row.heldBytes += events.allocated[i];
    const own = stepsOfOp.get(op) ?? new Set<number>();
    stepsOfOp.set(op, own.add(events.step[i]));
  }
  for (const row of rows.values()) {
    row.nSteps = stepsOfOp.get(row.op)?.size ?? 0;
    row.bytesPerStep = row.allocatedBytes / Math.max(1, dueSteps.size);
  }
  return [...rows.values()].sort((a, b) => b.heldBytes - a.heldBytes || b.allocatedBytes - a.allocatedBytes);
}

/** The op that leaks: of what is left of most steps the largest part that is never given back; null for none. */
export function leakingOp(unfreed: readonly Unfreed[]): Unfreed | null {
  const most = unfreed.reduce((steps, row) => Math.max(steps, row.nSteps), 0);
  return unfreed.find((row) => row.nSteps * 2 >= most && row.heldBytes > 0) ?? null;
}
