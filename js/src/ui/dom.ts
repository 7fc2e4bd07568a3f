/** Elements from a tag, attributes and children, and what the page offers beyond them, its theme too; strings become text nodes, so text of a trace can never become markup. */

import { CATEGORIES, FAMILIES, type TraceMeta } from "../data/meta";
import { atEnd, guarded } from "../data/widget";
import type { Palette } from "../model/colors";
import { CAPTURE_CODE, frameworkOf, unrecordedWords } from "../model/overview";

export type Attributes = Readonly<
  Record<string, string | number | boolean | undefined | Readonly<Record<string, string>>>
>;
export type Child = Node | string | null | undefined | false;
type Parts = readonly [Attributes, ...Child[]] | readonly Child[];
/** Not those that JupyterLab lays out itself in outputs: `labelList` is for labels and values. */
type Tag = Exclude<keyof HTMLElementTagNameMap, "dl" | "dt" | "dd">;

/** An HTML element, its classes behind its tag: "div.bar.on". `true` sets an empty attribute; `false` and `undefined` set none. */
export function h<K extends Tag>(tag: K | `${K}.${string}`, ...parts: Parts): HTMLElementTagNameMap[K] {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElement(name as K), classes, parts);
}

/** An HTML element that a screen reader leaves out: what it shows is said elsewhere. */
export function unspoken<K extends Tag>(tag: K | `${K}.${string}`, ...children: Child[]): HTMLElementTagNameMap[K] {
  return h(tag, { "aria-hidden": "true" }, ...children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K | `${K}.${string}`,
  ...parts: Parts
): SVGElementTagNameMap[K] {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name as K), classes, parts);
}

function fill<E extends HTMLElement | SVGElement>(element: E, classes: readonly string[], parts: Parts): E {
  if (classes.length > 0) element.setAttribute("class", classes.join(" "));
  for (const part of parts) {
    if (!part) continue;
    if (part instanceof Node || typeof part === "string") element.append(part);
    else setAttributes(element, part);
  }
  return element;
}

function setAttributes(element: HTMLElement | SVGElement, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "object") {
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    } else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Says a state of an element to a screen reader, and to the style sheet. */
export function setAria(
  element: Element,
  state: "busy" | "expanded" | "invalid" | "pressed" | "selected",
  isOn: boolean,
): void {
  element.setAttribute(`aria-${state}`, String(isOn));
}

type Handlers = { readonly [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => unknown };

/** Listens to events until the signal, with errors shown where it belongs; `how` is as the page has it. */
export function on(target: EventTarget, signal: AbortSignal, handlers: Handlers, how?: AddEventListenerOptions): void {
  for (const [name, handler] of Object.entries(handlers))
    target.addEventListener(name, guarded(handler as (event: Event) => unknown, signal), { ...how, signal });
}

/** Whether a key that the page or the browser may mean is held, too. */
export function hasModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

/** Hands keys to `act`, which says whether one means something here: nothing else then acts on it, JupyterLab neither. */
export function onKeys(element: Element, signal: AbortSignal, act: (event: KeyboardEvent) => boolean): void {
  element.setAttribute("data-lm-suppress-shortcuts", "true");
  const keydown = (event: KeyboardEvent) => {
    if (!act(event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  on(element, signal, { keydown });
}

/** A button; `title` is also what a screen reader says where the text alone is not clear. */
export function button(
  text: string,
  onClick: (event: MouseEvent) => unknown,
  signal: AbortSignal,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, text, ...children);
  on(element, signal, { click: onClick });
  return element;
}

export function toggle(
  text: string,
  isOn: boolean,
  onFlip: (isOn: boolean) => unknown,
  signal: AbortSignal,
  attributes: Attributes = {},
): HTMLButtonElement {
  const flip = ({ currentTarget }: Event) => {
    const element = currentTarget as Element;
    const isNow = element.getAttribute("aria-pressed") !== "true";
    setAria(element, "pressed", isNow);
    onFlip(isNow);
  };
  return button(text, flip, signal, { ...attributes, "aria-pressed": String(isOn) });
}

export interface Choice<T extends string> {
  readonly value: T;
  readonly text: string;
}

/** A switch of a few buttons, one of them pressed. */
export function segmented<T extends string>(
  label: string,
  choices: readonly Choice<T>[],
  chosen: T,
  onChoose: (value: T) => void,
  signal: AbortSignal,
): HTMLElement {
  const buttons: readonly HTMLButtonElement[] = choices.map(({ value, text }, i) => {
    const press = () => {
      for (const [k, other] of buttons.entries()) setAria(other, "pressed", k === i);
      onChoose(value);
    };
    return button(text, press, signal, { "aria-pressed": String(value === chosen) });
  });
  return h("span.seg", { role: "group", "aria-label": label }, ...buttons);
}

export function copyButton(label: string, text: () => string, signal: AbortSignal): HTMLButtonElement {
  const copy = async () => {
    element.textContent = (await copyText(text())) ? "Copied" : "Select and copy by hand";
    setTimeout(() => {
      element.textContent = label;
    }, 1500);
  };
  const element = button(label, copy, signal, { "aria-live": "polite" });
  return element;
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages from file:// and sandboxed frames have no clipboard; the old command works there.
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand?.("copy") ?? false;
    area.remove();
    return isCopied;
  }
}

export function emptyState(title: string, reason: string, code: string, signal: AbortSignal): HTMLElement {
  const copy = copyButton("Copy", () => code, signal);
  const box = h("div.empty", { role: "status" }, h("h2", title), h("p", reason));
  if (code) box.append(h("pre", code), h("p", copy));
  return box;
}

export function noOps(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  const framework = frameworkOf(meta);
  const instead = framework === "PyTorch" ? "Its ops are read as slices of the timeline alone." : unrecordedWords(meta);
  const reason = `The captured code ran no op, or only code that ${framework}'s profiler does not see. Capture code that trains or predicts:`;
  const code = instead ? "" : CAPTURE_CODE[framework];
  return emptyState(
    `No ${framework} op in this ${framework === "PyTorch" ? "table" : "capture"}`,
    instead || reason,
    code,
    signal,
  );
}

export function download(fileName: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { href: url, download: fileName });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function inFrame(fn: () => unknown, signal: AbortSignal): () => void {
  const run = guarded(fn, signal);
  let isWaiting = false;
  return () => {
    if (isWaiting || signal.aborted) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      if (!signal.aborted) run();
    });
  };
}

/** Between two updates of what is costly to draw, so that a drag of the range stays fluid. */
const PACE_MS = 50;
/** What takes longer than half a frame waits until the drag rests for `REST_MS`. */
const SLOW_MS = 8;
const REST_MS = 120;
/** To add up more rows of a table takes longer than a frame has. */
export const MANY_ROWS = 100_000;

/** As `inFrame`, at once at first and then every `PACE_MS`, or where `fn` is slow when the calls rest; the last is never lost. */
export function paced(fn: () => unknown, signal: AbortSignal, isSlow: () => boolean = () => false): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let asked = 0;
  let took = 0;
  const next = inFrame(() => {
    const began = performance.now();
    const mustRest = took > SLOW_MS || isSlow();
    if (mustRest ? began - asked < REST_MS : began - last < PACE_MS) return next();
    fn();
    last = performance.now();
    took = last - began;
  }, signal);
  return () => {
    asked = performance.now();
    next();
  };
}

/** Words that are cut where there is no room for them: on hover the whole. */
export function say(element: HTMLElement, ...words: (Node | string)[]): void {
  element.replaceChildren(...words);
  element.title = element.textContent ?? "";
}

/** What a control without words is called, on hover too. */
export function titledAlike(label: string): Attributes {
  return { "aria-label": label, title: label };
}

export function selectBox(
  label: string,
  signal: AbortSignal,
  onValue: (value: string) => unknown,
  ...parts: Child[]
): HTMLSelectElement {
  const element = h("select", { "aria-label": label }, ...parts);
  on(element, signal, { change: () => onValue(element.value) });
  return element;
}

/** Calls `onSize` with the content box of an element, first when it has one and then whenever it changes. */
export function watchSize(element: Element, signal: AbortSignal, onSize: (width: number, height: number) => unknown) {
  if (typeof ResizeObserver === "undefined") return;
  const tell = guarded(onSize, signal);
  let last = "";
  const observer = new ResizeObserver(([entry]) => {
    if (entry === undefined) return;
    const { width, height } = entry.contentRect;
    // What was drawn while the element was hidden had no size to go by: it is told again when it is shown.
    const now = width === 0 ? "" : `${Math.round(width)}x${Math.round(height)}`;
    if (now === last) return;
    last = now;
    if (now === "") return;
    tell(width, height);
  });
  observer.observe(element);
  atEnd(signal, () => observer.disconnect());
}

/** The context of a canvas that has so many px of the page, in those units; null where the page has none. */
export function sized(canvas: HTMLCanvasElement, width: number, height: number, alpha = true) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  // To set a size clears the canvas.
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== tall) canvas.height = tall;
  const ctx = canvas.getContext("2d", { alpha });
  ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

/** About the width of a character of the table's font, where there is no canvas to measure with. */
const CHARACTER_PX = 6.4;

/** The width in px of a text in the element's font, or one over `most`. Adds up characters, since measuring whole texts is slow. */
export function textWidth(element: HTMLElement): (text: string, most?: number) => number {
  const isMeasured = typeof CanvasRenderingContext2D !== "undefined";
  const context = isMeasured ? document.createElement("canvas").getContext("2d") : null;
  const style = getComputedStyle(element);
  if (context !== null) context.font = `${style.fontSize} ${style.fontFamily}`;
  const widths = new Map<string, number>();
  const widthOf = (character: string) => {
    const width = widths.get(character) ?? context?.measureText(character).width ?? CHARACTER_PX;
    widths.set(character, width);
    return width;
  };
  return (text, most = Number.POSITIVE_INFINITY) => {
    let width = 0;
    for (const character of text) if (width <= most) width += widthOf(character);
    return width;
  };
}

export function textFits(element: HTMLElement, widthPx: number): (text: string) => boolean {
  const widthOf = textWidth(element);
  return (text) => widthOf(text, widthPx) <= widthPx;
}

/** What the page shows: JupyterLab, Notebook 7, Voila and exported pages first, then VS Code, then Colab. */
export function isDarkTheme(doc: Document): boolean {
  const jupyter = doc.body.dataset.jpThemeLight;
  if (jupyter !== undefined) return jupyter === "false";
  if (doc.body.classList.contains("vscode-dark")) return true;
  return doc.documentElement.getAttribute("theme") === "dark";
}

/** Keeps `root`'s data-theme right and calls `onChange` after each change of theme. */
export function watchTheme(root: HTMLElement, onChange: () => void, signal: AbortSignal) {
  const doc = root.ownerDocument;
  const apply = () => {
    root.dataset.theme = isDarkTheme(doc) ? "dark" : "light";
    onChange();
  };
  root.dataset.theme = isDarkTheme(doc) ? "dark" : "light";
  const observer = new MutationObserver(() => {
    apply();
    // JupyterLab swaps its style sheet after the attribute: read the colours once more when it is there.
    setTimeout(() => !signal.aborted && apply(), 300);
  });
  const attributeFilter = ["data-jp-theme-light", "data-jp-theme-name", "class", "theme"];
  observer.observe(doc.body, { attributes: true, attributeFilter });
  observer.observe(doc.documentElement, { attributes: true, attributeFilter });
  atEnd(signal, () => observer.disconnect());
}

/** Four bytes of each colour, in whatever way a style sheet writes it; nothing where the page has no canvas. */
export function rgbaOf(colors: readonly string[]): Uint8ClampedArray {
  const ctx = h("canvas", { width: colors.length, height: 1 }).getContext("2d", { willReadFrequently: true });
  if (!ctx) return new Uint8ClampedArray(4 * colors.length);
  for (const [k, color] of colors.entries()) {
    ctx.fillStyle = color;
    ctx.fillRect(k, 0, 1, 1);
  }
  return ctx.getImageData(0, 0, colors.length, 1).data;
}

/** What colours of the style sheet, such as `var(--ink)`, are in an element. */
export function resolved(root: HTMLElement, values: readonly string[]): string[] {
  const probe = h("span", { hidden: true });
  root.append(probe);
  const colors = values.map((value) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return colors;
}

export function readPalette(root: HTMLElement): Palette {
  const colors = (prefix: string, names: readonly string[]) =>
    resolved(
      root,
      names.map((name) => `var(--${prefix}${name})`),
    );
  const single = ["bg", "bg-2", "ink", "ink-2", "rule", "rule-2", "act", "act-wash", "warn", "s-ink", "m-heap"];
  const [bg, bg2, ink, ink2, rule, rule2, act, actWash, warn, sliceInk, memoryHeap] = colors("", single);
  const pale = CATEGORIES.map((name) => `color-mix(in srgb, var(--c-${name}) 38%, var(--bg))`);
  return {
    ...{ bg, bg2, ink, ink2, rule, rule2, act, actWash, warn, sliceInk, memoryHeap },
    categories: colors("c-", CATEGORIES),
    categoryFills: resolved(root, pale),
    fills: colors("s-", FAMILIES),
    edges: colors("e-", FAMILIES),
    font: getComputedStyle(root).fontFamily,
  };
}

/** Sets the attribute that JupyterLab sets as well, and that views watch. */
export function addThemeSwitch(page: Document): void {
  const { body, documentElement } = page;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = body.dataset.jpThemeLight ? isDarkTheme(page) : null;
  const toggle = h("button", { type: "button", class: "tfp-theme-switch" });
  const line = h("div.tfp", toggle);
  const apply = () => {
    const isDark = chosen ?? system.matches;
    body.dataset.jpThemeLight = String(!isDark);
    documentElement.style.colorScheme = isDark ? "dark" : "light";
    body.style.background = isDark ? "#212121" : "#ffffff";
    toggle.textContent = isDark ? "Light theme" : "Dark theme";
    line.dataset.theme = isDark ? "dark" : "light";
  };
  toggle.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    apply();
  });
  body.style.margin = "0";
  // At the end of the first line of what is below.
  line.style.cssText = "position:absolute;top:4px;right:10px;z-index:1";
  body.prepend(line);
  system.addEventListener("change", apply);
  apply();
}
