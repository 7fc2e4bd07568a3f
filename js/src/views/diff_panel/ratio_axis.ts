/** A ratio and its interval -> places on a short logarithmic axis around "no change", 0 to 1 from left to right. */

export interface RatioMarks {
  readonly low: number;
  readonly high: number;
  readonly ratio: number;
  /** Of 1.0. */
  readonly one: number;
  readonly ticks: readonly { readonly at: number; readonly ratio: number }[];
}

/** The axis shows at least this much to both sides, so that a narrow interval is not drawn as a wide one. */
const LEAST_REACH = 1.1;
/** Room beyond what is farthest from 1. */
const MARGIN = 1.15;
const TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 20, 50, 100];
const TICK_APART = 0.2;

/** Null where the interval is not known. */
export function ratioMarks(ratio: number | null, interval: readonly (number | null)[]): RatioMarks | null {
  const [low, high] = interval;
  if (ratio === null || low === null || high === null || !(low > 0 && high > 0 && ratio > 0)) return null;
  const least = Math.min(low, 1 / LEAST_REACH) / (low < 1 ? MARGIN ** 0.5 : 1);
  const most = Math.max(high, LEAST_REACH) * (high > 1 ? MARGIN ** 0.5 : 1);
  const [from, to] = [Math.log(least), Math.log(most)];
  const at = (value: number) => (Math.log(value) - from) / (to - from);
  return { low: at(low), high: at(high), ratio: at(ratio), one: at(1), ticks: ticksWithin(least, most, at) };
}

/** Round ratios on the axis, 1.0 among them, far enough from each other to be read. */
function ticksWithin(least: number, most: number, at: (value: number) => number) {
  const found = [{ at: at(1), ratio: 1 }];
  const wanted = TICKS.filter((ratio) => ratio !== 1 && ratio >= least && ratio <= most);
  // The farthest from 1 first: they say how long the axis is.
  wanted.sort((a, b) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)));
  for (const ratio of wanted)
    if (found.every((other) => Math.abs(other.at - at(ratio)) >= TICK_APART)) found.push({ at: at(ratio), ratio });
  return found.sort((a, b) => a.at - b.at);
}
