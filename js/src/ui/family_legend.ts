/** The families of what an icicle draws -> its legend. */

import { FAMILIES, FAMILY_LABELS } from "../model/wire/categories";
import { h } from "./dom";
import type { CellLook } from "./icicle";

/** One entry for each family that is drawn, in the order of the palette. */
export function familyLegend(looks: readonly CellLook[]): HTMLElement[] {
  const used = new Set(looks.map(({ family }) => family));
  return [...FAMILIES, "mixed"]
    .filter((family) => used.has(family))
    .map((family) => {
      const swatch = h("i", { class: "sw" });
      swatch.style.setProperty("--fill", `var(--s-${family})`);
      swatch.style.setProperty("--edge", `var(--e-${family})`);
      return h("span", {}, swatch, FAMILY_LABELS[family] ?? "several, none over half");
    });
}
