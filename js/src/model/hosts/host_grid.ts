/** One value per host and aligned step -> a grid of at most so many rows and columns, of which none hides a straggler. */

/** Cell (r, c) is `value[r * nColumns + c]`, the largest of those that it stands for. */
export interface HostGrid {
  readonly nRows: number;
  readonly nColumns: number;
  readonly value: Float32Array;
  /** Host and aligned step of the largest value of a cell. */
  readonly host: Int32Array;
  readonly step: Int32Array;
  /** Row r holds the places [firstPlace[r], firstPlace[r + 1]) of `order`, column c the steps [firstStep[c], ...). */
  readonly order: readonly number[];
  readonly firstPlace: Int32Array;
  readonly firstStep: Int32Array;
}

/** A value of every row of `worker_steps`, which go by step, as a matrix that goes by host. */
export function hostMatrix(values: ArrayLike<number>, nHosts: number, nSteps: number): Float32Array {
  return Float32Array.from(
    { length: nHosts * nSteps },
    (_, i) => values[(i % nSteps) * nHosts + Math.floor(i / nSteps)],
  );
}

/** Spreads hosts (in `order`) and steps over rows and columns, in order, none empty; hosts of `alone` share no row. */
export function hostGrid(
  matrix: Float32Array,
  nSteps: number,
  order: readonly number[],
  most: { readonly rows: number; readonly columns: number },
  alone: ReadonlySet<number> = new Set(),
): HostGrid {
  const firstPlace = spreadHosts(order, most.rows, alone);
  const firstStep = spread(nSteps, most.columns);
  const [nRows, nColumns] = [firstPlace.length - 1, firstStep.length - 1];
  const value = new Float32Array(nRows * nColumns).fill(Number.NaN);
  const host = new Int32Array(value.length).fill(-1);
  const step = new Int32Array(value.length).fill(-1);
  for (let row = 0; row < nRows; row++) {
    for (let place = firstPlace[row]; place < firstPlace[row + 1]; place++) {
      const base = order[place] * nSteps;
      for (let column = 0; column < nColumns; column++) {
        const cell = row * nColumns + column;
        for (let at = firstStep[column]; at < firstStep[column + 1]; at++) {
          // Not ">": nothing is larger than NaN, the value of a cell at first.
          if (matrix[base + at] <= value[cell]) continue;
          value[cell] = matrix[base + at];
          host[cell] = order[place];
          step[cell] = at;
        }
      }
    }
  }
  return { nRows, nColumns, value, host, step, order, firstPlace, firstStep };
}

/** Where rows begin, so that one straggler does not stand for another; where that takes too many rows they share them. */
function spreadHosts(order: readonly number[], most: number, alone: ReadonlySet<number>): Int32Array {
  const n = order.length;
  const nAlone = order.reduce((sum, host) => sum + Number(alone.has(host)), 0);
  // Each host alone also ends the row before it.
  const others = Math.floor(most) - 2 * nAlone - 1;
  if (n <= most || nAlone === 0 || others < most / 2) return spread(n, most);
  const size = Math.ceil((n - nAlone) / others);
  const first = [0];
  for (let place = 1; place < n; place++) {
    const isEdge = alone.has(order[place]) || alone.has(order[place - 1]);
    if (isEdge || place - first[first.length - 1] >= size) first.push(place);
  }
  return Int32Array.from([...first, n]);
}

function spread(n: number, most: number): Int32Array {
  const parts = Math.max(1, Math.min(n, Math.floor(most)));
  return Int32Array.from({ length: parts + 1 }, (_, i) => Math.floor((i * n) / parts));
}

/** How many items the largest part has. */
export function largestPart(first: Int32Array): number {
  let most = 0;
  for (let part = 0; part + 1 < first.length; part++) most = Math.max(most, first[part + 1] - first[part]);
  return most;
}

/** The smallest and the largest value of the steps that count, of all steps where none does; [0, 0] of no value. */
export function rangeOf(matrix: Float32Array, nSteps: number, counts: ReadonlySet<number>): [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < matrix.length; i++) {
    if (!counts.has(i % nSteps)) continue;
    least = Math.min(least, matrix[i]);
    most = Math.max(most, matrix[i]);
  }
  return least <= most ? [least, most] : [0, 0];
}
