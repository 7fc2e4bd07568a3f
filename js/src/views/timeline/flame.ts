/** Turns the range or the window into a flame in place of the tracks: merged by names, the longest on the left. */

import type { Palette } from "../../colors/palette";
import { drawFlame, FLAME_ROW_PX, type FlamePicture, flameRectAt } from "../../draw/flame";
import { LabelCache } from "../../draw/label_cache";
import { ROOT } from "../../model/events/flame";
import { type FlameRect, type FlameStep, flameNeighbour } from "../../model/events/flame_layout";
import { formatPercent, formatTime, plural } from "../../model/text/format";
import type { Span } from "../../model/time/viewport";
import { button, h, hasModifier, on, onKeys, segmented, setAria, unspoken } from "../../ui/dom";
import { watchSize } from "../../ui/page";
import { readPalette } from "../../ui/theme";
import { CanvasTip } from "./canvas_tip";
import { type By, FlameModel, flameFigures } from "./flame_model";
import type { TimelineState } from "./state";

const STEPS: Readonly<Record<string, FlameStep>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const BY = [
  { value: "thread", text: "By thread" },
  { value: "all", text: "Threads together" },
] as const;

export class FlamePane {
  readonly element: HTMLElement;
  readonly #status = h("span.q", { role: "status" });
  readonly #base: HTMLButtonElement;
  readonly #canvas = unspoken("canvas");
  readonly #sheet = h("div.tl-sheet");
  readonly #live = h("div.sr", { "aria-live": "polite" });
  readonly #box = h("div.tl-flame", {
    role: "application",
    tabindex: 0,
    "aria-label": "Flame: arrow keys walk, Enter zooms in, Backspace zooms out",
  });
  readonly #tip = new CanvasTip();
  readonly #model: FlameModel;
  readonly #labels: LabelCache;
  #palette: Palette | null = null;
  #labelsOf = -1;
  #hover = -1;
  #width = 0;

  constructor(
    readonly root: HTMLElement,
    readonly state: TimelineState,
    readonly signal: AbortSignal,
  ) {
    this.#labels = new LabelCache(state.meta.names);
    this.#model = new FlameModel(state, () => this.#onRects());
    this.#base = button("Selected name only", () => this.#flipBase(), signal, {
      "aria-pressed": "false",
      title: "Only what lies in slices of the selected name",
    });
    const by = segmented<By>("Merge slices", BY, "thread", (value) => this.#setBy(value), signal);
    const whole = { class: "tl-out", title: "Show the whole flame" };
    const out = button("Zoom out", () => this.#zoomTo(ROOT), signal, whole);
    const bar = h("div.bar", by, this.#base, out, h("span.sp"), this.#status);
    this.#box.append(this.#sheet, this.#canvas);
    const place = h("div.tl-flamebox", this.#box, this.#tip.element);
    this.element = h("div.tl-pane", bar, place, this.#live);
    this.#listen();
    // A canvas has no elements to find.
    Object.assign(root, { tfprofFlame: () => this.#drawn() });
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  forgetColors() {
    this.#palette = null;
    this.#labels.clear();
  }

  /** A part of a frame; whether there is more to do. */
  update(): boolean {
    const { state } = this;
    const span = state.range ?? state.view;
    const isMore = this.#model.update(span);
    this.#base.disabled = this.#model.base < 0 && state.focus < 0;
    this.#say(span);
    this.#paint();
    return isMore;
  }

  #onRects() {
    this.#hover = -1;
    this.#tip.hide();
    const levels = this.#model.rects.reduce((most, { level }) => Math.max(most, level + 1), 0);
    this.#sheet.style.height = `${levels * FLAME_ROW_PX}px`;
    this.element.classList.toggle("zoomed", this.#model.isZoomed);
    this.state.invalidate();
  }

  #setBy(by: By) {
    this.#model.setBy(by);
    this.state.invalidate();
  }

  #flipBase() {
    const { focus, events } = this.state;
    this.#model.setBase(this.#model.base >= 0 || focus < 0 ? -1 : events.name[focus]);
    setAria(this.#base, "pressed", this.#model.base >= 0);
    this.state.invalidate();
  }

  #zoomTo(node: number) {
    this.#model.zoomTo(node);
    this.#box.scrollTop = 0;
  }

  /** Zooms to a rectangle, and selects its longest slice for the details and the other views. */
  #pick(index: number) {
    const { rects, flame } = this.#model;
    const rect = rects[index];
    if (!rect || !flame) return;
    this.#model.cursor = index;
    const longest = rect.nRest > 0 ? -1 : flame.tree.longest[rect.node];
    if (longest >= 0) this.state.select(longest);
    this.#zoomTo(rect.node);
  }

  #listen() {
    const { signal } = this;
    const resize = (width: number) => {
      this.#width = Math.floor(width);
      this.#model.setWidth(this.#width);
      this.state.invalidate();
    };
    watchSize(this.#box, resize, signal);
    on(this.#box, signal, {
      scroll: () => this.state.invalidate(),
      pointermove: (event) => this.#point(event),
      pointerleave: () => this.#unpoint(),
      click: (event) => this.#pick(this.#indexAt(event)),
    });
    onKeys(this.#box, signal, (event) => this.#onKey(event));
  }

  #indexAt(event: MouseEvent): number {
    const { left, top } = this.#box.getBoundingClientRect();
    const y = event.clientY - top + this.#box.scrollTop;
    return flameRectAt(this.#model.rects, this.#width, event.clientX - left, y);
  }

  #point(event: PointerEvent) {
    const { rects, flame } = this.#model;
    const index = this.#indexAt(event);
    const rect = rects[index];
    if (index !== this.#hover) this.state.invalidate();
    this.#hover = index;
    const box = this.#box.getBoundingClientRect();
    if (!rect || !flame) this.#tip.hide();
    else {
      this.#tip.say(this.#model.nameOf(rect), flameFigures(flame, rect));
      this.#tip.showAt(event.clientX - box.left, event.clientY - box.top, box);
    }
  }

  #unpoint() {
    this.#hover = -1;
    this.#tip.hide();
    this.state.invalidate();
  }

  #onKey(event: KeyboardEvent): boolean {
    if (hasModifier(event)) return false;
    const step = event.shiftKey ? undefined : STEPS[event.key];
    const isOut = event.key === "Backspace" || (event.key === "Escape" && this.#model.isZoomed);
    if (step) this.#walk(step);
    else if (event.key === "Enter" || event.key === " ") this.#pick(Math.max(0, this.#model.cursor));
    else if (isOut) this.#model.zoomOut();
    else return false;
    return true;
  }

  #walk(step: FlameStep) {
    const model = this.#model;
    model.cursor = model.cursor < 0 ? 0 : flameNeighbour(model.rects, model.cursor, step);
    const rect = model.rects[model.cursor];
    if (!rect || !model.flame) return;
    const y = rect.level * FLAME_ROW_PX;
    const { scrollTop, clientHeight } = this.#box;
    if (y < scrollTop) this.#box.scrollTop = y;
    else if (y + FLAME_ROW_PX > scrollTop + clientHeight) this.#box.scrollTop = y + FLAME_ROW_PX - clientHeight;
    this.#live.textContent = `${model.nameOf(rect)}, ${flameFigures(model.flame, rect).join(" · ")}`;
    this.state.invalidate();
  }

  #say(span: Span) {
    const { flame, rects, progress } = this.#model;
    const parts = [this.state.aboutSpan(span)];
    if (progress !== null && progress > 0) parts.push(`adding up ${formatPercent(progress)}`);
    else if (flame && rects.length > 0) {
      parts.push(`${plural(flame.tree.count[ROOT], "slice")}, ${formatTime(flame.tree.total[ROOT])} in all`);
    } else if (flame) parts.push("no slice in it");
    const text = parts.join(" · ");
    if (this.#status.textContent === text) return;
    this.#status.textContent = text;
    this.#status.title = text;
  }

  #paint() {
    const { state } = this;
    const model = this.#model;
    const ctx = this.#canvas.getContext("2d", { alpha: false });
    const height = this.#box.clientHeight;
    if (!ctx || this.#width === 0 || height === 0) return;
    this.#fitCanvas(ctx, height);
    this.#refreshLabels();
    this.#palette ??= readPalette(this.root);
    const found = state.foundIds.length > 0 ? new Set(state.foundIds) : null;
    drawFlame({
      ...{ ctx, palette: this.#palette, width: this.#width, height, scrollTop: this.#box.scrollTop },
      ...{ rects: model.rects, hover: this.#hover, cursor: model.cursor },
      ...this.#colors(this.#palette),
      textOf: (rect, px) => this.#textOf(ctx, rect, px),
      figureOf: (rect) => formatTime(rect.ps),
      isDim: (rect) => found !== null && !found.has(model.labelOf(rect)),
    });
  }

  /** As the tracks are coloured; a flame is of many steps, so not by those. */
  #colors(palette: Palette): Pick<FlamePicture, "fills" | "edges" | "colorOf"> {
    const { board, events, family, meta } = this.state;
    const model = this.#model;
    const scheme = board.colors(family);
    if (scheme.by !== "category") {
      const colorOf = (rect: FlameRect) => (model.labelOf(rect) < 0 ? -1 : family[model.labelOf(rect)]);
      return { fills: palette.fills, edges: palette.edges, colorOf };
    }
    const isDevice = (position: number) => meta.planes[meta.lines[events.lineOf(position)].plane].kind === "device";
    const colorOf = (rect: FlameRect) => {
      const longest = model.labelOf(rect) < 0 ? -1 : (model.flame?.tree.longest[rect.node] ?? -1);
      return longest < 0 ? -1 : scheme.of(longest, isDevice(longest));
    };
    const colorsOf = (of: readonly string[]) => scheme.source.map((id) => of[id]);
    return { fills: colorsOf(palette.categoryFills), edges: colorsOf(palette.categories), colorOf };
  }

  #fitCanvas(ctx: CanvasRenderingContext2D, height: number) {
    const ratio = devicePixelRatio || 1;
    const [w, hgt] = [Math.round(this.#width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== w || this.#canvas.height !== hgt) {
      this.#canvas.width = w;
      this.#canvas.height = hgt;
      this.#canvas.style.width = `${this.#width}px`;
      this.#canvas.style.height = `${height}px`;
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  #refreshLabels() {
    const { namesGeneration } = this.state.trace.data;
    if (this.#labelsOf !== namesGeneration) this.#labels.clear();
    this.#labelsOf = namesGeneration;
  }

  #textOf(ctx: CanvasRenderingContext2D, rect: FlameRect, px: number): string {
    const label = this.#model.labelOf(rect);
    if (label >= 0) return this.#labels.fit(ctx, label, px);
    const text = this.#model.nameOf(rect);
    return ctx.measureText(text).width <= px ? text : "";
  }

  /** For tests: what is drawn where, in client coordinates. */
  #drawn(): { name: string; x: number; y: number; ps: number }[] {
    const { left, top } = this.#box.getBoundingClientRect();
    return this.#model.rects.map((rect) => ({
      name: this.#model.nameOf(rect),
      x: left + ((rect.x0 + rect.x1) / 2) * this.#width,
      y: top + (rect.level + 0.5) * FLAME_ROW_PX - this.#box.scrollTop,
      ps: rect.ps,
    }));
  }
}
