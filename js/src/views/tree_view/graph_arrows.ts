/** Arrows of the drawn graph -> SVG paths, of which those at one box can be lit. */

import type { PlacedArrow } from "../../model/graph/op_graph_layout";
import { plural } from "../../model/text/format";
import { svg } from "../../ui/dom";

const MOST_PX = 3.5;

export class ArrowLayer {
  #paths: { readonly element: SVGPathElement; readonly from: number; readonly to: number }[] = [];
  readonly #id = `tfp-tip-${Math.random().toString(36).slice(2)}`;

  draw(arrows: readonly PlacedArrow[]): SVGGElement {
    this.#paths = arrows.map(({ arrow, points }) => {
      const element = svg("path", {
        // What was left out is joined to much: its arrows stay in the background.
        class: `edge${arrow.isControl ? " control" : ""}${arrow.from < 0 || arrow.to < 0 ? " faint" : ""}`,
        d: curve(points),
        "stroke-width": Math.min(MOST_PX, 1 + Math.log2(arrow.n) / 3),
        "marker-end": `url(#${this.#id})`,
      });
      const text = arrow.isControl ? "control only" : plural(arrow.n, "tensor");
      element.append(svg("title", text));
      return { element, from: arrow.from, to: arrow.to };
    });
    const head = svg(
      "marker",
      {
        ...{ id: this.#id, viewBox: "0 0 6 6", refX: 5.5, refY: 3, orient: "auto" },
        ...{ markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", class: "head" },
      },
      svg("path", { d: "M0 0 L6 3 L0 6 z" }),
    );
    const paths = this.#paths.map(({ element }) => element);
    return svg("g.edges", { "aria-hidden": "true" }, svg("defs", head), ...paths);
  }

  /** Lights the arrows at a box; none for null. */
  light(id: number | null): void {
    for (const { element, from, to } of this.#paths) {
      element.classList.toggle("lit", id !== null && (from === id || to === id));
    }
  }
}

/** Level at both ends. */
function curve(points: readonly (readonly [number, number])[]): string {
  if (points.length < 2) return "";
  const [[x0, y0], ...rest] = points;
  let d = `M${round(x0)} ${round(y0)}`;
  let [x, y] = [x0, y0];
  for (const [x1, y1] of rest) {
    const reach = Math.max(14, Math.abs(x1 - x) / 2);
    const bend = rest.length === 1 ? reach : Math.min(reach, Math.abs(x1 - x) / 2);
    d += ` C${round(x + bend)} ${round(y)} ${round(x1 - bend)} ${round(y1)} ${round(x1)} ${round(y1)}`;
    [x, y] = [x1, y1];
  }
  return d;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
