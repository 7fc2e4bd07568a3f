/** Turns sorted columns into positions: binary search, and galloping search where the answer is usually near. */

export type Numbers = ArrayLike<number>;

/** First index in [low, high) whose value is >= `value`; `high` when there is none. */
export function lowerBound(values: Numbers, value: number, low = 0, high = values.length): number {
  let lo = low;
  let hi = high;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (values[middle] < value) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/** First index in [low, high) whose value is > `value`. */
export function upperBound(values: Numbers, value: number, low = 0, high = values.length): number {
  let lo = low;
  let hi = high;
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if (values[middle] <= value) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

/** Which of consecutive parts holds an item: part k is [first[k], first[k + 1]). The first or last one where none does. */
export function partOf(first: Numbers, item: number): number {
  return upperBound(first, item, 1, Math.max(1, first.length - 1)) - 1;
}

/** First of `n` indices that passes, where all after it pass; `n` when there is none. */
export function firstWhere(n: number, passes: (index: number) => boolean): number {
  let low = 0;
  for (let high = n; low < high; ) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** As lowerBound, but costs the logarithm of the distance to the answer instead of the length. */
export function gallop(values: Numbers, value: number, low: number, high: number): number {
  let step = 1;
  let lo = low;
  while (lo + step < high && values[lo + step] < value) {
    lo += step;
    step *= 2;
  }
  return lowerBound(values, value, lo, Math.min(high, lo + step + 1));
}

/** As lowerBound; costs the logarithm of how far `guess`, which lies in [low, high), is from the answer. */
export function lowerBoundNear(values: Numbers, value: number, guess: number, low: number, high: number): number {
  let step = 1;
  if (values[guess] < value) {
    let lo = guess + 1;
    for (; guess + step < high && values[guess + step] < value; step *= 2) lo = guess + step + 1;
    return lowerBound(values, value, lo, Math.min(high, guess + step));
  }
  let hi = guess;
  for (; guess - step >= low && values[guess - step] >= value; step *= 2) hi = guess - step;
  return lowerBound(values, value, Math.max(low, guess - step + 1), hi);
}
