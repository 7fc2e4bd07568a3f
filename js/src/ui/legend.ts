/** Colours and what they mean -> the entries of a legend. */

import { FAMILIES, FAMILY_LABELS } from "../model/wire/categories";
import { h } from "./dom";

/** A square of a CSS colour. */
export function swatch(color: string): HTMLElement {
  return h("i.sw", { style: { background: color } });
}

/** The square of a category of time. */
export function categorySwatch(category: string): HTMLElement {
  return swatch(`var(--c-${category})`);
}

export function legendEntry(mark: HTMLElement, text: string): HTMLElement {
  return h("span.tfp-key", mark, text);
}

/** Properties with the colours of a slice family, "mixed" for several. */
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
