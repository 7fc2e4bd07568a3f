/** What to change -> the words and figures of a card, and whether what it is about is selected. */

import { formatBytes, formatCount, formatMs, formatNumber, formatPercent } from "../text/format";
import { CATEGORY_LABELS } from "../wire/categories";
import type { AdviceMeta, OverviewMeta } from "../wire/meta";
import { formatShare } from "./overview";

const MOST_CHARACTERS = 240;

/** "saves up to", "33 %", "81 ms a step", or "about" of an estimate; the time only where that of a step is known. */
export function gainWords(
  { gain_ratio, evidence, fix, share_of = "step" }: AdviceMeta,
  stepMs: number | undefined,
): readonly string[] {
  if (gain_ratio <= 0) return [fix.words ? "no speed-up" : "gain not known", "", ""];
  const ofStep = stepMs ? `${formatMs(gain_ratio * stepMs)} a step` : "";
  const time = { step: ofStep, sample: "of a sample's time", "time captured": "of all captured" }[share_of];
  const bound = evidence.some(([name]) => name === "estimate") ? "about" : "up to";
  return [`saves ${bound}`, `${formatShare(gain_ratio)} %`, time];
}

export interface EvidenceFact {
  readonly name: string;
  readonly value: string;
}

const UNITS: readonly [suffix: string, words: (value: number) => string][] = [
  ["_ms", formatMs],
  ["_us", (us) => formatMs(us / 1000)],
  ["_bytes", formatBytes],
  ["_ratio", formatPercent],
  ["_px", (px) => `${formatNumber(px)} px`],
  ["_factor", (factor) => `${formatNumber(factor)} ×`],
];

/** The numbers of the evidence, each under its name without the unit, those of one name together. What is not known is left out. */
export function evidenceFacts(evidence: AdviceMeta["evidence"]): EvidenceFact[] {
  const facts = new Map<string, string>();
  for (const [full, value] of evidence) {
    if (value === null || value === "") continue;
    const unit = typeof value === "number" ? UNITS.find(([suffix]) => full.endsWith(suffix)) : undefined;
    const name = worded(unit ? full.slice(0, -unit[0].length) : full);
    const words = typeof value === "number" ? (unit?.[1] ?? plainNumber)(value) : shortened(String(value));
    const known = facts.get(name);
    facts.set(name, known === undefined ? words : `${known}, ${words}`);
  }
  return [...facts].map(([name, value]) => ({ name, value }));
}

function plainNumber(value: number): string {
  return Number.isInteger(value) ? formatCount(value) : formatNumber(value);
}

function worded(name: string): string {
  return name.replace(/^n_/, "").replaceAll("_", " ");
}

function shortened(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}

/** What the views have selected, as in `Link`. */
interface Selected {
  readonly timeRange: readonly [number, number] | null;
  readonly selection: readonly string[];
  readonly step: number;
}

export function timeRangeOf({ time_range_ns }: AdviceMeta): readonly [number, number] | null {
  return time_range_ns.length === 2 ? [time_range_ns[0], time_range_ns[1]] : null;
}

/** Whether an advice is about the whole capture, and about no op of it. */
export function selectsNothing({ op_names, time_range_ns, step }: AdviceMeta): boolean {
  return time_range_ns.length !== 2 && op_names.length === 0 && step < 0;
}

/** Whether the views show what an advice is about, and nothing else. One that selects nothing is never shown. */
export function isShown(advice: AdviceMeta, selected: Selected): boolean {
  const range = timeRangeOf(advice);
  if (selectsNothing(advice)) return false;
  return (
    selected.step === advice.step &&
    selected.timeRange?.[0] === range?.[0] &&
    selected.timeRange?.[1] === range?.[1] &&
    selected.selection.length === advice.op_names.length &&
    selected.selection.every((name, i) => name === advice.op_names[i])
  );
}

/** Of a run for which there is no advice: what takes most of a step; "" without steps. */
export function largestPart({ breakdown, step_time }: OverviewMeta): string {
  const [first, ...others] = breakdown ?? [];
  if (!first || !step_time?.n) return "";
  const most = others.reduce((a, b) => (b.ms > a.ms ? b : a), first);
  const label = (CATEGORY_LABELS[most.category] ?? most.category).toLowerCase();
  return `The largest part of a step is ${label}: ${formatMs(most.ms)}, ${formatPercent(most.ratio)}.`;
}
