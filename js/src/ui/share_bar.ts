/** Shares of a whole as one bar of full width, and the legend of its colours. */

import { FAMILIES, FAMILY_LABELS } from "../data/meta";
import { cutNames } from "../model/names";
import { topShares } from "../model/ops";
import { formatCount, formatPercent, formatTime } from "../model/text";
import { h, on, textWidth, watchSize } from "./dom";

export function swatch(color: string): HTMLElement {
  return h("i.sw", { style: { background: color } });
}

export function categorySwatch(category: string): HTMLElement {
  return swatch(`var(--c-${category})`);
}

export function legendEntry(mark: HTMLElement, text: string): HTMLElement {
  return h("span.tfp-key", mark, text);
}

export function familyColors(family: string) {
  return { "--fill": `var(--s-${family})`, "--edge": `var(--e-${family})` };
}

/** One entry for each family that is drawn, in the order of the palette. */
export function familyLegend(drawn: ReadonlySet<string>): HTMLElement[] {
  return [...FAMILIES, "mixed"]
    .filter((family) => drawn.has(family))
    .map((family) =>
      legendEntry(h("i.sw", { style: familyColors(family) }), FAMILY_LABELS[family] ?? "several, none over half"),
    );
}

interface Segment {
  /** What `onPick` and `setSelected` know it by. */
  readonly key: string;
  /** Labels, the most telling first; the first that fits and is not yet taken is shown. */
  readonly labels: readonly string[];
  readonly title: string;
  readonly ratio: number;
  /** Slice family, or a custom property's name for what is no family. */
  readonly family: string;
  /** Stands for many; it cannot be chosen. */
  readonly isRest: boolean;
}

export interface ShareLook<R> {
  readonly noun: string;
  readonly whole: string;
  /** What times are of, such as " a step". */
  readonly each?: string;
  readonly of: (row: R) => {
    readonly key: string;
    readonly name: string;
    readonly short: readonly string[];
    readonly family: string;
  };
}

/** The rows with most time as segments, and one segment for all others, which says how many they are. */
export function shareSegments<R>(rows: readonly R[], ps: (row: R) => number, look: ShareLook<R>): Segment[] {
  return topShares(rows, ps).map(({ rows: own, value, ratio, isRest }) => {
    const figures = `${formatTime(value)}${look.each ?? ""}, ${formatPercent(ratio)} of ${look.whole}`;
    if (isRest) {
      const label = `${formatCount(own.length)} smaller`;
      const labels = [label, `+${formatCount(own.length)}`];
      return { key: "rest", labels, title: `${label} ${look.noun}: ${figures}`, ratio, isRest, family: "runtime" };
    }
    const { key, name, short, family } = look.of(own[0]);
    const labels = short.flatMap((text) => [`${text} ${formatPercent(ratio)}`, text]);
    return { key, labels, title: `${name}\n${figures}`, ratio, isRest, family };
  });
}

/** Whether a bar of them would show next to nothing: its largest parts are less than half of the whole. */
export function isMostlyRest(segments: readonly Segment[]): boolean {
  return segments.some(({ isRest, ratio }) => isRest && ratio > 0.5);
}

const PADDING_PX = 8;
/** Thinner segments show their edge colour alone. */
const MIN_FILL_PX = 3;
const MIN_CUT_PX = 40;
const DEFAULT_WIDTH_PX = 800;

export class ShareBar {
  readonly element: HTMLElement;
  readonly #track = h("div.tfp-share-track");
  readonly #parts = new Map<string, HTMLElement>();
  #segments: readonly Segment[] = [];
  #selected: ReadonlySet<string> = new Set();
  #width = DEFAULT_WIDTH_PX;

  constructor(
    /** What the shares are of, before the bar. */
    readonly title: string,
    readonly onPick: (key: string) => void,
    signal: AbortSignal,
  ) {
    this.element = h("div.tfp-share", { role: "img" }, h("span.q.fix.tfp-share-title", title), this.#track);
    on(this.#track, signal, { click: (event) => this.#click(event) });
    watchSize(this.#track, signal, (width) => {
      this.#width = width;
      this.#draw();
    });
  }

  set(segments: readonly Segment[]): void {
    this.#segments = segments;
    this.element.setAttribute("aria-label", `${this.title}: ${segments.map((one) => one.title).join("; ")}`);
    this.#draw();
  }

  setSelected(keys: ReadonlySet<string>): void {
    this.#selected = keys;
    for (const [key, part] of this.#parts) part.classList.toggle("on", keys.has(key));
  }

  #draw(): void {
    this.#parts.clear();
    const widthOf = textWidth(this.element);
    const taken = new Set<string>();
    const parts = this.#segments.map((segment) => {
      const room = segment.ratio * this.#width;
      const label = labelOf(segment.labels, room - PADDING_PX, widthOf, taken);
      if (label) taken.add(label);
      const { family } = segment;
      const [color, edge] = family.startsWith("--") ? [family, family] : [`--s-${family}`, `--e-${family}`];
      const background = segment.isRest ? "var(--bg-2)" : `var(${room < MIN_FILL_PX ? edge : color})`;
      const style = { "flex-grow": String(segment.ratio), background, "--edge": `var(${edge})` };
      const part = h("span.tfp-share-part", { title: segment.title, "data-key": segment.key, style }, label);
      part.classList.toggle("rest", segment.isRest);
      this.#parts.set(segment.key, part);
      return part;
    });
    this.#track.replaceChildren(...parts);
    this.setSelected(this.#selected);
  }

  #click(event: Event): void {
    const key = (event.target as HTMLElement).closest<HTMLElement>("[data-key]")?.dataset.key;
    const segment = this.#segments.find((one) => one.key === key);
    if (segment && !segment.isRest) this.onPick(segment.key);
  }
}

/** The first label that fits and says something else than the others; where there is some room, the shortest one cut. */
function labelOf(
  labels: readonly string[],
  room: number,
  widthOf: (text: string) => number,
  taken: ReadonlySet<string>,
): string {
  const fits = (text: string) => widthOf(text) <= room;
  const whole = labels.find((text) => !taken.has(text) && fits(text));
  if (whole !== undefined) return whole;
  const shortest = labels[labels.length - 1] ?? "";
  const cut = room >= MIN_CUT_PX ? (cutNames([shortest], fits).get(shortest) ?? "") : "";
  return taken.has(cut) ? "" : cut;
}
