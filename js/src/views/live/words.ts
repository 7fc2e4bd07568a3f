/** Bins, marks and figures -> the words about them. */

import { formatCount, formatMs, formatPercent, plural } from "../../model/text/format";
import type { Tip } from "../../ui/plot";
import { clockText, nearest, numberOf, timeOf } from "./axes";
import type { Anomaly, Known, LiveHead, LiveState, Mark, ProfileWindow, Run } from "./payload";
import type { Strip } from "./strips";

export const known = (value: Known | undefined): value is number => typeof value === "number" && Number.isFinite(value);

/** "step 12", "steps 2,010–2,014"; "since step 2,000" for what goes on, "" where none is known. */
export function stepsText(first: Known, last: Known, goesOn = false): string {
  if (!known(first)) return "";
  if (goesOn) return `since step ${formatCount(first)}`;
  if (!known(last) || last <= first) return `step ${formatCount(first)}`;
  return `steps ${formatCount(first)}–${formatCount(last)}`;
}

export function windowTitle({ index, first_step, last_step }: ProfileWindow): string {
  return [`Window ${formatCount(index)}`, stepsText(first_step, last_step)].filter(Boolean).join(": ");
}

const WINDOW_STATES: Readonly<Record<ProfileWindow["state"], string>> = {
  recording: "recording …",
  reading: "being read …",
  ready: "",
  failed: "could not be recorded",
};

/** Why there is a window, and what becomes of it. */
export function windowWords({ why, state, words }: ProfileWindow): string {
  return [why, words || WINDOW_STATES[state]].filter(Boolean).join(" · ");
}

/** What is known of the steps of a bin. */
export function binTip(run: Run, bin: number, ordinal: number): Tip {
  const n = run.n[bin];
  const [first, last] = [numberOf(run, run.first_ordinal[bin]), numberOf(run, run.first_ordinal[bin] + n - 1)];
  const steps = n > 1 ? `${stepsText(first, last)} (${formatCount(n)})` : stepsText(first, null);
  const mean = run.mean_ms[bin];
  const spread = [
    `mean ${formatMs(mean)}`,
    `min ${formatMs(run.min_ms[bin])}`,
    Number.isFinite(run.p95_ms[bin]) ? `p95 ${formatMs(run.p95_ms[bin])}` : "p95 not known",
    `max ${formatMs(run.max_ms[bin])}`,
  ];
  const part = (what: string, ms: number) =>
    Number.isFinite(ms) && `${what} ${formatMs(ms)} of it, ${formatPercent(ms / mean)}`;
  const lines = [
    n > 1 ? spread.join(" · ") : formatMs(mean),
    part("waits for data", run.wait_ms[bin]),
    part("outside computing", run.outside_ms[bin]),
    run.profiled[bin] > 0 && (n > 1 ? `${formatPercent(run.profiled[bin])} of them profiled` : "profiled"),
    `${clockText(timeOf(run, ordinal))} after the start`,
  ];
  return { title: steps, lines: lines.filter((line) => line !== false) };
}

/** The loss and the machine while a step ran. */
export function stripWords(strips: readonly Strip[], ordinal: number): string {
  const said = strips.map(({ title, at, values, say }) => `${title} ${say(values[nearest(at, ordinal)])}`);
  return said.join(" · ");
}

/** What a mark says: an anomaly its title. */
export function markWords(mark: Mark, { anomalies, windows }: LiveHead): string {
  if (mark.kind === "anomaly") return anomalies[mark.index ?? -1]?.title ?? mark.words;
  const shown = windows.find(({ index }) => index === mark.index);
  return mark.kind === "window" && shown ? `${windowTitle(shown)}, ${windowWords(shown)}` : mark.words || mark.kind;
}

/** The chart for those who do not see it. */
export function summary({ head }: LiveState): string {
  const nSteps = plural(head.n_steps, "step");
  const time = known(head.step_ms) ? `, the last ones ${formatMs(head.step_ms)} each` : "";
  const found = head.anomalies.length > 0 ? `, ${anomalyCount(head.anomalies.length)}` : "";
  const keys =
    "Left and right walk over windows and anomalies, with Shift over the steps; Enter opens a window, Esc ends.";
  return `Step times: ${nSteps}${time}${found}. ${keys}`;
}

/** "1 anomaly", "3 anomalies". */
export function anomalyCount(n: number): string {
  return `${formatCount(n)} ${n === 1 ? "anomaly" : "anomalies"}`;
}

/** Newest first, those that go on in front. */
export function newestFirst(anomalies: readonly Anomaly[]): Anomaly[] {
  return anomalies.toReversed().sort((a, b) => Number(b.goes_on) - Number(a.goes_on));
}
