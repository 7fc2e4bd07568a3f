/** The page's theme as a `data-theme` attribute and as colours for canvases, and the button that changes it in an exported page. */

import { CATEGORIES, FAMILIES } from "../data/meta";
import { atEnd } from "../data/widget";
import type { Palette } from "../model/colors";
import { h } from "./dom";

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

/** Sets the attribute that JupyterLab sets as well, and that views watch. */
export function addThemeSwitch(page: Document): void {
  const { body, documentElement } = page;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = body.dataset.jpThemeLight ? isDarkTheme(page) : null;
  const toggle = h("button", { type: "button", class: "tfp-theme-switch" });
  const line = h("div.tfp", toggle);
  const apply = () => {
    const isDark = chosen ?? system.matches;
    body.dataset.jpThemeLight = String(!isDark);
    documentElement.style.colorScheme = isDark ? "dark" : "light";
    body.style.background = isDark ? "#212121" : "#ffffff";
    toggle.textContent = isDark ? "Light theme" : "Dark theme";
    line.dataset.theme = isDark ? "dark" : "light";
  };
  toggle.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    apply();
  });
  body.style.margin = "0";
  toggle.style.cssText = "display:block;margin:4px 10px 0 auto";
  body.prepend(line);
  system.addEventListener("change", apply);
  apply();
}
