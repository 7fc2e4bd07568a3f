/** The strip below the tracks: what the colours mean, with a switch, and the names of those that are on the screen. */

import { COLOR_CHOICES, type ColorBy, isColorBy, legendOf, type StepInView } from "../../colors/schemes";
import { atEnd } from "../../host/failures";
import { lowerBound } from "../../model/wire/bisect";
import { CATEGORIES, FAMILIES } from "../../model/wire/categories";
import { h, on } from "../../ui/dom";
import type { TimelineState } from "./state";

/** Colours come and go while the view moves: the strip follows when it rests. */
const REST_MS = 150;
/** Steps looked at for the names of the colours: more than the strip can name. */
const MOST_STEPS = 40;

export class Legend {
  readonly element: HTMLElement;
  readonly #select: HTMLSelectElement;
  readonly #entries = h("span.tl-colors", { role: "list", "aria-label": "Colours on the screen" });
  #shown = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly state: TimelineState,
    hint: HTMLElement,
    readonly signal: AbortSignal,
  ) {
    this.#select = h("select", { "aria-label": "What the colours of the slices mean" });
    for (const { value, text } of COLOR_CHOICES) this.#select.append(h("option", { value }, text));
    on(this.#select, signal, { change: () => this.#choose() });
    const label = h("label", "Colour: ", this.#select);
    this.element = h("div.tl-foot", label, this.#entries, h("span.sp"), hint);
    atEnd(signal, () => clearTimeout(this.#timer));
  }

  /** The next meaning, for the key. */
  next() {
    const at = COLOR_CHOICES.findIndex(({ value }) => value === this.state.tracks.colorBy);
    this.state.board.setColorBy(COLOR_CHOICES[(at + 1) % COLOR_CHOICES.length].value);
  }

  #choose() {
    if (isColorBy(this.#select.value)) this.state.board.setColorBy(this.#select.value);
  }

  update() {
    const { colorBy } = this.state.tracks;
    if (this.#select.value !== colorBy) this.#select.value = colorBy;
    clearTimeout(this.#timer);
    if (this.#shown === "") this.#tell();
    else this.#timer = setTimeout(() => this.#tell(), REST_MS);
  }

  #stepsInView(): StepInView[] {
    const { steps, view } = this.state;
    const found: StepInView[] = [];
    for (let row = lowerBound(steps.end, view.t0, 0, steps.n); row < steps.n && steps.start[row] < view.t1; row++) {
      found.push({ row, name: steps.names[row] });
      if (found.length === MOST_STEPS) break;
    }
    return found;
  }

  #tell() {
    const { state } = this;
    const { colorBy } = state.tracks;
    const scheme = state.board.colors(state.family);
    const entries = legendOf(colorBy, state.board.shownColors, colorBy === "step" ? this.#stepsInView() : []);
    // The strips of hosts, too, are made of the parts of steps.
    const parts = colorBy === "category" ? [] : legendOf("category", state.shownCategories);
    const slices = entries.filter(({ text }) => !parts.some((part) => part.text === text));
    const key = `${colorBy}|${[...slices, ...parts].map((entry) => entry.text).join("|")}`;
    if (key === this.#shown) return;
    this.#shown = key;
    this.#entries.replaceChildren(
      ...parts.map(({ color, text }) => entry(swatch("category", color), text)),
      ...slices.map(({ color, text }) => entry(swatch(colorBy, scheme.source[color]), text)),
    );
  }
}

function entry(style: string, text: string): HTMLElement {
  return h("span", { role: "listitem", title: text }, h("i", { style }), h("span.cut", text));
}

function swatch(by: ColorBy, source: number): string {
  if (by === "category" || source >= FAMILIES.length) {
    const color = `var(--c-${CATEGORIES[by === "category" ? source : source - FAMILIES.length]})`;
    return `background:color-mix(in srgb, ${color} 38%, var(--bg));border-left:2px solid ${color}`;
  }
  return `background:var(--s-${FAMILIES[source]});border-left:2px solid var(--e-${FAMILIES[source]})`;
}
