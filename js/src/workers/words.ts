/** The steps of the hosts -> the sentence above them and the card of one. */

import { formatMs, formatPercent, plural } from "../core/format";
import { CATEGORY_LABELS } from "../core/meta";
import { formatMsSpan } from "../core/overview";
import type { WorkerRow } from "../core/worker_steps";

/** Differences under this share of a step are no finding. */
const EVEN_RATIO = 0.02;

/** "host-1 is the slowest: 12.3 ms, 4.10 ms more than host-0; input takes 4.30 ms more." */
export function verdict(rows: readonly WorkerRow[], hosts: readonly string[], categories: readonly string[]): string {
  if (rows.length < 2) return "";
  const slowest = rows.reduce((a, b) => (b.stepTimeMs > a.stepTimeMs ? b : a));
  const fastest = rows.reduce((a, b) => (b.stepTimeMs < a.stepTimeMs ? b : a));
  if (slowest.behindMs <= slowest.stepTimeMs * EVEN_RATIO)
    return `The hosts take the same time: ${formatMsSpan(fastest.stepTimeMs, slowest.stepTimeMs)}.`;
  const more = categories.map((_, c) => slowest.parts[c] - fastest.parts[c]);
  const cause = more.indexOf(Math.max(...more));
  return `${hosts[slowest.host]} is the slowest: ${formatMs(slowest.stepTimeMs)}, ${formatMs(slowest.behindMs)} more than ${hosts[fastest.host]}; ${label(categories[cause])} takes ${formatMs(more[cause])} more.`;
}

export function label(category: string): string {
  return (CATEGORY_LABELS[category] ?? category).toLowerCase();
}

/** The card of a host. */
export function card(
  row: WorkerRow,
  hosts: readonly string[],
  categories: readonly string[],
  what: string,
): { title: string; lines: string[] } {
  const lines = [`${what}: ${formatMs(row.stepTimeMs)}`];
  categories.forEach((category, c) => {
    const ms = row.parts[c];
    if (ms <= 0) return;
    const mark = c === row.bottleneck ? " · bottleneck" : "";
    lines.push(
      `${CATEGORY_LABELS[category] ?? category} ${formatMs(ms)} · ${formatPercent(ms / row.stepTimeMs)}${mark}`,
    );
  });
  if (row.behindMs > 0) lines.push(`${formatMs(row.behindMs)} behind the fastest host`);
  return { title: hosts[row.host] ?? "", lines };
}

/** "mean of 7 steps" */
export function meanOf(n: number): string {
  return n === 1 ? "1 step" : `mean of ${plural(n, "step")}`;
}
