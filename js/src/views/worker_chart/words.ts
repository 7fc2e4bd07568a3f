/** The steps of the hosts -> the sentence above them and the card of one. */

import type { WorkerRow } from "../../model/hosts/worker_steps";
import { formatMsSpan } from "../../model/overview/overview";
import { formatMs, formatPercent, plural } from "../../model/text/format";
import { CATEGORY_LABELS } from "../../model/wire/categories";
import type { StragglerMeta } from "../../model/wire/meta";

/** Differences under this share of a step are no finding. */
const EVEN_RATIO = 0.02;

export interface Card {
  readonly title: string;
  readonly lines: readonly string[];
}

/** What is known of who waits for whom. */
export interface Waiting {
  /** Whether the hosts wait for each other at all. */
  readonly waits: boolean;
  /** Some of `n` that hold the others up, worst first. */
  readonly stragglers: readonly StragglerMeta[];
  readonly n?: number;
  /** Whether there were steps enough to find them by. */
  readonly isJudged: boolean;
}

/** Who holds the others up, by what, and what it costs. */
export function verdict(
  rows: readonly WorkerRow[],
  hosts: readonly string[],
  categories: readonly string[],
  { waits, stragglers, n = stragglers.length, isJudged }: Waiting,
): string {
  if (rows.length < 2) return "";
  if (stragglers.length > 0) return held(rows, stragglers[0], n);
  return waits ? even(rows, hosts, isJudged) : slowest(rows, hosts, categories);
}

/** "worker0042 holds the others up: its input takes 4.1 ms longer than the median; without it a step would take ..." */
function held(rows: readonly WorkerRow[], worst: StragglerMeta, n: number): string {
  const { host, category, excess_ms, cost_ms, cost_ratio } = worst;
  const stepMs = cost_ratio > 0 ? cost_ms / cost_ratio : mean(rows.map(({ stepTimeMs }) => stepTimeMs));
  const cost = `without ${n > 1 ? "them" : "it"} a step would take ${formatMs(stepMs - cost_ms)} instead of ${formatMs(stepMs)} (${formatPercent(cost_ratio)} less)`;
  const who = n > 1 ? `${n} hosts hold the others up, ${host} the most` : `${host} holds the others up`;
  return `${who}: its ${label(category)} takes ${formatMs(excess_ms)} longer than the median; ${cost}.`;
}

function even(rows: readonly WorkerRow[], hosts: readonly string[], isJudged: boolean): string {
  const own = rows.map(({ ownMs }) => ownMs);
  const step = mean(rows.map(({ stepTimeMs }) => stepTimeMs));
  const [least, most] = ends(own);
  const work = `${formatMsSpan(least, most)} of a step of ${formatMs(step)}`;
  if (isJudged || most - least <= step * EVEN_RATIO)
    return `The hosts are even: each works ${work}, the rest is communication.`;
  const last = rows.reduce((a, b) => (b.ownMs > a.ownMs ? b : a));
  return `The hosts work ${work}, ${hosts[last.host]} the longest; the rest is communication.`;
}

/** Of hosts that do not wait for each other. */
function slowest(rows: readonly WorkerRow[], hosts: readonly string[], categories: readonly string[]): string {
  const slow = rows.reduce((a, b) => (b.stepTimeMs > a.stepTimeMs ? b : a));
  const fast = rows.reduce((a, b) => (b.stepTimeMs < a.stepTimeMs ? b : a));
  if (slow.behindMs <= slow.stepTimeMs * EVEN_RATIO)
    return `The hosts take the same time: ${formatMsSpan(fast.stepTimeMs, slow.stepTimeMs)}.`;
  const more = categories.map((_, c) => slow.parts[c] - fast.parts[c]);
  const cause = more.indexOf(Math.max(...more));
  return `${hosts[slow.host]} is the slowest: ${formatMs(slow.stepTimeMs)}, ${formatMs(slow.behindMs)} more than ${hosts[fast.host]}; ${label(categories[cause])} takes ${formatMs(more[cause])} more.`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function ends(values: readonly number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), 0)];
}

export function label(category: string): string {
  return (CATEGORY_LABELS[category] ?? category).toLowerCase();
}

/** The card of a host; `role` is told where it is no worker, `held` what the others lose by it. */
export function card(
  row: WorkerRow,
  name: string,
  categories: readonly string[],
  what: string,
  more: { readonly role?: string | undefined; readonly held?: StragglerMeta | undefined } = {},
): Card {
  const hasOwn = row.ownMs < row.stepTimeMs;
  const lines = [
    `${what}: ${formatMs(row.stepTimeMs)}${hasOwn ? `, of which ${formatMs(row.ownMs)} its own work` : ""}`,
  ];
  categories.forEach((category, c) => {
    const ms = row.parts[c];
    if (ms <= 0) return;
    const mark = c === row.bottleneck ? " · bottleneck" : "";
    lines.push(
      `${CATEGORY_LABELS[category] ?? category} ${formatMs(ms)} · ${formatPercent(ms / row.stepTimeMs)}${mark}`,
    );
  });
  const { role, held } = more;
  if (held) {
    const { n_steps, n_aligned, cost_ms } = held;
    lines.push(`last in ${n_steps} of ${plural(n_aligned, "step")}: costs the others ${formatMs(cost_ms)} a step`);
  } else if (row.behindMs > row.stepTimeMs * EVEN_RATIO)
    lines.push(`${formatMs(row.behindMs)} behind the fastest host`);
  return { title: isSpecial(role) ? `${name} · ${role}` : name, lines };
}

/** Whether a role is worth a word: most hosts are workers. */
export function isSpecial(role: string | undefined): boolean {
  return role !== undefined && role !== "" && role !== "worker";
}

/** "mean of 7 steps" */
export function meanOf(n: number): string {
  return n === 1 ? "1 step" : `mean of ${plural(n, "step")}`;
}
