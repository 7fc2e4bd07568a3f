/** What is known of the loss and of the machine -> small charts below the step times, each with a scale of its own. */

import { formatAny, formatBytes, formatNumber, formatPercent } from "../../model/text/format";
import { numbers } from "../../model/wire/column";
import { ordinalAt } from "./axes";
import type { LiveState } from "./payload";

export interface Strip {
  readonly title: string;
  /** Ordinals of steps, growing, and what was known there; NaN where nothing was. */
  readonly at: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  readonly low: number;
  readonly high: number;
  readonly say: (value: number) => string;
}

interface Kind {
  readonly title: string;
  readonly column: string;
  readonly say: (value: number) => string;
  /** Of a scale that is not that of the values. */
  readonly most?: number;
  /** A chart of what rests says nothing: from which ratio of its largest change on it is shown. */
  readonly leastChange?: number;
}

const percent = (value: number) => formatPercent(value / 100);
const MACHINE: readonly Kind[] = [
  { title: "CPU", column: "cpu_pct", say: percent, most: 100 },
  { title: "Memory", column: "rss_bytes", say: formatBytes },
  { title: "GPU", column: "gpu_pct", say: percent, most: 100 },
  { title: "GPU memory", column: "gpu_memory_bytes", say: formatBytes },
  { title: "in tensors", column: "tf_bytes", say: formatBytes },
  { title: "GPU clock", column: "gpu_clock_mhz", say: (mhz) => `${formatNumber(mhz, 4)} MHz`, leastChange: 0.03 },
];
/** Memory and loss have no scale from 0, but noise must not fill the chart. */
const LEAST_SPAN = 0.02;

export function stripsOf({ run, samples }: LiveState): Strip[] {
  if (run.nBins === 0) return [];
  const strips: Strip[] = [];
  if (run.loss.some(Number.isFinite)) {
    const at = run.first_ordinal.map((first, i) => first + run.n[i] / 2);
    strips.push({ title: "Loss", at, values: run.loss, say: formatAny, ...lossSpan(run.loss) });
  }
  if (samples.n === 0 || samples.columns.time_s === undefined) return strips;
  const at = numbers(samples, "time_s").map((time) => ordinalAt(run, time));
  for (const { title, column, say, most, leastChange = 0 } of MACHINE) {
    const values = samples.columns[column] as Float32Array | undefined;
    const sorted = values?.filter(Number.isFinite).sort();
    if (values === undefined || !sorted?.length) continue;
    const [least, largest] = [sorted[0], sorted[sorted.length - 1]];
    if (largest - least < leastChange * largest) continue;
    const span = most === undefined ? spanOf(least, largest) : { low: 0, high: Math.max(most, largest) };
    strips.push({ title, at, values, say, ...span });
  }
  return strips;
}

function spanOf(low: number, high: number): { readonly low: number; readonly high: number } {
  const missing = Math.max(0, LEAST_SPAN * Math.max(Math.abs(low), Math.abs(high)) - (high - low));
  return { low: low - missing / 2, high: high + missing / 2 || 1 };
}

/** The first losses may be far above all others: what one in twenty bins exceeds is cut. */
function lossSpan(loss: Float32Array): { readonly low: number; readonly high: number } {
  const sorted = loss.filter(Number.isFinite).sort();
  const high = sorted[Math.floor(0.95 * (sorted.length - 1))];
  const low = sorted[0];
  const largest = sorted[sorted.length - 1];
  return spanOf(low, largest - low < 2 * (high - low) ? largest : high + 0.1 * (high - low));
}
