/** The hosts of a trace: names and roles, their steps side by side, and who holds the others up. */

import { numbers } from "../data/columns";
import type { StragglerMeta, TraceMeta } from "../data/meta";
import type { Table } from "../data/pack";
import { cutNames } from "./names";
import type { Steps } from "./steps";

/** By host what tells it from the others (the whole where one would be empty), and what all begin with: said once, as "worker…". */
export function shortHosts(names: readonly string[]) {
  if (names.length < 2) return { short: [...names], prefix: "" };
  const prefix = commonPrefix(names).replace(/\d+$/, "");
  const suffix = commonSuffix(names.map((name) => name.slice(prefix.length))).replace(/^\d+/, "").length;
  const short = names.map((name) => name.slice(prefix.length, name.length - suffix));
  return short.some((name) => name === "") ? { short: [...names], prefix: "" } : { short, prefix };
}

export function hostNamesThatFit(names: readonly string[], nCharacters: number): readonly string[] {
  const fits = (name: string) => name.length <= nCharacters;
  return names.every(fits) ? names : shortHosts(names).short;
}

function commonPrefix(names: readonly string[]): string {
  let length = names[0].length;
  for (const name of names) {
    let same = 0;
    while (same < length && name[same] === names[0][same]) same++;
    length = same;
  }
  return names[0].slice(0, length);
}

function commonSuffix(names: readonly string[]): string {
  const reversed = (text: string) => [...text].reverse().join("");
  return reversed(commonPrefix(names.map(reversed)));
}

/** All hosts in the order of the trace; none in a profile that holds no trace. */
export function hostsOf(meta: TraceMeta): readonly string[] {
  return meta.hosts ?? [];
}

export function roleOf(meta: TraceMeta, host: number): string {
  return meta.host_roles?.[host] ?? "";
}

/** Rows of the hosts whose name or role has every word of a text, any case; all for an empty text. */
export function findHosts(hosts: readonly string[], roles: readonly string[], text: string): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: number[] = [];
  hosts.forEach((name, row) => {
    const about = `${name} ${roles[row] ?? ""}`.toLowerCase();
    if (words.every((word) => about.includes(word))) rows.push(row);
  });
  return rows;
}

const MOST_LETTERS = 36;

/** A name as it stands in a sentence: of a long one what tells it from the others, else both ends. */
export function shortHost(name: string, hosts: readonly string[]): string {
  const fits = (text: string) => text.length <= MOST_LETTERS;
  return fits(name) ? name : hostCuts([name], hosts, fits)(name);
}

/** Names cut where they do not fit, no two alike: without what all begin and end with, then to those of charts, then in the middle. */
export function hostCuts(
  names: readonly string[],
  hosts: readonly string[],
  fits: (text: string) => boolean,
): (name: string) => string {
  if (names.every(fits)) return (name) => name;
  let parts = new Map(names.map((name) => [name, tellingPart(name, hosts)]));
  if (![...parts.values()].every(fits)) parts = new Map(shortHosts(hosts).short.map((short, i) => [hosts[i], short]));
  const cuts = cutNames(new Set(names.map((name) => parts.get(name) ?? name)), fits);
  return (name) => {
    const part = parts.get(name) ?? name;
    return cuts.get(part) ?? part;
  };
}

const ENDS = new WeakMap<readonly string[], readonly [prefix: number, suffix: number]>();

/** "…worker-00042…" of "projects/p/instances/worker-00042.c.p.internal", where the others differ in that word only. */
function tellingPart(name: string, hosts: readonly string[]): string {
  let ends = ENDS.get(hosts);
  if (ends === undefined) {
    ends = commonEnds(hosts);
    ENDS.set(hosts, ends);
  }
  const [prefix, suffix] = ends;
  if (prefix + suffix >= name.length) return name;
  return `${prefix > 0 ? "…" : ""}${name.slice(prefix, name.length - suffix)}${suffix > 0 ? "…" : ""}`;
}

/** Letters of the words, separated by "/" and ".", that all names begin and end with. */
function commonEnds(hosts: readonly string[]): readonly [number, number] {
  if (hosts.length < 2) return [0, 0];
  const [head, tail] = [commonPrefix(hosts), commonSuffix(hosts)];
  const word = Math.max(head.lastIndexOf("/"), head.lastIndexOf(".")) + 1;
  const rest = tail.search(/[/.]/);
  return [word, rest < 0 ? 0 : tail.length - rest];
}

export function pythonText(text: string): string {
  // JSON's escapes are Python's, but for a surrogate alone, which no host name has.
  return JSON.stringify(text);
}

const SLACK_PS = 1000;

/** Time in which a host may only wait for the others: what is left of a step without it is the host's own time. */
export const COMMUNICATION = "device_collectives";

export interface WorkerRow {
  readonly host: number;
  readonly stepTimeMs: number;
  /** Step time without communication: in a synchronous training only this tells hosts apart. */
  readonly ownMs: number;
  /** Ms per category, in the order asked for. */
  readonly parts: readonly number[];
  /** The category with the most time; -1 where all are 0. */
  readonly bottleneck: number;
  /** Over the fastest host's step time. */
  readonly behindMs: number;
}

/** Mean of the aligned steps `chosen`, host by host; nothing without a step. */
export function workerRows(
  table: Table,
  categories: readonly string[],
  nHosts: number,
  chosen: ReadonlySet<number>,
): WorkerRow[] {
  if (chosen.size === 0) return [];
  const meanOf = (column: string) => {
    const values = numbers(table, column);
    const sums = new Float64Array(nHosts);
    for (const step of chosen) for (let host = 0; host < nHosts; host++) sums[host] += values[step * nHosts + host];
    return sums.map((sum) => sum / chosen.size);
  };
  const means = meanOf("step_time_ms");
  const columns = categories.map((category) => meanOf(`${category}_ms`));
  const fastest = means.reduce((least, mean) => Math.min(least, mean), Number.POSITIVE_INFINITY);
  const communication = categories.indexOf(COMMUNICATION);
  return Array.from(means, (stepTimeMs, host) => {
    const parts = columns.map((column) => column[host]);
    const most = Math.max(...parts);
    const bottleneck = most > 0 ? parts.indexOf(most) : -1;
    const ownMs = Math.max(0, stepTimeMs - (parts[communication] ?? 0));
    return { host, stepTimeMs, ownMs, parts, bottleneck, behindMs: stepTimeMs - fastest };
  });
}

export function ownTimes(table: Table): Float64Array {
  const time = numbers(table, "step_time_ms");
  const communication = table.columns[`${COMMUNICATION}_ms`] as Float64Array | undefined;
  return Float64Array.from(time, (ms, i) => Math.max(0, ms - (communication?.[i] ?? 0)));
}

/** The aligned step that a row of the `steps` table is part of, -1 for one that the alignment left out. */
export function alignedOf(table: Table, stepRow: number): number {
  const at = numbers(table, "row").indexOf(stepRow);
  return at < 0 ? -1 : numbers(table, "step")[at];
}

/** Aligned steps that lie within a range (ps) on at least one host, of which the middle does on all. */
export function alignedIn(table: Table, steps: Table, range: readonly [number, number]): Set<number> {
  const [step, row] = ["step", "row"].map((name) => numbers(table, name));
  const start = numbers(steps, "start_ps");
  const duration = numbers(steps, "duration_ps");
  const [whole, outside] = [new Set<number>(), new Set<number>()];
  for (let i = 0; i < table.n; i++) {
    const [from, length] = [start[row[i]], duration[row[i]]];
    // The link rounds to ns.
    if (from >= range[0] - SLACK_PS && from + length <= range[1] + SLACK_PS) whole.add(step[i]);
    const middle = from + length / 2;
    if (middle < range[0] || middle >= range[1]) outside.add(step[i]);
  }
  for (const one of outside) whole.delete(one);
  return whole;
}

/** By host the row of the `steps` table that an aligned step is there. */
export function rowsOf(table: Table, aligned: number, nHosts: number): number[] {
  return [...numbers(table, "row").subarray(aligned * nHosts, (aligned + 1) * nHosts)];
}

/** Aligned steps that count as usual on every host; all of them where none does. */
export function usualSteps(table: Table, isAveraged: ArrayLike<number>): Set<number> {
  const [step, row] = ["step", "row"].map((name) => numbers(table, name));
  const all = new Set<number>(step);
  const usual = new Set(all);
  for (let i = 0; i < table.n; i++) if (!isAveraged[row[i]]) usual.delete(step[i]);
  return usual.size > 0 ? usual : all;
}

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

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function meanOf(rows: readonly Float64Array[]): number {
  return mean(rows.map((row) => row.reduce((sum, value) => sum + value, 0) / row.length));
}

/** Cell (r, c) is `value[r * nColumns + c]`, the largest of those that it stands for. */
export interface HostGrid extends Readonly<Record<"step" | "firstPlace" | "firstStep", Int32Array>> {
  readonly nRows: number;
  readonly nColumns: number;
  readonly value: Float32Array;
  /** Host and aligned step of the largest value of a cell. */
  readonly host: Int32Array;
  /** Row r holds the places [firstPlace[r], firstPlace[r + 1]) of `order`, column c the steps [firstStep[c], ...). */
  readonly order: readonly number[];
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

export interface HostStrip {
  readonly piece: Steps["piece"];
  readonly step: Int32Array;
  readonly rows: Int32Array;
}

/** One strip a host, of which each step has one, -1 for none; empty ones for hosts without steps. */
export function hostStrips(
  nHosts: number,
  hostOfStep: ArrayLike<number>,
  piece: Steps["piece"],
  pieceStep: ArrayLike<number>,
): HostStrip[] {
  const rows = grouped(nHosts, hostOfStep.length, (row) => hostOfStep[row]);
  const ofPiece = grouped(nHosts, pieceStep.length, (p) => hostOfStep[pieceStep[p]] ?? -1);
  return rows.map((own, host) => {
    const pieces = ofPiece[host];
    return {
      piece: {
        start: Float64Array.from(pieces, (p) => piece.start[p]),
        end: Float64Array.from(pieces, (p) => piece.end[p]),
        category: Uint8Array.from(pieces, (p) => piece.category[p]),
      },
      step: Int32Array.from(pieces, (p) => pieceStep[p]),
      rows: own,
    };
  });
}

function grouped(nGroups: number, n: number, groupOf: (item: number) => number): Int32Array[] {
  const count = new Int32Array(nGroups);
  for (let i = 0; i < n; i++) if (groupOf(i) >= 0) count[groupOf(i)] += 1;
  const groups = Array.from(count, (size) => new Int32Array(size));
  count.fill(0);
  for (let i = 0; i < n; i++) {
    const group = groupOf(i);
    if (group >= 0) groups[group][count[group]++] = i;
  }
  return groups;
}

export interface HeadSteps extends Steps {
  readonly rows: Int32Array | null;
}

export function allSteps(steps: Steps): HeadSteps {
  return { ...steps, rows: null };
}

export function stepsOfHost(steps: Steps, strip: HostStrip): HeadSteps {
  const pick = (values: ArrayLike<number>) => Array.from(strip.rows, (row) => values[row]);
  return {
    n: strip.rows.length,
    start: Float64Array.from(pick(steps.start)),
    end: Float64Array.from(pick(steps.end)),
    session: pick(steps.session),
    names: Array.from(strip.rows, (row) => steps.names[row]),
    isAveraged: pick(steps.isAveraged),
    isInferred: steps.isInferred,
    piece: strip.piece,
    rows: strip.rows,
  };
}
