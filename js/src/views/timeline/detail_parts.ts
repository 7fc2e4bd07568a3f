/** Small pieces that the details pane is put together from: names, pairs of key and value, bars, dots. */
import { formatTime } from "../../model/text/format";
import { shortName } from "../../model/text/labels";
import { type Child, h, svg } from "../../ui/dom";

const LONG_NAME = 110;
/** Dots that are told apart. */
export const MAX_DOTS = 400;

/** Key, value and what is said beside it. */
export type Pair = readonly [key: string, value: Child, more?: Child];

/** The name; of one that would fill the pane (C++ kernels) the telling part, and the whole in a box of its own. */
export function title(name: string): Node[] {
  if (name.length <= LONG_NAME) return [h("h2", name)];
  return [h("h2", shortName(name)), fullName(name)];
}

/** The op that launched a kernel, and the kernel. */
export function kernelTitle(op: string, kernel: string): Node[] {
  return [h("h2", op), fullName(kernel)];
}

function fullName(name: string): HTMLElement {
  return h("div.tl-full", { tabindex: 0, "aria-label": "Full name" }, name);
}

/** Short names, but never the same one for two different names. */
export function distinctLabels(names: readonly string[]): string[] {
  const short = names.map(shortName);
  return short.map((label, i) => (short.indexOf(label) === short.lastIndexOf(label) ? label : names[i]));
}

export function keyValues(rows: readonly Pair[]): HTMLElement {
  return h("div.kv", ...rows.flatMap(([key, ...value]) => [h("span", key), h("div", ...value)]));
}

export function heading(text: string): HTMLElement {
  return h("div.sub", text);
}

/** Dots on one time axis: is `own` usual? */
export function dotStrip(times: ArrayLike<number>, own: number): SVGElement {
  const stride = Math.max(1, Math.ceil(times.length / MAX_DOTS));
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < times.length; i++) {
    low = Math.min(low, times[i]);
    high = Math.max(high, times[i]);
  }
  const x = (time: number) => (high > low ? 4 + ((time - low) / (high - low)) * 172 : 90).toFixed(1);
  const label = `From ${formatTime(low)} to ${formatTime(high)}${Number.isNaN(own) ? "" : `, this one ${formatTime(own)}`}`;
  const size = { class: "tl-dots", viewBox: "0 0 180 34", width: 180, height: 34 };
  const strip = svg("svg", { ...size, role: "img", "aria-label": label });
  strip.append(svg("line", { x1: 4, x2: 176, y1: 20.5, y2: 20.5, class: "axis" }));
  for (let i = 0; i < times.length; i += stride) strip.append(svg("circle", { cx: x(times[i]), cy: 14, r: 2 }));
  if (!Number.isNaN(own)) strip.append(svg("path", { d: `M${x(own)} 20v-12`, class: "own" }));
  strip.append(svg("text", { x: 4, y: 32 }, formatTime(low)));
  if (high > low) strip.append(svg("text", { x: 176, y: 32, "text-anchor": "end" }, formatTime(high)));
  return strip;
}
