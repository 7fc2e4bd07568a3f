/** Rows with a weight -> the largest ones, and all others as one: what a bar of shares shows. */

export interface Share<R> {
  /** One row, or all that are not among the largest. */
  readonly rows: readonly R[];
  readonly value: number;
  /** Of the sum of all rows. */
  readonly ratio: number;
  readonly isRest: boolean;
}

/** As many as a reader tells apart in one bar. */
export const N_SHARES = 10;

/**
 * The `n` largest rows, largest first, and one share for the rest; a rest of one row is shown as that row.
 * Rows without weight are left out; ratios sum to 1, or there are none.
 */
export function topShares<R>(rows: readonly R[], value: (row: R) => number, n = N_SHARES): Share<R>[] {
  const weighed = rows.map((row) => ({ row, value: value(row) })).filter((item) => item.value > 0);
  weighed.sort((a, b) => b.value - a.value);
  const sum = weighed.reduce((total, item) => total + item.value, 0);
  const nSingle = weighed.length <= n + 1 ? weighed.length : n;
  const shares: Share<R>[] = weighed
    .slice(0, nSingle)
    .map((item) => ({ rows: [item.row], value: item.value, ratio: item.value / sum, isRest: false }));
  const rest = weighed.slice(nSingle);
  if (rest.length > 0) {
    const value = rest.reduce((total, item) => total + item.value, 0);
    shares.push({ rows: rest.map((item) => item.row), value, ratio: value / sum, isRest: true });
  }
  return shares;
}
