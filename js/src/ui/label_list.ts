/** Labels and their values -> a list with a row for each. No `dl`: JupyterLab lays out those in outputs itself, over our rules. */

import { type Attributes, type Child, h } from "./dom";

/** A list of rows, by its class and name. */
export function labelList(className: string, label: string, ...rows: HTMLElement[]): HTMLElement {
  return h("div", { class: `tfp-labels ${className}`, role: "list", "aria-label": label }, ...rows);
}

/** A row; a value alone takes the columns of all. */
export function labelled(label: Child, values: readonly Child[], attributes: Attributes = {}): HTMLElement {
  const cells = values.map((value) => h("span.value", value));
  return h("div", { ...attributes, role: "listitem" }, h("span.label", label), ...cells);
}
