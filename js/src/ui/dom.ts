/** Elements from a tag, attributes and children. Strings become text nodes, so text of a trace can never become markup. */

import { guarded } from "../host/failures";
import { CAPTURE_CODE, frameworkOf, unrecordedWords } from "../model/overview/framework";
import type { TraceMeta } from "../model/wire/meta";

/** A style is an object of properties by their CSS names. */
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

/** An SVG element. */
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
  onClick: () => unknown,
  signal: AbortSignal,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, text, ...children);
  on(element, signal, { click: onClick });
  return element;
}

/** A button that stays pressed until it is pressed again. */
export function toggle(
  text: string,
  isOn: boolean,
  onFlip: (isOn: boolean) => unknown,
  signal: AbortSignal,
  attributes: Attributes = {},
): HTMLButtonElement {
  const flip = () => {
    const isNow = element.getAttribute("aria-pressed") !== "true";
    setAria(element, "pressed", isNow);
    onFlip(isNow);
  };
  const element = button(text, flip, signal, { ...attributes, "aria-pressed": String(isOn) });
  return element;
}

export interface Choice<T extends string> {
  readonly value: T;
  readonly text: string;
}

/** A switch of a few buttons, one of them pressed: a segmented control, or with the class `tfp-words` words in place of a heading. */
export function segmented<T extends string>(
  label: string,
  choices: readonly Choice<T>[],
  chosen: T,
  onChoose: (value: T) => void,
  signal: AbortSignal,
  look: "seg" | "tfp-words" = "seg",
): HTMLElement {
  const group = h("span", { class: look, role: "group", "aria-label": label });
  for (const { value, text } of choices) {
    const element = button(
      text,
      () => {
        for (const other of group.children) setAria(other, "pressed", other === element);
        onChoose(value);
      },
      signal,
      { "aria-pressed": String(value === chosen) },
    );
    group.append(element);
  }
  return group;
}

/** A button that copies text and says that it did. */
export function copyButton(label: string, text: () => string, signal: AbortSignal): HTMLButtonElement {
  const element = button(label, () => void copy(), signal);
  element.setAttribute("aria-live", "polite");
  async function copy() {
    const isCopied = await copyText(text());
    element.textContent = isCopied ? "Copied" : "Select and copy by hand";
    setTimeout(() => {
      element.textContent = label;
    }, 1500);
  }
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

/** Why a view is empty, what to do about it, and the code to paste. */
export function emptyState(title: string, reason: string, code: string, signal: AbortSignal): HTMLElement {
  const box = h("div.empty", { role: "status" }, h("h2", title), h("p", reason));
  if (code)
    box.append(
      h("pre", code),
      h(
        "p",
        copyButton("Copy", () => code, signal),
      ),
    );
  return box;
}

/** The empty state of every view of ops in a capture without one. */
export function noOps(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  const framework = frameworkOf(meta);
  const instead = unrecordedWords(meta);
  const reason = `The captured code ran no op, or only code that ${framework}'s profiler does not see. Capture code that trains or predicts:`;
  const code = instead ? "" : CAPTURE_CODE[framework];
  return emptyState(`No ${framework} op in this capture`, instead || reason, code, signal);
}

/** Gives the page a text file to save. */
export function download(fileName: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { href: url, download: fileName });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
