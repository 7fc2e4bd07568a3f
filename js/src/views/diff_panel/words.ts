/** The states of a comparison's rows -> a mark and words: never a colour alone. */
import { formatNumber } from "../../model/text/format";
import { h, unspoken } from "../../ui/dom";
import type { Known } from "./payload";

const MARKS: Readonly<Record<string, string>> = {
  slower: "▲",
  larger: "▲",
  faster: "▼",
  smaller: "▼",
  added: "+",
  removed: "−",
  same: "=",
  "not sure": "?",
};

const MEANINGS: Readonly<Record<string, string>> = {
  slower: "Takes longer in b, by more than its noise and than what all ops did alike",
  faster: "Takes less in b, by more than its noise and than what all ops did alike",
  larger: "Larger in b, by more than its noise",
  smaller: "Smaller in b, by more than its noise",
  added: "Only b has it",
  removed: "Only a has it",
  same: "The same, but for less than a quarter of it or 2 % of a step, with all that noise may hide",
  "not sure": "It may have changed: the noise is too large, or the steps are too few, to tell",
};

export function isChanged(state: string): boolean {
  return state !== "same" && state !== "not sure";
}

export function stateMark(state: string): HTMLElement {
  const kind = isChanged(state) ? "tfp-state on" : "tfp-state";
  return h("span", { class: kind, title: MEANINGS[state] }, unspoken("i.mark", MARKS[state] ?? ""), state);
}

/** "+1.23", "−0.4", "0". */
export function signed(value: Known, text: (value: number) => string = formatNumber): string {
  if (value === null) return "–";
  if (value === 0) return "0";
  return `${value > 0 ? "+" : "−"}${text(Math.abs(value))}`;
}

/** "×1.75"; "–" where there is nothing to divide by. */
export function times(ratio: Known): string {
  return ratio === null ? "–" : `×${formatNumber(ratio)}`;
}

/** A badge for the run that a figure or a timeline is of. */
export function runBadge(run: 0 | 1): HTMLElement {
  return h("b.tfp-run", run === 0 ? "a" : "b");
}
