/** The aligned steps of the hosts that the link is about, and the words on them. */

import { numbers } from "../../data/columns";
import { CATEGORY_LABELS, type StragglerMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import {
  alignedIn,
  alignedOf,
  COMMUNICATION,
  hostNamesThatFit,
  hostsOf,
  mean,
  roleOf,
  rowsOf,
  stragglersIn,
  usualSteps,
  type WorkerRow,
  workerRows,
} from "../../model/hosts";
import { formatMsSpan } from "../../model/overview";
import { rangeInPs, stepLabel, stepWords } from "../../model/range";
import { timeOfSteps } from "../../model/steps";
import { formatMs, formatPercent, plural } from "../../model/text";
import { chooseRange, type TraceView } from "../../ui/view";

/** Differences under this share of a step are no finding. */
const EVEN_RATIO = 0.02;

export interface Card {
  readonly title: string;
  readonly lines: readonly string[];
}

/** What is known of who waits for whom. */
interface Waiting {
  /** Whether the hosts wait for each other at all. */
  readonly waits: boolean;
  /** Some of `n` that hold the others up, worst first. */
  readonly stragglers: readonly StragglerMeta[];
  readonly n?: number;
  /** Whether there were steps enough to find them by. */
  readonly isJudged: boolean;
}

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

function meanOf(n: number): string {
  return n === 1 ? "1 step" : `mean of ${plural(n, "step")}`;
}

export type SortBy = "host" | "step" | "own";

const NAME_CHARACTERS = 24;
/** As Python has it: of fewer steps it names no straggler. */
const MIN_STEPS = 3;

export class WorkerModel {
  readonly table: Table;
  readonly steps: Table;
  readonly hosts: readonly string[];
  readonly roles: readonly string[];
  readonly nSteps: number;
  /** Aligned steps that averages count. */
  readonly usual: ReadonlySet<number>;
  /** By host a name that a table has room for. */
  readonly shortNames: readonly string[];
  /** Whether any host waits for others: then own times, not step times, tell the hosts apart. */
  readonly hasOwn: boolean;
  /** Categories that took time on any host at any step, communication last: the own times then begin at one line. */
  readonly stack: readonly number[];
  sortBy: SortBy = "host";
  /** The aligned steps shown, what to call them, and the hosts' means of them in the order asked for. */
  chosen: ReadonlySet<number> = new Set();
  what = "";
  rows: readonly WorkerRow[] = [];
  stragglers: readonly StragglerMeta[] = [];
  nStragglers = 0;
  /** Whether the steps shown are those by which stragglers were looked for, and enough. */
  isJudged = false;

  constructor(readonly view: TraceView) {
    const { data } = view;
    this.table = data.table("worker_steps") ?? EMPTY_TABLE;
    this.steps = data.table("steps") ?? EMPTY_TABLE;
    this.hosts = data.meta.worker_hosts ?? [];
    const all = hostsOf(data.meta);
    this.roles = this.hosts.map((name) => roleOf(data.meta, all.indexOf(name)));
    this.shortNames = hostNamesThatFit(this.hosts, NAME_CHARACTERS);
    this.nSteps = this.hosts.length > 0 ? this.table.n / this.hosts.length : 0;
    this.usual = usualSteps(this.table, this.steps.columns.is_averaged as Uint8Array);
    this.stack = this.#used();
    this.hasOwn = this.stack.includes(this.categories.indexOf(COMMUNICATION));
  }

  get categories(): readonly string[] {
    return this.view.data.meta.categories;
  }

  #used(): readonly number[] {
    const { categories } = this;
    const used = categories.flatMap((category, c) => {
      const column = this.table.columns[`${category}_ms`] as Float64Array | undefined;
      return column?.some((ms) => ms > 0) ? [c] : [];
    });
    const communication = categories.indexOf(COMMUNICATION);
    return [...used.filter((c) => c !== communication), ...used.filter((c) => c === communication)];
  }

  /** A parameter server answers the workers: nobody waits for its steps. */
  isWorker(host: number): boolean {
    return this.roles[host] !== "parameter server" && this.roles[host] !== "coordinator";
  }

  update(): void {
    const { steps, what, isWhole } = this.#ofLink();
    const { categories, table, hosts } = this;
    this.chosen = steps;
    this.what = what;
    const rows = workerRows(table, categories, hosts.length, steps);
    const { meta } = this.view.data;
    const named = meta.stragglers ?? [];
    this.stragglers = isWhole ? named : stragglersIn(table, named, categories, hosts, steps);
    this.nStragglers = isWhole ? (meta.n_stragglers ?? named.length) : this.stragglers.length;
    this.isJudged = isWhole === true && this.nSteps >= MIN_STEPS;
    this.rows = this.#sorted(rows);
  }

  /** The aligned steps that the link is about, and what to call them. */
  #ofLink(): { steps: ReadonlySet<number>; what: string; isWhole?: boolean } {
    const { link, data } = this.view;
    const one = link.step >= 0 ? alignedOf(this.table, link.step) : -1;
    if (one >= 0) return { steps: new Set([one]), what: stepWords(data.meta.step_names, link.step) };
    const range = rangeInPs(link.timeRange, this.steps);
    if (range !== null) {
      const steps = alignedIn(this.table, this.steps, range);
      return { steps, what: steps.size === 0 ? "no whole step in this range" : `${meanOf(steps.size)} in the range` };
    }
    return { steps: this.usual, what: meanOf(this.usual.size), isWhole: true };
  }

  /** Workers first, whatever the order: other hosts' steps are not to be compared with theirs. */
  #sorted(rows: readonly WorkerRow[]): readonly WorkerRow[] {
    const key = { host: () => 0, step: (r: WorkerRow) => -r.stepTimeMs, own: (r: WorkerRow) => -r.ownMs }[this.sortBy];
    const rank = (row: WorkerRow) => Number(!this.isWorker(row.host));
    return [...rows].sort((a, b) => rank(a) - rank(b) || key(a) - key(b) || a.host - b.host);
  }

  get sentence(): string {
    const workers = this.rows.filter(({ host }) => this.isWorker(host));
    const { hosts, categories, stragglers, nStragglers: n, isJudged } = this;
    const { worker_note, workers_wait: waits = this.hasOwn } = this.view.data.meta;
    const words = [verdict(workers, hosts, categories, { waits, stragglers, n, isJudged }), worker_note ?? ""];
    return words.filter(Boolean).join(" ");
  }

  stragglerOf(host: number): StragglerMeta | undefined {
    return this.stragglers.find((one) => one.host === this.hosts[host]);
  }

  rowAt(host: number, aligned: number): WorkerRow {
    const rows = workerRows(this.table, this.categories, this.hosts.length, new Set([aligned]));
    return { ...rows[host], behindMs: 0 };
  }

  /** What an aligned step is called on the first host. */
  stepName(aligned: number): string {
    const row = rowsOf(this.table, aligned, this.hosts.length)[this.rows[0]?.host ?? 0];
    return stepLabel(this.view.data.meta.step_names, row);
  }

  /** Makes all views be about an aligned step, of one host where one is told; null is the mean of all. */
  choose(aligned: number | null, host = -1): void {
    const { link } = this.view;
    if (aligned === null) {
      chooseRange(link, null);
      return;
    }
    const rows = rowsOf(this.table, aligned, this.hosts.length);
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const row of rows) {
      const [begin, end] = timeOfSteps(this.steps, row, row);
      [from, to] = [Math.min(from, begin), Math.max(to, end)];
    }
    chooseRange(link, [from, to], rows[Math.max(0, host)]);
  }

  /** Makes all views be about a host, or about all again where they are about it. */
  chooseHost(host: number): void {
    const { link } = this.view;
    link.setHost(link.host === this.hosts[host] ? "" : (this.hosts[host] ?? ""));
  }

  /** A value of each row of the table: of own time, step time, or a category. */
  values(of: string): ArrayLike<number> {
    if (of === "step") return numbers(this.table, "step_time_ms");
    return numbers(this.table, `${of}_ms`);
  }
}
