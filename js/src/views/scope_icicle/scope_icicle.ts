/** The ops of the linked time range and their name scopes -> an icicle to look into, the whole on top. */

import { type Cell, layoutScopes, opsUnder, pathOf, type Rect, WHOLE } from "../../model/graph/scopes";
import { ranOps } from "../../model/ops/ranged_ops";
import { formatCount, formatPercent } from "../../model/text/format";
import type { Crumb } from "../../ui/crumbs";
import { type Choice, h, noOps, segmented } from "../../ui/dom";
import { follow } from "../../ui/following";
import { IciclePlace, nMerged } from "../../ui/icicle_place";
import { OPS_OF_HOST } from "../../ui/of_host";
import type { Tip } from "../../ui/plot";
import { toggleSelection } from "../../ui/selecting";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { type Where, whereSwitch } from "../../ui/where_switch";
import { type Part, ScopeModel } from "./model";
import { cellLook, cellTip, costOf } from "./words";

const PARTS: readonly Choice<Part>[] = [
  { value: "all", text: "All" },
  { value: "forward", text: "Forward" },
  { value: "backward", text: "Backward" },
  { value: "optimizer", text: "Optimizer" },
];
/** Of a deeper path only the last scopes are named. */
const MOST_CRUMBS = 8;

class ScopeIcicle {
  readonly #model: ScopeModel;
  readonly #place: IciclePlace;
  #zoom: number;

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    this.#model = new ScopeModel(view);
    this.#model.select(link.selection);
    this.#zoom = this.#model.top;
    this.#place = new IciclePlace(
      {
        onPick: (cell) => this.#pick(cell),
        onHover: (cell) => this.#hover(cell),
        onOut: () => this.#out(),
        onOpen: (row) => this.#open(row),
        onWidth: () => this.#draw(false),
      },
      "From all ops to the scope shown",
      MOST_CRUMBS,
      signal,
    );
    view.root.append(h("div.tfp-fill", this.#toolbar(), this.#place.element, this.#place.legend));
    const select = () => {
      if (this.#model.select(link.selection)) this.#draw(false);
    };
    follow(view, { compute: () => this.#compute(), select });
    this.#draw(false);
  }

  #toolbar(): HTMLElement {
    const { signal, data } = this.view;
    const { phases } = this.#model;
    const parts = PARTS.filter(({ value }) => value === "all" || phases.has(value));
    const setWhere = (where: Where) => {
      this.#model.where = where;
      this.#compute();
    };
    const setPart = (part: Part) => {
      this.#model.part = part;
      this.#compute();
    };
    return h(
      "div.bar",
      this.#place.crumbs,
      this.#place.say,
      h("span.sp"),
      whereSwitch(data.meta.op_device, setWhere, signal),
      phases.has("backward") && segmented("Part of the step", parts, "all", setPart, signal),
    );
  }

  #compute(): void {
    this.#model.compute();
    this.#draw(false);
  }

  #draw(toTop: boolean): void {
    const model = this.#model;
    const rects = layoutScopes(model.tree, model.times, (op) => model.opPs(op), this.#zoom, this.#place.least);
    const looks = rects.map(({ cell }) => cellLook(model, cell));
    const label = `Scopes inside ${model.nameOf(this.#zoom)}: arrow keys move, Enter opens, Esc goes out`;
    this.#place.show({ rects, looks, label, path: this.#path }, toTop);
    this.#describe(rects);
  }

  #describe(rects: readonly Rect[]): void {
    const model = this.#model;
    if (rects.length === 0) {
      const what = model.part === "all" && model.where === "both" ? "" : " that is switched on";
      this.#place.say.textContent = `No op${what} ran here in this range.`;
      return;
    }
    const ps = model.psOf(this.#zoom);
    const merged = nMerged(rects);
    const isWhole = this.#zoom === model.top;
    const words = [isWhole ? `${costOf(model, ps)} of op time` : costOf(model, ps)];
    if (!isWhole) words.push(`${formatPercent(ps / model.times.wholePs)} of op time`);
    if (merged > 0) words.push(`${formatCount(merged)} too narrow to draw, merged`);
    if (this.view.data.meta.scope_note) words.push(this.view.data.meta.scope_note);
    this.#place.say.textContent = words.join(" · ");
  }

  get #path(): readonly Crumb[] {
    const model = this.#model;
    const rows = pathOf(model.tree, this.#zoom);
    if (model.top === WHOLE) rows.unshift(WHOLE);
    return rows.map((row) => ({ row, text: row === model.top ? "All ops" : model.nameOf(row) }));
  }

  #pick(cell: Cell): void {
    if (cell.kind === "op") toggleSelection(this.view.link, [this.#model.opName(cell.op)]);
    else this.#open(cell.row);
  }

  /** Shows a scope alone and selects its ops; the whole selects none. */
  #open(row: number): void {
    const model = this.#model;
    this.#zoom = row;
    const ops = row === model.top ? [] : opsUnder(model.tree, row).filter((op) => model.opPs(op) > 0);
    model.select(ops.map((op) => model.opName(op)));
    this.#draw(true);
    this.view.link.setSelection([...model.selected]);
  }

  #out(): void {
    const { link } = this.view;
    if (this.#zoom !== this.#model.top) {
      const path = pathOf(this.#model.tree, this.#zoom);
      this.#open(path[path.length - 2] ?? this.#model.top);
    } else if (link.selection.length > 0) link.setSelection([]);
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  #hover(cell: Cell | null): Tip | null {
    this.view.link.setHover(cell?.kind === "op" ? this.#model.opName(cell.op) : "");
    return cell && cellTip(this.#model, cell, this.#zoom);
  }
}

export const scopeIcicle: TraceBuilder = {
  name: "scope_icicle",
  build(view) {
    const hasOps = ranOps((name) => view.data.table(name)) && (view.data.meta.scopes ?? []).length > 0;
    if (hasOps) new ScopeIcicle(view);
    else view.root.append(noOps(view.signal));
  },
  needs: ["scopes", "op_places", "steps"],
  forRange: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
