/** Charts, Bokeh's and drawn ones: sources and ranges, labels with a halo, tooltips, clicks and drags along x. */

import { atEnd, runOnce, type Script, unpacked, withAddress } from "../data/widget";
import { h, on, resolved, rgbaOf } from "./dom";
import type { TraceView } from "./view";

export interface PlotLabel {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly align: "left" | "center" | "right";
  readonly isBold?: boolean;
  readonly isFaint?: boolean;
}

/** Absolutely placed words over a plot; text that would leave the plot is moved back inside. */
export function drawLabels(layer: HTMLElement, labels: readonly PlotLabel[]): void {
  layer.replaceChildren(
    ...labels.map((label) => {
      const style = {
        top: `${label.y}px`,
        ...(label.align === "right" ? { right: `calc(100% - ${label.x}px)` } : { left: `${label.x}px` }),
        ...(label.align === "center" && { transform: "translateX(-50%)" }),
      };
      const kind = `tfp-label${label.isBold ? " b" : ""}${label.isFaint ? " q" : ""}`;
      return h("span", { class: kind, style }, label.text);
    }),
  );
}

export interface Tip {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Edges in px of the page. */
type TipPlace = Pick<DOMRect, "left" | "top" | "bottom">;

type Size = Readonly<Record<"width" | "height", number>>;

const TIP_GAP_PX = 2;
const POINTER_PX = 12;

/** Behind a point, or before it where there is no room behind. */
function beside(at: number, size: number, room: number): number {
  return Math.max(0, at + POINTER_PX + size > room ? at - POINTER_PX - size : at + POINTER_PX);
}

export class TipBox {
  readonly #box = h("div.tfp-tip", { role: "presentation", hidden: true });
  #size: Size | null = null;

  /** @param most it is never larger; null where that is not known */
  constructor(
    readonly parent: HTMLElement,
    readonly most: Size | null = null,
  ) {
    parent.append(this.#box);
  }

  hide(): void {
    this.#box.hidden = true;
  }

  show(x: number, y: number, tip: Tip): void {
    this.say(tip);
    this.#moveTo(beside(x, this.#box.offsetWidth, this.parent.clientWidth - 2), y);
  }

  /** Below an element or a box of the page, or above it where it would be cut; hidden where either is null. */
  about(tip: Tip | null, at: Element | TipPlace | null): void {
    this.hide();
    if (tip === null || at === null) return;
    this.say(tip);
    const { left, top, bottom } = at instanceof Element ? at.getBoundingClientRect() : at;
    const around = this.parent.getBoundingClientRect();
    const below = bottom - around.top + TIP_GAP_PX;
    const height = this.#box.offsetHeight;
    const above = top - around.top - TIP_GAP_PX - height;
    const x = beside(Math.max(0, left - around.left), this.#box.offsetWidth, around.width - 2);
    this.#moveTo(x, below + height > around.height && above > 0 ? above : below);
  }

  say({ title, lines }: Tip): void {
    this.#size = null;
    this.#box.replaceChildren(h("b", title), ...lines.map((line) => h("div", line)));
    this.#box.hidden = false;
  }

  /** Beside a point of a pane, what was said last. */
  follow(x: number, y: number, pane: Size): void {
    this.#box.hidden = false;
    const { width, height } = this.#sizeNear(x, y, pane);
    this.#moveTo(beside(x, width, pane.width), beside(y, height, pane.height));
  }

  /** Measured once for the same words, and only near an edge: to measure makes the page lay out. */
  #sizeNear(x: number, y: number, pane: Size): Size {
    const { most } = this;
    if (most && x + POINTER_PX + most.width <= pane.width && y + POINTER_PX + most.height <= pane.height) return most;
    this.#size ??= this.#box.getBoundingClientRect();
    return this.#size;
  }

  #moveTo(x: number, y: number): void {
    this.#box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }
}

interface PlotGestures {
  onHover(x: number, y: number): void;
  onLeave(): void;
  onClick(x: number, y: number): void;
  onDrag(x0: number, x1: number): void;
  onDragEnd(x0: number, x1: number): void;
}

const DRAG_PX = 4;

/** Tells clicks from drags; all x and y are px in `element`. A drag that Esc or the system ends counts for nothing. */
export function watchPlot(element: HTMLElement, signal: AbortSignal, gestures: PlotGestures): void {
  /** Where the button went down; null while it is up. */
  let from: number | null = null;
  let isDrag = false;
  const at = (event: PointerEvent) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top] as const;
  };
  on(element, signal, {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      [from] = at(event);
      isDrag = false;
      element.setPointerCapture?.(event.pointerId);
    },
    pointermove: (event) => {
      const [x, y] = at(event);
      if (from === null) return gestures.onHover(x, y);
      isDrag ||= Math.abs(x - from) >= DRAG_PX;
      if (isDrag) gestures.onDrag(from, x);
    },
    pointerup: (event) => {
      if (from === null) return;
      const [x, y] = at(event);
      const start = from;
      from = null;
      if (isDrag) gestures.onDragEnd(start, x);
      else gestures.onClick(x, y);
    },
    pointercancel: () => {
      from = null;
      gestures.onLeave();
    },
    pointerleave: () => from === null && gestures.onLeave(),
  });
}

interface BokehModel {
  setv(attributes: Readonly<Record<string, unknown>>): void;
}

interface Scale {
  compute(value: number): number;
  invert(px: number): number;
}

interface PlotView {
  readonly model: BokehModel & { readonly document: { get_model_by_name(name: string): BokehModel | null } };
  readonly frame: { readonly bbox: Box; readonly x_scale: Scale; readonly y_scale: Scale };
}

interface BokehApi {
  /** Every document of the page; `clear` leaves an empty one behind. */
  readonly documents: unknown[];
  set_log_level(level: string): void;
  readonly embed: {
    embed_item(item: unknown, element: HTMLElement): Promise<{ readonly roots: Iterable<PlotView>; clear(): void }>;
  };
}

type Box = Readonly<Record<"left" | "right" | "top" | "bottom", number>>;

/** A chart in the page. Pixels are relative to the element that it is in. */
export type Chart = ReturnType<typeof chartOf>;

/** BokehJS stays off `window.Bokeh`, where the notebook may have another version. */
async function runBokeh({ text, name }: Script): Promise<BokehApi> {
  const page = globalThis as unknown as { Bokeh?: BokehApi };
  const previous = page.Bokeh;
  // Shadow AMD's define and CommonJS, so that its UMD parts do not register with a page's loader.
  await withAddress(`(function (define, exports, module) {\n${text}\n}).call(globalThis);`, runScript);
  const mine = page.Bokeh;
  if (previous) page.Bokeh = previous;
  else delete page.Bokeh;
  if (mine === undefined) throw new Error(`the script of ${name} did not define Bokeh`);
  // It reports "document idle" for every chart.
  mine.set_log_level("warn");
  return mine;
}

/** Runs a script, which is no module: BokehJS is not written in strict mode. */
function runScript(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = h("script", { src: url });
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => reject(new Error("the page does not let scripts of its own run")));
    document.head.append(script);
    script.remove();
  });
}

/** Puts the view's `figure` into `parent`, which may still be detached: Bokeh starts when it is in the page. */
export async function createChart(view: TraceView, parent: HTMLElement): Promise<Chart> {
  const { model, host, signal } = view;
  const ref = String(model.get("bokeh"));
  const Bokeh = await runOnce(await host.getModel(ref, { signal }), ref, runBokeh);
  const figure = JSON.parse(await unpacked(model.get("figure")));
  // Inert: pointer, keys and focus belong to the view around it.
  const element = h("div.tfp-bokeh", { "aria-hidden": "true", inert: true });
  parent.append(element);
  await connected(element, signal);
  const views = await Bokeh.embed.embed_item(figure, element); // at once: it must still be in the page
  const plot = [...views.roots].find((root) => root.frame !== undefined);
  if (plot === undefined) throw new Error("the figure of this view holds no plot");
  const { document } = plot.model;
  const remove = () => {
    views.clear();
    const at = Bokeh.documents.indexOf(document);
    if (at >= 0) Bokeh.documents.splice(at, 1);
  };
  if (signal.aborted) remove();
  else atEnd(signal, remove);
  return chartOf(plot);
}

function chartOf(plot: PlotView) {
  /** The model of a name; throws when the figure has none, because then Python and JavaScript disagree. */
  const get = (name: string): BokehModel => {
    const found = plot.model.document.get_model_by_name(name);
    if (found === null)
      throw new Error(`the figure has no model named "${name}"; the Python and JavaScript versions differ`);
    return found;
  };
  return {
    get,
    setData: (source: string, data: Readonly<Record<string, ArrayLike<unknown>>>) => get(source).setv({ data }),
    frame: () => plot.frame.bbox,
    toX: (px: number) => plot.frame.x_scale.invert(px),
    xToPx: (value: number) => plot.frame.x_scale.compute(value),
    yToPx: (value: number) => plot.frame.y_scale.compute(value),
  };
}

/** Resolves when the element is in the page; rejects never, but stays open for a view that was removed first. */
function connected(element: HTMLElement, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (signal.aborted) return;
      if (element.isConnected && element.getBoundingClientRect().width > 0) resolve();
      else requestAnimationFrame(look);
    };
    look();
  });
}

/** The colours of the style sheet by token name ("ink", "c-input") as Bokeh understands them, which does not know `color(srgb ...)`. */
export function bokehColors(root: HTMLElement, names: readonly string[]): Record<string, string> {
  const values = names.map((name) => `var(--${name})`);
  const rgba = rgbaOf(resolved(root, values));
  const css = (k: number) => `rgba(${rgba.slice(4 * k, 4 * k + 3).join(", ")}, ${rgba[4 * k + 3] / 255})`;
  return Object.fromEntries(names.map((name, k) => [name, css(k)]));
}

export function setTicks(chart: Chart, axis: string, ticks: readonly number[], label: (tick: number) => string): void {
  chart.get(axis).setv({ major_label_overrides: new Map(ticks.map((tick) => [tick, label(tick)])) });
  chart.get(`${axis}_ticker`).setv({ ticks: [...ticks] });
}

export function colorAxes(chart: Chart, axes: readonly string[], color: string, font: string): void {
  for (const axis of axes) chart.get(axis).setv({ major_label_text_color: color, major_label_text_font: font });
}
