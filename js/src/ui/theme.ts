/** Turns the page's theme into a `data-theme` attribute and resolved colours for canvases. */

import type { Palette } from "../colors/palette";
import { atEnd } from "../host/failures";
import { CATEGORIES, FAMILIES } from "../model/wire/categories";
import { h } from "./dom";

export type { Palette } from "../colors/palette";

/** What the page shows: JupyterLab, Notebook 7, Voila and exported pages first, then VS Code, then Colab. */
export function isDarkTheme(doc: Document): boolean {
  const jupyter = doc.body.dataset.jpThemeLight;
  if (jupyter !== undefined) return jupyter === "false";
  if (doc.body.classList.contains("vscode-dark")) return true;
  return doc.documentElement.getAttribute("theme") === "dark";
}

/** Keeps `root`'s data-theme right and calls `onChange` after each change of theme. */
export function watchTheme(root: HTMLElement, onChange: () => void, signal: AbortSignal) {
  const doc = root.ownerDocument;
  const apply = () => {
    root.dataset.theme = isDarkTheme(doc) ? "dark" : "light";
    onChange();
  };
  root.dataset.theme = isDarkTheme(doc) ? "dark" : "light";
  const observer = new MutationObserver(() => {
    apply();
    // JupyterLab swaps its style sheet after the attribute: read the colours once more when it is there.
    setTimeout(() => !signal.aborted && apply(), 300);
  });
  const attributeFilter = ["data-jp-theme-light", "data-jp-theme-name", "class", "theme"];
  observer.observe(doc.body, { attributes: true, attributeFilter });
  observer.observe(doc.documentElement, { attributes: true, attributeFilter });
  atEnd(signal, () => observer.disconnect());
}

/** Colours of style.css as a canvas takes them. */
export function readPalette(root: HTMLElement): Palette {
  const probe = h("span", { hidden: true });
  root.append(probe);
  const mixed = (value: string) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const color = (name: string) => mixed(`var(--${name})`);
  const palette: Palette = {
    bg: color("bg"),
    bg2: color("bg-2"),
    ink: color("ink"),
    ink2: color("ink-2"),
    rule: color("rule"),
    rule2: color("rule-2"),
    act: color("act"),
    actWash: color("act-wash"),
    warn: color("warn"),
    sliceInk: color("s-ink"),
    memoryHeap: color("m-heap"),
    categories: CATEGORIES.map((name) => color(`c-${name}`)),
    categoryFills: CATEGORIES.map((name) => mixed(`color-mix(in srgb, var(--c-${name}) 38%, var(--bg))`)),
    fills: FAMILIES.map((name) => color(`s-${name}`)),
    edges: FAMILIES.map((name) => color(`e-${name}`)),
    font: getComputedStyle(root).fontFamily,
  };
  probe.remove();
  return palette;
}
