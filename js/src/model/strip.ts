/** One step drawn to scale: its stretches by what they are and who has them, and which of them each card is about. */

import { columns, numbers, PS_PER_NS, type Span } from "../data/columns";
import type { AdviceMeta, AttributionRow } from "../data/meta";
import { EMPTY_TABLE, type Table } from "../data/pack";
import { median, timeOfSteps } from "./steps";

const PS_PER_MS = 1e9;
const MOST_CARDS = 3;
/** Of a step: stretches of one card that are no further apart have one bracket. */
const JOINED = 0.01;

/** How many cards have a number and a bracket: the first ones, as far as their fix wins time of a step. */
export function nNumbered(advice: readonly AdviceMeta[]): number {
  const first = advice.slice(0, MOST_CARDS);
  const end = first.findIndex(({ gain_ratio }) => gain_ratio <= 0);
  return end < 0 ? first.length : end;
}

export interface Piece extends Span {
  readonly category: string;
}

export interface Bracket {
  /** The place of its card. */
  readonly card: number;
  readonly ms: number;
  readonly category: string;
  readonly spans: readonly Span[];
}

export function spanOfRow({ start_ms, duration_ms }: AttributionRow): Span {
  return { t0: start_ms * PS_PER_MS, t1: (start_ms + duration_ms) * PS_PER_MS };
}

/** What a step is made of, in the order of time; empty where its pieces are not here. */
export function piecesOf(pieces: Table | undefined, step: number, categories: readonly string[]): Piece[] {
  const table = pieces ?? EMPTY_TABLE;
  const [of, start, duration, category] = columns(table, "step", "start_ps", "duration_ps", "category");
  const found: Piece[] = [];
  for (let i = 0; i < table.n; i++) {
    if (of[i] === step)
      found.push({ t0: start[i], t1: start[i] + duration[i], category: categories[category[i]] ?? "other" });
  }
  return found;
}

/** Of each numbered card its stretches of a step. Their ms are those of the rows, also where several ops share the time. */
export function bracketsOf(rows: readonly AttributionRow[], step: Span, nCards: number): Bracket[] {
  const own = rows.filter(({ advice }) => advice >= 0 && advice < nCards).sort((a, b) => a.start_ms - b.start_ms);
  const reach = (step.t1 - step.t0) * JOINED;
  const spans: Span[][] = Array.from({ length: nCards }, () => []);
  let last = -1;
  for (const row of own) {
    const [span, of] = [spanOfRow(row), spans[row.advice]];
    const before = of[of.length - 1];
    if (before && last === row.advice && span.t0 - before.t1 <= reach)
      of[of.length - 1] = { t0: before.t0, t1: Math.max(before.t1, span.t1) };
    else of.push(span);
    last = row.advice;
  }
  return spans.flatMap((of, card) => {
    const ofCard = own.filter(({ advice }) => advice === card);
    const ms = ofCard.reduce((sum, { time_ms }) => sum + time_ms, 0);
    return of.length > 0 ? [{ card, ms, category: mostOf(ofCard, ({ category }) => category)[0], spans: of }] : [];
  });
}

/** A card that selects its stretches of a step, where it has any there: as drawn, and of the step whose events a page holds. */
export function shownIn(
  one: AdviceMeta,
  card: number,
  rows: readonly AttributionRow[],
  steps: Table | undefined,
  step: number,
): AdviceMeta {
  const own = rows.filter((row) => row.step === step && row.advice === card).map(spanOfRow);
  if (own.length === 0 || steps === undefined) return one;
  const stretches_ns = own.flatMap(({ t0, t1 }) => [Math.floor(t0 / PS_PER_NS), Math.ceil(t1 / PS_PER_NS)]);
  return { ...one, step, time_range_ns: timeOfSteps(steps, step, step), stretches_ns };
}

/** What has most time of some rows, and how much: "" where nothing has any. */
export function mostOf(
  rows: readonly AttributionRow[],
  name: (row: AttributionRow) => string,
): readonly [string, number] {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(name(row), (sums.get(name(row)) ?? 0) + row.time_ms);
  return [...sums].reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0] as const);
}

/** How many ops run at once on average in each of `n` parts of a step, the innermost alone; `counts` leaves out those that wait. */
export function opsAtOnce(occurrences: Table, step: Span, n: number, counts: (op: number) => boolean): Float64Array {
  const [op, parent, start, length] = columns(occurrences, "op", "parent", "start_ps", "span_ps");
  const [found, part] = [new Float64Array(n), (step.t1 - step.t0) / n];
  const weight = (row: number) => (row >= 0 && counts(op[row]) ? 1 : 0);
  for (let i = 0; i < occurrences.n; i++) {
    const [from, to] = [Math.max(start[i], step.t0) - step.t0, Math.min(start[i] + length[i], step.t1) - step.t0];
    const more = from < to ? weight(i) - weight(parent[i]) : 0;
    for (let k = Math.floor(from / part); more !== 0 && k < n && k * part < to; k++)
      found[k] += (more * (Math.min(to, (k + 1) * part) - Math.max(from, k * part))) / part;
  }
  return found;
}

/** Rows with a name that do not overlap, those with most time first: as many as one lane holds. */
export function laneOf(rows: readonly AttributionRow[], least: number): AttributionRow[] {
  const chosen: AttributionRow[] = [];
  const named = rows.filter(({ op, event, duration_ms }) => (op !== "" || event !== "") && duration_ms >= least);
  for (const row of named.sort((a, b) => b.time_ms - a.time_ms)) {
    const end = row.start_ms + row.duration_ms;
    if (chosen.every((one) => end <= one.start_ms || row.start_ms >= one.start_ms + one.duration_ms)) chosen.push(row);
  }
  return chosen;
}

/** The averaged step nearest to the median, of one host where one is given; the first step where none is averaged, -1 without steps. */
export function typicalStep(steps: Table, host = -1): number {
  if (steps.n === 0) return -1;
  const [duration, isAveraged] = columns(steps, "duration_ps", "is_averaged");
  const of = host < 0 ? [] : numbers(steps, "host");
  const all = Array.from({ length: steps.n }, (_, row) => row).filter((row) => host < 0 || of[row] === host);
  const usual = all.filter((row) => isAveraged[row]);
  if (usual.length === 0) return all[0] ?? -1;
  const middle = median(usual.map((row) => duration[row]));
  return usual.reduce((a, b) => (Math.abs(duration[b] - middle) < Math.abs(duration[a] - middle) ? b : a));
}
