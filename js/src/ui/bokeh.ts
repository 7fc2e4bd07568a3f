/** The Bokeh JSON of a view -> a chart inside the view whose named sources, ranges and annotations JavaScript sets. */

import { atEnd } from "../host/failures";
import { runOnce, type Script, unpacked, withAddress } from "../host/library";
import { h } from "./dom";
import type { TraceView } from "./view";

/** A Bokeh model as far as it is used here. */
export interface BokehModel {
  setv(attributes: Readonly<Record<string, unknown>>): void;
}

interface Scale {
  compute(value: number): number;
  invert(px: number): number;
}

interface PlotView {
  readonly model: BokehModel & { readonly document: { get_model_by_name(name: string): BokehModel | null } };
  readonly frame: {
    readonly bbox: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
    readonly x_scale: Scale;
    readonly y_scale: Scale;
  };
  resize_layout?(): void;
}

interface BokehApi {
  /** Every document of the page; `clear` leaves an empty one behind. */
  readonly documents: unknown[];
  set_log_level(level: string): void;
  readonly embed: {
    embed_item(item: unknown, element: HTMLElement): Promise<{ readonly roots: Iterable<PlotView>; clear(): void }>;
  };
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** A chart in the page. Pixels are relative to `element`. */
export interface Chart {
  readonly element: HTMLElement;
  /** The model of a name; throws when the figure has none, because then Python and JavaScript disagree. */
  get(name: string): BokehModel;
  setData(source: string, columns: Readonly<Record<string, ArrayLike<unknown>>>): void;
  frame(): Box;
  toX(px: number): number;
  xToPx(value: number): number;
  yToPx(value: number): number;
}

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
  return chartOf(plot, element);
}

function chartOf(plot: PlotView, element: HTMLElement): Chart {
  const get = (name: string) => {
    const found = plot.model.document.get_model_by_name(name);
    if (found === null)
      throw new Error(`the figure has no model named "${name}"; the Python and JavaScript versions differ`);
    return found;
  };
  return {
    element,
    get,
    setData: (source, data) => get(source).setv({ data }),
    frame: () => plot.frame.bbox,
    toX: (px) => plot.frame.x_scale.invert(px),
    xToPx: (value) => plot.frame.x_scale.compute(value),
    yToPx: (value) => plot.frame.y_scale.compute(value),
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

/** The colours of the style sheet by token name ("ink", "c-input") as Bokeh understands them: rgba(...). */
export function bokehColors(root: HTMLElement, names: readonly string[]): Record<string, string> {
  const probe = h("span", { hidden: true });
  root.append(probe);
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colors: Record<string, string> = {};
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    colors[name] = toRgba(getComputedStyle(probe).color, context);
  }
  probe.remove();
  return colors;
}

/** Bokeh's parser does not know `color(srgb ...)`, which browsers give for mixed colours; one drawn pixel does. */
function toRgba(color: string, context: CanvasRenderingContext2D | null): string {
  if (color.startsWith("rgb") || context === null) return color;
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
  return `rgba(${r}, ${g}, ${b}, ${a / 255})`;
}

/** Puts ticks with our own words on an axis. */
export function setTicks(chart: Chart, axis: string, ticks: readonly number[], label: (tick: number) => string): void {
  chart.get(axis).setv({ major_label_overrides: new Map(ticks.map((tick) => [tick, label(tick)])) });
  chart.get(`${axis}_ticker`).setv({ ticks: [...ticks] });
}

/** Gives axes the colour and font of the page. */
export function colorAxes(chart: Chart, axes: readonly string[], color: string, font: string): void {
  for (const axis of axes) chart.get(axis).setv({ major_label_text_color: color, major_label_text_font: font });
}
