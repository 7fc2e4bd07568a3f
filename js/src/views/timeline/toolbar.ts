/** The bars above and below the tracks, and the panels that open from their buttons. */

import { lowerBound } from "../../data/columns";
import { CATEGORIES, FAMILIES } from "../../data/meta";
import { atEnd } from "../../data/widget";
import { COLOR_CHOICES, type ColorBy, isColorBy, legendOf, type StepInView } from "../../model/colors";
import { button, type Child, h, on, setAria } from "../../ui/dom";
import type { TimelineState } from "./state";

const kbd = (name: string) => h("kbd", name);

interface ToolbarActions {
  readonly help: () => void;
  readonly fit: () => void;
  readonly tracks: () => void;
  readonly bookmarks: () => void;
}

/** What is on screen, in words. */
interface OnScreen {
  readonly from: string;
  readonly to: string;
  /** Length of the capture. */
  readonly whole: string;
  /** Of these times. */
  readonly unit: string;
  readonly count: string;
  /** What happens to the others: " in this page". */
  readonly state: string;
  /** At length; "" where there is nothing to explain. */
  readonly why: string;
}

export class Toolbar {
  readonly element: HTMLElement;
  /** Places that others fill: the switch between the ways of showing the trace, and the search field. */
  readonly mode = h("span");
  readonly find = h("span.tl-finding");
  readonly tracksButton: HTMLButtonElement;
  readonly bookmarksButton: HTMLButtonElement;
  readonly #window = h("span", " ");
  readonly #whole = h("span.opt", " ");
  readonly #unit = h("span", " ");
  readonly #count = h("span", " ");
  readonly #state = h("span", " ");
  readonly #about = h(
    "span.q.tl-about",
    h("span.tl-window", this.#window, this.#whole, this.#unit),
    h("span.tl-counts", this.#count, this.#state),
  );
  readonly #more: (() => Child)[] = [];
  readonly #moreButton: HTMLButtonElement;

  constructor(
    actions: ToolbarActions,
    readonly popover: Popover,
    signal: AbortSignal,
  ) {
    const menu = { "aria-haspopup": "dialog", "aria-expanded": "false" };
    const fit = button("Fit", actions.fit, signal, { title: "Show the whole capture (0)" });
    this.tracksButton = button("", actions.tracks, signal, {
      ...menu,
      title: "Filter tracks by name, show hidden ones (T)",
    });
    this.bookmarksButton = button("", actions.bookmarks, signal, {
      ...menu,
      title: "Bookmarks and notes (Shift+B)",
    });
    this.nameBookmarks(0);
    this.#moreButton = button("More", () => this.#openMore(), signal, menu);
    this.#moreButton.hidden = true;
    const help = button("?", actions.help, signal, {
      class: "tl-key",
      "aria-label": "All keys",
      title: "All keys (?)",
    });
    this.element = h(
      "div.bar",
      h("b", "Timeline"),
      this.mode,
      this.#about,
      this.find,
      fit,
      this.tracksButton,
      this.bookmarksButton,
      this.#moreButton,
      help,
    );
  }

  /** Adds something to the panel "More": a switch, a button. It is built each time that the panel opens. */
  addMore(build: () => Child) {
    this.#more.push(build);
    this.#moreButton.hidden = false;
  }

  #openMore() {
    this.popover.toggle("more", this.#moreButton, "More", "dialog", ...this.#more.map((build) => build()));
  }

  /** Says what is on screen: where room is short what the counts are about goes first, then they; the window stays. */
  say({ from, to, whole, unit, count, state, why }: OnScreen) {
    setText(this.#window, `${from}–${to}`);
    setText(this.#whole, ` of ${whole}`);
    setText(this.#unit, ` ${unit}`);
    setText(this.#count, ` · ${count}`);
    setText(this.#state, state);
    const text = this.#about.textContent ?? "";
    const title = why ? `${text}\n${why}` : text;
    if (this.#about.title !== title) this.#about.title = title;
    return text;
  }

  nameBookmarks(n: number) {
    const count = n > 0 ? ` ${n}` : "";
    const names = [h("span.opt", `Bookmarks${count}`), h("span.short", `Marks${count}`)];
    this.bookmarksButton.replaceChildren(...names);
  }
}

/** Sets the one text of an element, which stays the same node: it changes with every frame. */
function setText(element: HTMLElement, text: string) {
  const node = element.firstChild as Text;
  if (node.data !== text) node.data = text;
}

/** A few keys, for the strip below the tracks. */
export function keyHint(): HTMLElement {
  const optional = h("span.opt");
  optional.append(kbd("F"), " fit selection ", kbd("R"), " measure ", kbd("B"), " bookmark ");
  const keys = h("span.keys");
  keys.append(kbd("W"), " ", kbd("S"), " zoom ", kbd("A"), " ", kbd("D"), " pan ", optional, kbd("?"), " all keys");
  return keys;
}

/** Colours come and go while the view moves: the strip follows when it rests. */
const REST_MS = 150;
/** Steps looked at for the names of the colours: more than the strip can name. */
const MOST_STEPS = 40;

/** The strip below the tracks: what the colours mean, with a switch, and the names of those on the screen. */
export class Legend {
  readonly element: HTMLElement;
  readonly #select: HTMLSelectElement;
  readonly #entries = h("span.tl-colors", { role: "list", "aria-label": "Colours on the screen" });
  #shown = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly state: TimelineState,
    hint: HTMLElement,
    readonly signal: AbortSignal,
  ) {
    this.#select = h("select", { "aria-label": "What the colours of the slices mean" });
    for (const { value, text } of COLOR_CHOICES) this.#select.append(h("option", { value }, text));
    on(this.#select, signal, { change: () => this.#choose() });
    const label = h("label", "Colour: ", this.#select);
    this.element = h("div.tl-foot", label, this.#entries, h("span.sp"), hint);
    atEnd(signal, () => clearTimeout(this.#timer));
  }

  next() {
    const at = COLOR_CHOICES.findIndex(({ value }) => value === this.state.tracks.colorBy);
    this.state.board.setColorBy(COLOR_CHOICES[(at + 1) % COLOR_CHOICES.length].value);
  }

  #choose() {
    if (isColorBy(this.#select.value)) this.state.board.setColorBy(this.#select.value);
  }

  update() {
    const { colorBy } = this.state.tracks;
    if (this.#select.value !== colorBy) this.#select.value = colorBy;
    clearTimeout(this.#timer);
    if (this.#shown === "") this.#tell();
    else this.#timer = setTimeout(() => this.#tell(), REST_MS);
  }

  #stepsInView(): StepInView[] {
    const { steps, view } = this.state;
    const found: StepInView[] = [];
    for (let row = lowerBound(steps.end, view.t0, 0, steps.n); row < steps.n && steps.start[row] < view.t1; row++) {
      found.push({ row, name: steps.names[row] });
      if (found.length === MOST_STEPS) break;
    }
    return found;
  }

  #tell() {
    const { state } = this;
    const { colorBy } = state.tracks;
    const scheme = state.board.colors(state.family);
    const entries = legendOf(colorBy, state.board.shownColors, colorBy === "step" ? this.#stepsInView() : []);
    // The strips of hosts, too, are made of the parts of steps.
    const parts = colorBy === "category" ? [] : legendOf("category", state.shownCategories);
    const slices = entries.filter(({ text }) => !parts.some((part) => part.text === text));
    const key = `${colorBy}|${[...slices, ...parts].map((entry) => entry.text).join("|")}`;
    if (key === this.#shown) return;
    this.#shown = key;
    this.#entries.replaceChildren(
      ...parts.map(({ color, text }) => entry(swatch("category", color), text)),
      ...slices.map(({ color, text }) => entry(swatch(colorBy, scheme.source[color]), text)),
    );
  }
}

function entry(style: string, text: string): HTMLElement {
  return h("span", { role: "listitem", title: text }, h("i", { style }), h("span.cut", text));
}

function swatch(by: ColorBy, source: number): string {
  if (by === "category" || source >= FAMILIES.length) {
    const color = `var(--c-${CATEGORIES[by === "category" ? source : source - FAMILIES.length]})`;
    return `background:color-mix(in srgb, ${color} 38%, var(--bg));border-left:2px solid ${color}`;
  }
  return `background:var(--s-${FAMILIES[source]});border-left:2px solid var(--e-${FAMILIES[source]})`;
}

/** What can have the focus; in a panel with a field to begin with, that. */
const FIRST = "[data-first], button:not(:disabled), input, select, textarea";

/** A panel beside a button: one at a time, closed by Esc, by a press elsewhere or by its button; then the focus goes back. */
export class Popover {
  readonly element = h("div.tl-pop");
  #opener: HTMLElement | null = null;
  #key = "";

  /** `home`: what the panel lies in and is measured against. */
  constructor(
    readonly home: HTMLElement,
    signal: AbortSignal,
  ) {
    this.element.hidden = true;
    home.append(this.element);
    on(this.element, signal, {
      keydown: (event) => this.#onKey(event),
      focusout: (event) => this.#onLeave(event),
    });
    on(home.ownerDocument, signal, { pointerdown: (event) => this.#onPress(event) }, { capture: true });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Which panel is open, "" for none. */
  get key() {
    return this.isOpen ? this.#key : "";
  }

  /** Opens with `content` at the element, or at a place in it; a second call from the same opener closes. */
  toggle(key: string, opener: HTMLElement, label: string, role: "dialog" | "menu", ...content: Child[]) {
    if (this.isOpen && this.#key === key && this.#opener === opener) {
      this.close();
      return;
    }
    this.#key = key;
    if (this.#opener) setAria(this.#opener, "expanded", false);
    this.#opener = opener;
    setAria(opener, "expanded", true);
    this.element.setAttribute("role", role);
    this.element.setAttribute("aria-label", label);
    this.fill(...content);
    this.element.hidden = false;
    this.#place(opener);
    this.focus();
  }

  /** Replaces what is inside; a focus inside stays there, on the element of the same `data-key` if there is one. */
  fill(...content: Child[]) {
    const focused = document.activeElement as HTMLElement | null;
    const isInside = focused !== null && this.element.contains(focused);
    const key = focused?.dataset.key;
    this.element.replaceChildren(...content.filter((child): child is Node | string => Boolean(child)));
    if (isInside) this.focus(key);
  }

  /** The element with this `data-key`, else the first one. */
  focus(key = "") {
    const keyed = [...this.element.querySelectorAll<HTMLElement>("[data-key]")];
    const same = key ? keyed.find((element) => element.dataset.key === key) : undefined;
    (same ?? this.element.querySelector<HTMLElement>(FIRST))?.focus({ preventScroll: true });
  }

  close(isFocusBack = true) {
    if (!this.isOpen) return;
    this.element.hidden = true;
    if (this.#opener) setAria(this.#opener, "expanded", false);
    if (isFocusBack) this.#opener?.focus({ preventScroll: true });
    this.#opener = null;
  }

  #place(opener: HTMLElement) {
    const home = this.home.getBoundingClientRect();
    const box = opener.getBoundingClientRect();
    const own = this.element.getBoundingClientRect();
    const left = Math.max(0, Math.min(box.left - home.left, home.width - own.width - 4));
    const below = box.bottom - home.top + 2;
    const above = box.top - home.top - own.height - 2;
    const isTooLow = below + own.height > home.height && above >= 0;
    this.element.style.left = `${left}px`;
    this.element.style.top = `${isTooLow ? above : below}px`;
    this.element.style.maxHeight = `${Math.max(120, home.height - (isTooLow ? 0 : below) - 4)}px`;
  }

  #onKey(event: KeyboardEvent) {
    if (event.key === "Escape") this.close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (event.target instanceof HTMLTextAreaElement || !this.#walk(event.key === "ArrowDown" ? 1 : -1)) return;
    } else {
      // Keys of the timeline do not act on what lies under an open panel.
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #walk(direction: 1 | -1): boolean {
    const items = [...this.element.querySelectorAll<HTMLElement>("button:not(:disabled), input, select")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + direction + items.length) % items.length]?.focus();
    return items.length > 0;
  }

  /** In an isolated or shadow tree the target is the host, so the path says where the press was. */
  #onPress(event: Event) {
    if (!this.isOpen) return;
    const path = event.composedPath();
    if (!path.includes(this.element) && !(this.#opener && path.includes(this.#opener))) this.close(false);
  }

  #onLeave(event: FocusEvent) {
    const to = event.relatedTarget;
    if (to instanceof Node && !this.element.contains(to) && to !== this.#opener) this.close(false);
  }
}
