/** The overview of a trace -> the words and figures of the header, and the ops that cost most a step. */

import { formatMs, formatNumber } from "../text/format";
import { columns, numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import type { Table } from "../wire/wire";

export interface Figure {
  readonly value: string;
  readonly deviation: string;
  readonly unit: string;
}

const UNITS: readonly [number, string][] = [
  [1000, "s"],
  [1, "ms"],
  [0.001, "µs"],
];

/** A mean and its deviation in one unit and to the same decimals: 21.3 ± 0.4 ms. */
export function meanFigure(meanMs: number, deviationMs: number): Figure {
  const [scale, unit] = UNITS.find(([least]) => meanMs >= least) ?? UNITS[UNITS.length - 1];
  const decimals = decimalsOf(meanMs / scale);
  const deviation = deviationMs / scale;
  const rounded = deviation.toFixed(decimals);
  // Below that it is the rounding of the sum, not of the steps.
  const isReal = deviation > (meanMs / scale) * 1e-9;
  return {
    value: formatNumber(meanMs / scale),
    deviation: isReal && Number(rounded) === 0 ? formatNumber(deviation, 1) : rounded,
    unit,
  };
}

/** "19.9 to 22.2 ms", the unit once where it is the same. */
export function formatMsSpan(leastMs: number, mostMs: number): string {
  const [least, most] = [formatMs(leastMs), formatMs(mostMs)];
  const unit = most.slice(most.lastIndexOf(" "));
  return `${least.endsWith(unit) ? least.slice(0, -unit.length) : least} to ${most}`;
}

/** Decimals that give a value three significant digits. */
export function decimalsOf(value: number): number {
  return value > 0 ? Math.max(0, 2 - Math.floor(Math.log10(Number(value.toPrecision(3))))) : 0;
}

/** A part of a whole to the whole's decimals: "0.6"; never "0.0" for something that is there. */
export function formatPart(value: number, decimals: number): string {
  if (value === 0) return "0";
  const least = 10 ** -decimals;
  return value < least / 2 ? `<${least.toFixed(decimals)}` : value.toFixed(decimals);
}

/** Per cent without the sign: "62", "<1". */
export function formatShare(ratio: number): string {
  if (ratio === 0) return "0";
  return ratio < 0.005 ? "<1" : String(Math.round(ratio * 100));
}

/** The side whose ops limit a step, 1 a device's and 0 the host's; null where something else than ops does. */
export function limitingSide({ limiter }: TraceMeta["overview"]): 0 | 1 | null {
  return limiter === "device_compute" ? 1 : limiter === "host_compute" ? 0 : null;
}

/** The first step that compiled but is left out of the averages, or -1. */
export function compilingStep(steps: Table): number {
  const compile = steps.columns.compile_ms === undefined ? [] : numbers(steps, "compile_ms");
  const isAveraged = numbers(steps, "is_averaged");
  for (let i = 0; i < steps.n; i++) if (compile[i] > 0 && !isAveraged[i]) return i;
  return -1;
}

export interface TopOp {
  readonly op: number;
  readonly name: string;
  readonly type: string;
  readonly occurrences: number;
  /** Self time a step, where steps are averaged. */
  readonly ms: number;
  /** Of the self time of all ops of that side. */
  readonly ratio: number;
}

/** The ops of one side (0 host, 1 device) with the most self time, as Python's `compute_top_ops` found them. */
export function topOps(meta: TraceMeta, top: Table, side: 0 | 1): TopOp[] {
  const [host, op, occurrences, ms, ratio] = columns(top, "host", "op", "occurrences", "ms", "ratio");
  const isWanted = (row: number) => host[row] < 0 === !meta.about_host && meta.op_device[op[row]] === side;
  const rows = Array.from({ length: top.n }, (_, row) => row).filter(isWanted);
  return rows.map((row) => ({
    op: op[row],
    name: meta.names[meta.op_name[op[row]]] ?? "",
    type: meta.names[meta.op_type[op[row]]] ?? "",
    occurrences: occurrences[row],
    ms: ms[row],
    ratio: ratio[row],
  }));
}
