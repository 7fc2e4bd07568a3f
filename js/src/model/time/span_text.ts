/** A time range and the steps -> the words that say what a view is about: "steps 12–18 · 149 ms". */

import { formatCount, formatFixed, formatTime, plural } from "../text/format";
import { lowerBound } from "../wire/bisect";
import { columns, numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import { capturedPs } from "./sessions";
import { type RangePs, type Scope, STEADY } from "./viewport";

/** Slack for a range that was rounded to ns on its way through the link. */
const SLACK_PS = 2000;

/** The number of a step at the end of its name, with that of its epoch where numbers start again: "train 2·3". */
const NUMBER = /(\d+·)?\d+$/;
const KINDS = new WeakMap<readonly string[], string | null>();

/** "train" where every step is called "train 0", "train 1", ...; null where steps of several kinds are mixed. */
function commonKind(stepNames: readonly string[]): string | null {
  let kind = KINDS.get(stepNames);
  if (kind === undefined) {
    const kinds = new Set(stepNames.map((name) => name.replace(NUMBER, "")));
    kind = kinds.size === 1 ? ([...kinds][0] as string) : null;
    KINDS.set(stepNames, kind);
  }
  return kind;
}

/** The label of a step: its number, with its kind ("test 3") where the capture has several; its row where it has no name. */
export function stepLabel(stepNames: readonly string[], row: number): string {
  const name = stepNames[row];
  if (name === undefined || name === "") return String(row);
  const kind = commonKind(stepNames);
  const number = kind === null ? name : name.slice(kind.length);
  return number === "" ? String(row) : number;
}

/** A step in a sentence, by its label: "step 3", "epoch 2, step 3", "test 3". */
export function stepWords(stepNames: readonly string[], row: number): string {
  const label = stepLabel(stepNames, row);
  const words = label.replace(/(\d+)·(\d+)$/, "epoch $1, step $2");
  return /^\d+$/.test(words) ? `step ${words}` : words;
}

/** Steps of several hosts or sessions need not follow each other. Found out once: a drag asks with every frame. */
const SORTED = new WeakMap<object, boolean>();

function areSorted(times: ArrayLike<number> & object): boolean {
  let isSorted = SORTED.get(times);
  if (isSorted === undefined) {
    isSorted = true;
    for (let i = 1; isSorted && i < times.length; i++) isSorted = times[i - 1] <= times[i];
    SORTED.set(times, isSorted);
  }
  return isSorted;
}

/** The first and last step that lie in a range whole, or stick out of it by less than `slackPs`; null for none. */
export function wholeSteps(
  steps: Table,
  range: readonly [number, number],
  slackPs = 0,
): readonly [number, number] | null {
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  let first = -1;
  let last = -1;
  const isSorted = areSorted(start);
  for (let i = isSorted ? lowerBound(start, range[0] - slackPs) : 0; i < steps.n; i++) {
    if (isSorted && start[i] > range[1] + slackPs) break;
    const end = start[i] + duration[i];
    if (start[i] < range[0] - slackPs || end > range[1] + slackPs) continue;
    if (first < 0) first = i;
    last = i;
  }
  return first < 0 ? null : [first, last];
}

/** The first and last step that a range covers whole, when it covers nothing else; null otherwise. */
export function stepsOfRange(steps: Table | undefined, range: RangePs): readonly [number, number] | null {
  const whole = range && steps && wholeSteps(steps, range, SLACK_PS);
  if (!whole) return null;
  const [first, last] = whole;
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  const startsThere = Math.abs(start[first] - range[0]) <= SLACK_PS;
  const endsThere = Math.abs(start[last] + duration[last] - range[1]) <= SLACK_PS;
  return startsThere && endsThere ? [first, last] : null;
}

/**
 * The link's range (ns) in ps. The link rounds to ns, so a bound within a ns of a step's border is that border: else the first
 * call of a step would fall out of it, or the neighbour's last one into it.
 */
export function rangeInPs(rangeNs: readonly [number, number] | null, steps: Table | undefined): RangePs {
  if (rangeNs === null) return null;
  let [from, to] = [rangeNs[0] * 1000, rangeNs[1] * 1000];
  if (steps === undefined || steps.n === 0) return [from, to];
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  const [asked, end] = [from, to];
  for (let i = 0; i < steps.n; i++) {
    for (const border of [start[i], start[i] + duration[i]]) {
      if (Math.abs(border - asked) <= 1000) from = border;
      if (Math.abs(border - end) <= 1000) to = border;
    }
  }
  return [from, to];
}

/** Rows of the steps that averages are over. */
export function averagedRows(steps: Table): number[] {
  const isAveraged = numbers(steps, "is_averaged");
  return Array.from({ length: steps.n }, (_, row) => row).filter((row) => isAveraged[row] === 1);
}

/** "average of steps 1–9", or how many of how many where they do not follow each other. */
function describeAveraged(meta: TraceMeta, steps: Table): string {
  const rows = averagedRows(steps);
  const [first, last] = [rows[0] ?? 0, rows[rows.length - 1] ?? 0];
  if (rows.length === 1) return stepWords(meta.step_names, first);
  const [from, to] = [first, last].map((row) => stepLabel(meta.step_names, row));
  const host = steps.columns.host === undefined ? [] : numbers(steps, "host");
  // Step numbers start again with each call of fit(), and those of several hosts are the same.
  const isNumbered = to.includes("·") || Number(to) - Number(from) === last - first;
  const areNumbered = isNumbered && rows.every((row) => host[row] === host[first]);
  if (last - first + 1 === rows.length && areNumbered) return `average of steps ${from}–${to}`;
  const all = rows.length === steps.n ? "" : `${formatCount(rows.length)} of `;
  return `average of ${all}${plural(steps.n, "step")}`;
}

/** What a view is about, in words. */
export function describeRange(meta: TraceMeta, steps: Table | undefined, range: Scope): string {
  const nSteps = (steps ?? EMPTY_TABLE).n;
  if (range === STEADY) return describeAveraged(meta, steps ?? EMPTY_TABLE);
  if (range === null) {
    return ["whole capture", nSteps > 0 ? plural(nSteps, "step") : "", formatTime(capturedPs(meta))]
      .filter(Boolean)
      .join(" · ");
  }
  const length = formatTime(range[1] - range[0]);
  const covered = stepsOfRange(steps, range);
  if (covered === null) return `${formatBounds(range)} · ${length}`;
  const [first, last] = covered.map((row) => stepLabel(meta.step_names, row));
  const count = covered[1] - covered[0] + 1;
  // Step numbers start again with each call of fit().
  if (Number(first) >= Number(last) && count > 1) return `${count} steps, ${first} to ${last} · ${length}`;
  if (count === 1) return `${stepWords(meta.step_names, covered[0])} · ${length}`;
  return `${/^\d/.test(first) ? "steps " : ""}${first}–${last} · ${length}`;
}

/** "431–580 ms", with as many decimals as tell the bounds apart. */
function formatBounds(range: readonly [number, number]): string {
  const span = Math.max(1, range[1] - range[0]);
  const decimals = Math.max(0, Math.min(6, Math.ceil(2 - Math.log10(span / 1e9))));
  const text = (ps: number) => formatFixed(ps / 1e9, decimals);
  return `${text(range[0])}–${text(range[1])} ms`;
}

/** A sentence in parts, of which every second one is a number with its unit ("(62 %)."), not to be broken over lines. */
export function keepTogether(sentence: string): string[] {
  return sentence.split(/(\(?[\d.,]+ (?:%|s|ms|µs|ns)\S*)/);
}
