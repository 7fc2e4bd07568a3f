/** Some aligned steps of the hosts, and who holds the others up in all of them -> what those cost in the chosen steps. */

import { numbers } from "../wire/column";
import type { StragglerMeta } from "../wire/meta";
import type { Table } from "../wire/wire";
import { COMMUNICATION, ownTimes } from "./worker_steps";

/**
 * What the stragglers `named` cost in the steps `chosen`, most costly first; without those that cost nothing there.
 *
 * Python names them by all steps: of fewer nobody can tell a straggler from chance. The figures are computed as there: a
 * host is late by its own time over the median of the other hosts, and costs the time from when the last host that is not
 * named has arrived to when it has.
 */
export function stragglersIn(
  table: Table,
  named: readonly StragglerMeta[],
  categories: readonly string[],
  hosts: readonly string[],
  chosen: ReadonlySet<number>,
): StragglerMeta[] {
  const late = new Set(named.map(({ host }) => hosts.indexOf(host)).filter((host) => host >= 0));
  if (late.size === 0 || chosen.size === 0 || hosts.length < 2) return [];
  const steps = [...chosen];
  const own = matrix(ownTimes(table), hosts.length, steps);
  const last = own.map((ofStep) => lastOf(ofStep, late));
  const stepMs = meanOf(matrix(numbers(table, "step_time_ms"), hosts.length, steps));
  const sorted = own.map((ofStep) => Float64Array.from(ofStep).sort());
  const parts = categories
    .filter((category) => category !== COMMUNICATION)
    .map((category) => {
      const values = matrix(numbers(table, `${category}_ms`), hosts.length, steps);
      return { category, values, sorted: values.map((ofStep) => Float64Array.from(ofStep).sort()) };
    });
  const found = [...late].map((host) => {
    const ahead = own.map((ofStep, k) => Math.max(0, ofStep[host] - last[k]));
    const inSteps = [...ahead.keys()].filter((k) => ahead[k] > 0);
    const more = parts.map(({ values, sorted }) => mean(inSteps.map((k) => over(values[k][host], sorted[k]))));
    const costMs = mean(ahead);
    return {
      host: hosts[host],
      category: parts[more.indexOf(Math.max(...more))]?.category ?? "",
      n_steps: inSteps.length,
      n_aligned: steps.length,
      excess_ms: mean(own.map((ofStep, k) => over(ofStep[host], sorted[k]))),
      cost_ms: costMs,
      cost_ratio: stepMs > 0 ? costMs / stepMs : 0,
    };
  });
  return found.filter(({ n_steps }) => n_steps > 0).sort((a, b) => b.cost_ms - a.cost_ms);
}

/** By step the value of each host. */
function matrix(values: ArrayLike<number>, nHosts: number, steps: readonly number[]): Float64Array[] {
  return steps.map((step) => Float64Array.from({ length: nHosts }, (_, host) => values[step * nHosts + host]));
}

/** When the last host that is not late arrived; where all are, the first of them is what they could be. */
function lastOf(ofStep: Float64Array, late: ReadonlySet<number>): number {
  if (late.size === ofStep.length) return ofStep.reduce((a, b) => Math.min(a, b));
  return ofStep.reduce((last, ms, host) => (late.has(host) ? last : Math.max(last, ms)), Number.NEGATIVE_INFINITY);
}

/** By what a value of `sorted` exceeds the median of its others. */
function over(value: number, sorted: Float64Array): number {
  return value - medianOfOthers(value, sorted);
}

/** The median of ascending values without one of them. */
export function medianOfOthers(value: number, sorted: ArrayLike<number>): number {
  const at = (k: number) => sorted[value <= sorted[k] ? k + 1 : k];
  return (at((sorted.length - 2) >> 1) + at((sorted.length - 1) >> 1)) / 2;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function meanOf(rows: readonly Float64Array[]): number {
  return mean(rows.map((row) => row.reduce((sum, value) => sum + value, 0) / row.length));
}
