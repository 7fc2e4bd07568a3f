/** Colours and what they mean -> the entries of a legend. */

import { h } from "./dom";

/** A square of a CSS colour. */
export function swatch(color: string): HTMLElement {
  const element = h("i.sw");
  element.style.background = color;
  return element;
}

/** The square of a category of time. */
export function categorySwatch(category: string): HTMLElement {
  return swatch(`var(--c-${category})`);
}

export function legendEntry(mark: HTMLElement, text: string): HTMLElement {
  return h("span.tfp-key", mark, text);
}
