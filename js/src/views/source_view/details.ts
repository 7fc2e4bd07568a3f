/** One line of code or bucket -> what it costs, in which direction, and by which ops. */

import type { OpCost } from "../../model/ops/source_lines";
import { cutNames } from "../../model/text/cut";
import { formatAmount, formatTime, plural } from "../../model/text/format";
import { shortestSuffixes } from "../../model/text/suffix";
import { CATEGORY_LABELS } from "../../model/wire/categories";
import { button, h, on } from "../../ui/dom";
import { categorySwatch, legendEntry } from "../../ui/legend";
import { textFits } from "../../ui/page";
import { costText, countText, type HeatScale, heatPiece, phaseText } from "./heat";
import type { Chosen } from "./model";

const N_OPS = 8;
/** The call of the function that is the whole step: every op is in it. */
const WRAPPER = /^StatefulPartitionedCall(_\d+)?\//;
/** What the style sheet leaves beside the names of ops; a narrow pane has no column of counts. */
const WIDE_PX = 240;
const PADDING_PX = 14;
const COLUMNS_PX = 150;
const NARROW_COLUMNS_PX = 98;

export interface DetailsLook {
  readonly scale: HeatScale;
  readonly categoryOf: (op: number) => string;
  readonly isBackward: (op: number) => boolean;
  readonly sideOf: (op: number) => "host" | "device";
  /** All categories in the view, for the legend. */
  readonly categories: readonly string[];
  readonly hasBackward: boolean;
  readonly selection: readonly string[];
}

export class Details {
  readonly element = h("aside.tfp-line-details", { tabindex: 0, "aria-label": "The chosen line" });

  constructor(
    readonly onPickOp: (name: string) => void,
    readonly onHoverOp: (name: string) => void,
    readonly signal: AbortSignal,
  ) {}

  show(chosen: Chosen | undefined, look: DetailsLook): void {
    const parts: HTMLElement[] = [];
    if (chosen !== undefined) parts.push(...this.#about(chosen, look));
    this.element.replaceChildren(...parts, legend(look));
  }

  #about({ title, heat, note }: Chosen, look: DetailsLook): HTMLElement[] {
    const { scale } = look;
    const parts: HTMLElement[] = [
      h("h3", `${title}: ${costText(heat, scale)}`),
      h("p.q", phaseText(heat)),
      h("p.q", countText(heat, scale)),
    ];
    if (note !== "") parts.push(h("p.q", note));
    const rows = heat.ops.slice(0, N_OPS);
    const names = labels(rows.map(({ op }) => scale.opName(op)));
    const width = this.element.clientWidth || WIDE_PX;
    const room = width - PADDING_PX - (width < WIDE_PX ? NARROW_COLUMNS_PX : COLUMNS_PX);
    const cuts = cutNames(names, textFits(this.element, room));
    const list = h("ul.tfp-line-ops");
    rows.forEach((cost, i) => {
      list.append(h("li", this.#op(cost, cuts.get(names[i]) ?? names[i], rows[0].ps, look)));
    });
    const rest = heat.ops.slice(N_OPS);
    const restPs = rest.reduce((sum, { ps }) => sum + ps, 0);
    if (rest.length > 0) list.append(h("li.q", `${plural(rest.length, "op")} more · ${formatTime(restPs)}`));
    parts.push(h("p.head", "Ops, most self time first"), list);
    return parts;
  }

  #op(
    { op, ps, occurrences }: OpCost,
    text: string,
    mostPs: number,
    { scale, categoryOf, isBackward, sideOf, selection }: DetailsLook,
  ): HTMLElement {
    const name = scale.opName(op);
    const bar = heatPiece(categoryOf(op), isBackward(op), mostPs > 0 ? ps / mostPs : 0);
    const each = scale.nSteps === null ? "" : " a step";
    const title = `${name}\n${plural(occurrences, "run")}${each} on the ${sideOf(op)}, ${formatTime(ps)}${each}`;
    const pressed = String(selection.length === 1 && selection[0] === name);
    const attributes = { title, "data-op-name": name, "aria-pressed": pressed, class: "bare" };
    const count = h("span.q.n", `× ${formatAmount(occurrences)}`);
    const cells = [h("span.name.cut", text), count, h("span.bx", bar), h("span.v", formatTime(ps))];
    const element = button("", () => this.onPickOp(name), this.signal, attributes, ...cells);
    on(element, this.signal, { pointerenter: () => this.onHoverOp(name), pointerleave: () => this.onHoverOp("") });
    return element;
  }
}

/** Last parts of the ops' paths, as many as tell them apart; of an iterator its own name. */
function labels(names: readonly string[]): string[] {
  return shortestSuffixes(
    names.map((name) => name.replace(WRAPPER, "").split(name.startsWith("Iterator::") ? "::" : "/")),
    "/",
  );
}

function legend({ categories, hasBackward }: DetailsLook): HTMLElement {
  const box = h("div.tfp-line-legend");
  for (const category of categories)
    box.append(legendEntry(categorySwatch(category), (CATEGORY_LABELS[category] ?? category).toLowerCase()));
  if (hasBackward) box.append(legendEntry(h("i.sw.bw", { style: "--c:var(--ink-2)" }), "backward"));
  return box;
}
