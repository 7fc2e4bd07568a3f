/** The `steps` table -> which share of each step was spent waiting for data. */

import { numbers } from "../wire/column";
import type { Table } from "../wire/wire";

/** For each step the part of its time in which the training waited for data, 0 to 1. */
export function inputShares(steps: Table): Float64Array {
  const input = numbers(steps, "input_ms");
  const duration = numbers(steps, "duration_ps");
  return Float64Array.from({ length: steps.n }, (_, i) =>
    duration[i] > 0 ? Math.min(1, (input[i] * 1e9) / duration[i]) : 0,
  );
}
