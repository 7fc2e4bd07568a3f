/** A figure and the largest of it -> a legend of the colours of a drawing. */

import { heatMarks } from "../../model/graph/heat";
import { type Figure, formatFigure } from "../../model/graph/structure";
import { h } from "../../ui/dom";

export function heatLegend(figure: Figure, largest: number): HTMLElement[] {
  const name = h("span.q", figure.text);
  if (!(largest > 0)) return [name, h("span", "none")];
  const [none, , most] = heatMarks(largest).map((value) => formatFigure(figure, value));
  return [name, h("span", none), h("i.ramp", { "aria-hidden": "true" }), h("span", most)];
}
