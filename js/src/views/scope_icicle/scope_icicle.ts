/** The ops of the linked time range and their name scopes -> an icicle to look into, the whole on top. */

import { type Cell, layoutScopes, opsUnder, pathOf, type Rect, WHOLE } from "../../model/graph/scopes";
import { ranOps } from "../../model/ops/ranged_ops";
import { formatCount, formatPercent } from "../../model/text/format";
import { crumbButtons } from "../../ui/crumbs";
import { type Choice, h, noOps, segmented } from "../../ui/dom";
import { familyLegend } from "../../ui/family_legend";
import { type CellLook, Icicle } from "../../ui/icicle";
import { OPS_OF_HOST } from "../../ui/of_host";
import { MANY_ROWS, paced, watchSize } from "../../ui/page";
import { createTip } from "../../ui/plot";
import { tipPlace } from "../../ui/tip_place";
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
/** What is narrower is merged with its like. */
const LEAST_PX = 2;
const DEFAULT_WIDTH_PX = 800;
/** Of a deeper path only the last scopes are named. */
const MOST_CRUMBS = 8;

class ScopeIcicle {
  readonly #model: ScopeModel;
  readonly #icicle: Icicle;
  readonly #crumbs = h("nav", { class: "tfp-crumbs", "aria-label": "From all ops to the scope shown" });
  readonly #say = h("span", { class: "tfp-say q", role: "status" });
  readonly #legend = h("div", { class: "tfp-scope-legend" });
  readonly #place = h("div", { class: "tfp-icicle-place" });
  readonly #tip: ReturnType<typeof createTip>;
  #zoom: number;
  #width = DEFAULT_WIDTH_PX;

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    this.#model = new ScopeModel(view);
    this.#model.select(link.selection);
    this.#zoom = this.#model.top;
    this.#icicle = new Icicle(
      {
        onPick: (cell) => this.#pick(cell),
        onHover: (cell, element) => this.#hover(cell, element),
        onOut: () => this.#out(),
      },
      signal,
    );
    this.#place.append(this.#icicle.element);
    this.#tip = createTip(this.#place);
    view.root.append(h("div", { class: "tfp-fill" }, this.#toolbar(), this.#place, this.#legend));
    this.#listen();
    this.#draw(false);
  }

  #listen(): void {
    const { signal, data, link, guard } = this.view;
    const compute = paced(
      guard(() => this.#compute()),
      signal,
      () => this.view.data.nRows("occurrences") > MANY_ROWS,
    );
    link.on("time_range", compute, signal);
    link.on(
      "selection",
      guard(() => {
        if (this.#model.select(link.selection)) this.#draw(false);
      }),
      signal,
    );
    data.onTables(compute, signal, ["occurrences", "steps"]);
    watchSize(
      this.#icicle.element,
      guard((width: number) => {
        if (Math.round(width) === Math.round(this.#width)) return;
        this.#width = width;
        this.#draw(false);
      }),
      signal,
    );
  }

  #toolbar(): HTMLElement {
    const { signal, data, guard } = this.view;
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
      "div",
      { class: "bar" },
      this.#crumbs,
      this.#say,
      h("span", { class: "sp" }),
      whereSwitch(data.meta.op_device, guard(setWhere), signal),
      phases.has("backward") && segmented("Part of the step", parts, "all", guard(setPart), signal),
    );
  }

  #compute(): void {
    this.#model.compute();
    this.#draw(false);
  }

  #draw(toTop: boolean): void {
    const model = this.#model;
    const least = LEAST_PX / Math.max(1, this.#width);
    const rects = layoutScopes(model.tree, model.times, (op) => model.opPs(op), this.#zoom, least);
    const looks = rects.map(({ cell }) => cellLook(model, cell));
    this.#icicle.show(rects, looks, this.#width, toTop);
    const label = `Scopes inside ${model.nameOf(this.#zoom)}: arrow keys move, Enter opens, Esc goes out`;
    this.#icicle.element.setAttribute("aria-label", label);
    this.#showCrumbs();
    this.#showLegend(looks);
    this.#describe(rects);
  }

  #describe(rects: readonly Rect[]): void {
    const model = this.#model;
    if (rects.length === 0) {
      const what = model.part === "all" && model.where === "both" ? "" : " that is switched on";
      this.#say.textContent = `No op${what} ran here in this range.`;
      return;
    }
    const ps = model.psOf(this.#zoom);
    const merged = rects.reduce((sum, { cell }) => sum + (cell.kind === "rest" ? cell.n : 0), 0);
    const isWhole = this.#zoom === model.top;
    const words = [isWhole ? `${costOf(model, ps)} of op time` : costOf(model, ps)];
    if (!isWhole) words.push(`${formatPercent(ps / model.times.wholePs)} of op time`);
    if (merged > 0) words.push(`${formatCount(merged)} too narrow to draw, merged`);
    if (this.view.data.meta.scope_note) words.push(this.view.data.meta.scope_note);
    this.#say.textContent = words.join(" · ");
  }

  #showCrumbs(): void {
    const model = this.#model;
    const rows = pathOf(model.tree, this.#zoom);
    if (model.top === WHOLE) rows.unshift(WHOLE);
    const path = rows.map((row) => ({ row, text: row === model.top ? "All ops" : model.nameOf(row) }));
    this.#crumbs.replaceChildren(...crumbButtons(path, MOST_CRUMBS, (row) => this.#open(row), this.view.signal));
  }

  #showLegend(looks: readonly CellLook[]): void {
    const items = familyLegend(looks);
    if (looks.some(({ backwardRatio }) => backwardRatio > 0)) {
      const swatch = h("i", { class: "sw bw" });
      swatch.style.setProperty("--edge", "var(--ink-2)");
      items.push(h("span", {}, swatch, "backward part"));
    }
    this.#legend.replaceChildren(...items);
  }

  #pick(cell: Cell): void {
    const { link } = this.view;
    if (cell.kind === "op") {
      const name = this.#model.opName(cell.op);
      link.setSelection(link.selection.length === 1 && link.selection[0] === name ? [] : [name]);
    } else this.#open(cell.row);
  }

  /** Shows a scope alone and selects its ops; the whole selects none. */
  #open(row: number): void {
    const model = this.#model;
    this.#zoom = row;
    this.#tip.hide();
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

  #hover(cell: Cell | null, element: HTMLElement | null): void {
    this.view.link.setHover(cell?.kind === "op" ? this.#model.opName(cell.op) : "");
    if (cell === null || element === null) {
      this.#tip.hide();
      return;
    }
    const { x, y } = tipPlace(this.#place, element);
    this.#tip.show(x, y, cellTip(this.#model, cell, this.#zoom));
  }
}

export const scopeIcicle: TraceBuilder = {
  name: "scope_icicle",
  build(view) {
    view.root.classList.add("tfp-scope_icicle");
    const hasOps = ranOps((name) => view.data.table(name)) && (view.data.meta.scopes ?? []).length > 0;
    if (hasOps) new ScopeIcicle(view);
    else view.root.append(noOps(view.signal));
  },
  needs: ["scopes", "op_places", "steps"],
  forRange: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
