/** The families of what an icicle draws -> its legend. */

import { FAMILIES, FAMILY_LABELS } from "../model/wire/categories";
import { h } from "./dom";
import type { CellLook } from "./icicle";
import { legendEntry } from "./legend";

/** One entry for each family that is drawn, in the order of the palette. */
export function familyLegend(looks: readonly CellLook[]): HTMLElement[] {
  const used = new Set(looks.map(({ family }) => family));
  return [...FAMILIES, "mixed"]
    .filter((family) => used.has(family))
    .map((family) => {
      const colors = `--fill:var(--s-${family});--edge:var(--e-${family})`;
      return legendEntry(h("i.sw", { style: colors }), FAMILY_LABELS[family] ?? "several, none over half");
    });
}
