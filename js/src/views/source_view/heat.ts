/** The time of a line or bucket -> bar, figure and share in the gutter, and words for the tooltip. */

import type { Heat } from "../../model/ops/source_lines";
import { formatPart } from "../../model/overview/overview";
import { formatCount, formatMsNumber, formatPercent, formatTime, plural } from "../../model/text/format";
import { shortName } from "../../model/text/labels";
import { h } from "../../ui/dom";

/** What a figure is divided by, and what bars are measured against. */
export interface HeatScale {
  /** Self time that fills a bar. */
  readonly maxPs: number;
  /** Self time of all ops. */
  readonly wholePs: number;
  /** Steps that times were divided by; null where they are not a step. */
  readonly nSteps: number | null;
  readonly opName: (op: number) => string;
}

/** How often the user's thread was found at a line. */
export interface LineSamples {
  readonly n: number;
  /** Share of the sampled time. */
  readonly ratio: number;
}

/** The cells left of a line; `show` fills or empties them. */
export class Gutter {
  readonly element = h("span.tfp-gut");
  readonly #bar = h("span.tfp-heat");
  readonly #ms = h("span.v");
  readonly #share = h("span.v");
  readonly #samples = h("span.v.smp");

  constructor() {
    this.element.append(this.#bar, this.#ms, this.#share, this.#samples);
  }

  /** The share of samples, with a bar behind it. */
  showSamples(samples: LineSamples | undefined): void {
    this.#samples.textContent = samples === undefined ? "" : shareText(samples.ratio);
    this.#samples.title = samples === undefined ? "" : `in ${plural(samples.n, "sample")} of your thread`;
    this.#samples.style.setProperty("--share", `${(samples?.ratio ?? 0) * 100}%`);
  }

  show(heat: Heat | undefined, scale: HeatScale): void {
    if (heat === undefined) {
      this.#bar.replaceChildren();
      this.#ms.textContent = "";
      this.#share.textContent = "";
      return;
    }
    this.#bar.replaceChildren(...heatBar(heat, scale.maxPs));
    this.#ms.textContent = formatMsNumber(heat.selfPs);
    this.#share.textContent = shareText(heat.selfPs / scale.wholePs);
  }
}

/** One piece per category and direction; backward is striped, so that hue stays the category's. */
function heatBar(heat: Heat, maxPs: number): HTMLElement[] {
  return heat.parts.map(({ category, isBackward, ps }) => heatPiece(category, isBackward, maxPs > 0 ? ps / maxPs : 0));
}

export function heatPiece(category: string, isBackward: boolean, share: number): HTMLElement {
  const style = { "--c": `var(--c-${category})`, width: `max(1px, ${share * 100}%)` };
  return h("i", { class: isBackward && "bw", style });
}

/** Per cent without the sign, to a tenth. */
function shareText(ratio: number): string {
  return Number.isFinite(ratio) ? formatPart(ratio * 100, 1) : "0";
}

/** "8.40 ms a step, 39 %" */
export function costText(heat: Heat, scale: HeatScale): string {
  const each = scale.nSteps === null ? "" : " a step";
  const share = formatPercent(scale.wholePs > 0 ? heat.selfPs / scale.wholePs : 0);
  return `${formatTime(heat.selfPs)}${each}, ${share}`;
}

/** "forward 8.40 ms · backward 1.20 ms", what is none left out. */
export function phaseText(heat: Heat): string {
  const phases: readonly [string, number][] = [
    ["forward", heat.forwardPs],
    ["backward", heat.backwardPs],
    ["other", heat.otherPs],
  ];
  return phases
    .filter(([, ps]) => ps > 0)
    .map(([name, ps]) => `${name} ${formatTime(ps)}`)
    .join(" · ");
}

/** "224 runs a step of 3 ops" */
export function countText(heat: Heat, scale: HeatScale): string {
  const each = scale.nSteps === null ? "" : " a step";
  return `${plural(heat.occurrences, "run")}${each} of ${plural(heat.ops.length, "op")}`;
}

const N_TIP_OPS = 4;

export function tipLines(heat: Heat, scale: HeatScale): string[] {
  const ops = heat.ops.slice(0, N_TIP_OPS).map(({ op, ps }) => {
    return `${shortName(scale.opName(op))} · ${formatTime(ps)}`;
  });
  const more = heat.ops.length - ops.length;
  if (more > 0) ops.push(`${formatCount(more)} smaller`);
  return [phaseText(heat), countText(heat, scale), ...ops].filter(Boolean);
}
