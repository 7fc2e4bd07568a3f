/** The ops of the linked time range and their name scopes -> an icicle to look into, the whole on top. */

import { type Cell, opsUnder } from "../../model/graph/scopes";
import { ranOps } from "../../model/ops/ranged_ops";
import { formatPercent } from "../../model/text/format";
import { type Choice, h, noOps, segmented } from "../../ui/dom";
import { follow } from "../../ui/following";
import { IciclePlace, type IcicleSource } from "../../ui/icicle_place";
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

class ScopeIcicle implements IcicleSource {
  readonly #model: ScopeModel;
  readonly #place: IciclePlace;
  readonly spoken = { parts: "Scopes inside", shown: "the scope shown" };

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    this.#model = new ScopeModel(view);
    this.#model.select(link.selection);
    this.#place = new IciclePlace(this, MOST_CRUMBS, signal);
    view.root.append(h("div.tfp-fill", this.#toolbar(), this.#place.element, this.#place.legend));
    const select = () => {
      if (this.#model.select(link.selection)) this.#place.draw();
    };
    follow(view, { compute: () => this.#compute(), select });
    this.#place.draw();
  }

  get tree() {
    return this.#model.tree;
  }

  get top(): number {
    return this.#model.top;
  }

  nameOf(row: number): string {
    return this.#model.nameOf(row);
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
    this.#place.draw();
  }

  scene() {
    const model = this.#model;
    return {
      times: model.times,
      psOf: (op: number) => model.opPs(op),
      lookOf: (cell: Cell) => cellLook(model, cell),
    };
  }

  nothing(): string {
    const { part, where } = this.#model;
    return `No op${part === "all" && where === "both" ? "" : " that is switched on"} ran here in this range.`;
  }

  words(zoom: number, merged: readonly string[]): readonly string[] {
    const model = this.#model;
    const { scope_note = [] } = this.view.data.meta;
    const ps = model.psOf(zoom);
    const cost =
      zoom === model.top
        ? [`${costOf(model, ps)} of op time`]
        : [costOf(model, ps), `${formatPercent(ps / model.times.wholePs)} of op time`];
    return [...cost, ...merged, ...scope_note];
  }

  onPick(op: number): void {
    toggleSelection(this.view.link, [this.#model.opName(op)]);
  }

  onOpen(row: number): void {
    const model = this.#model;
    const ops = row === model.top ? [] : opsUnder(model.tree, row).filter((op) => model.opPs(op) > 0);
    model.select(ops.map((op) => model.opName(op)));
    this.view.link.setSelection([...model.selected]);
  }

  hasSelection(): boolean {
    return this.view.link.selection.length > 0;
  }

  onClear(): void {
    this.view.link.setSelection([]);
  }

  onHover(cell: Cell | null, zoom: number): Tip | null {
    this.view.link.setHover(cell?.kind === "op" ? this.#model.opName(cell.op) : "");
    return cell && cellTip(this.#model, cell, zoom);
  }
}

export const scopeIcicle: TraceBuilder = {
  name: "scope_icicle",
  build(view) {
    const hasOps = ranOps(view.data.table) && (view.data.meta.scopes ?? []).length > 0;
    if (hasOps) new ScopeIcicle(view);
    else view.root.append(noOps(view.data.meta, view.signal));
  },
  needs: ["scopes", "scope_note", "op_places", "steps", "step_totals"],
  forRange: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
