/** The steps and their bars -> what a screen reader and the tooltip say. */

import { formatCount, formatMs, formatPercent } from "../../model/text/format";
import { stepLabel, stepWords } from "../../model/time/span_text";
import type { StepBars } from "../../model/time/step_bars";
import { CATEGORY_LABELS } from "../../model/wire/categories";
import { numbers } from "../../model/wire/column";
import type { TraceMeta } from "../../model/wire/meta";
import type { Table } from "../../model/wire/wire";
import type { Tip } from "../../ui/plot";

/** Parts of a bar that its tooltip names. */
const N_PARTS = 4;

const labelOf = (category: string) => CATEGORY_LABELS[category] ?? category;

/** The chart in one sentence. */
export function summary(meta: TraceMeta, nSteps: number): string {
  const { step_time: time, breakdown } = meta.overview;
  const largest = [...(breakdown ?? [])].sort((a, b) => b.ms - a.ms)[0];
  const parts = [`Step time of ${formatCount(nSteps)} steps, stacked by category`];
  if (time) parts.push(`mean ${formatMs(time.avg)}, from ${formatMs(time.min)} to ${formatMs(time.max)}`);
  if (largest) parts.push(`largest part ${labelOf(largest.category)} ${formatPercent(largest.ratio)}`);
  return `${parts.join("; ")}. Arrow keys choose a step, with Shift a range, Escape clears it.`;
}

/** What is chosen: "step 12, 21.5 ms". */
export function spoken(meta: TraceMeta, steps: Table, chosen: readonly [number, number] | null): string {
  if (chosen === null) return "no step chosen";
  const [first, last] = chosen.map((row) => stepLabel(meta.step_names, row));
  if (first !== last) return `steps ${first} to ${last}`;
  return `${stepWords(meta.step_names, chosen[0])}, ${formatMs(numbers(steps, "duration_ps")[chosen[0]] / 1e9)}`;
}

/** One bar: its time and its largest parts. */
export function barTip(meta: TraceMeta, bars: StepBars, bar: number): Tip {
  const [first, last] = [bars.first[bar], bars.first[bar + 1] - 1];
  const name = (row: number) => stepLabel(meta.step_names, row);
  const mean = bars.mean[bar];
  const lines = meta.categories
    .map((category, c) => ({ category, ms: bars.stack[c][bar] }))
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, N_PARTS)
    .map(({ category, ms }) => `${labelOf(category)} ${formatMs(ms)} (${formatPercent(ms / (mean || 1))})`);
  if (first === last) return { title: `${stepWords(meta.step_names, first)} · ${formatMs(mean)}`, lines };
  const title = `steps ${name(first)}–${name(last)} · mean ${formatMs(mean)}`;
  return { title, lines: [`${formatMs(bars.low[bar])} to ${formatMs(bars.high[bar])}`, ...lines] };
}
