/** The bars above and below the tracks, and the panels that open from their buttons, with the flags on the ruler. */

import { fitRange, lowerBound, type Span, xAt } from "../../data/columns";
import { CATEGORIES, FAMILIES } from "../../data/meta";
import { atEnd } from "../../data/widget";
import { RULER_TOP_PX } from "../../draw/frame";
import { type Bookmark, nextBookmark, showAll, spanOf, type TrackKey } from "../../model/arrangement";
import { COLOR_CHOICES, type ColorBy, isColorBy, legendOf, type StepInView } from "../../model/colors";
import { formatCount, formatInstant, formatTime, plural } from "../../model/text";
import { button, type Child, h, on, selectBox, setAria } from "../../ui/dom";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";

const kbd = (name: string) => h("kbd", name);

interface OnScreen extends Readonly<Record<"from" | "to" | "count", string>> {
  readonly whole: string;
  /** Of these times. */
  readonly unit: string;
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
    h("span.tl-window.fix", this.#window, this.#whole, this.#unit),
    h("span.tl-counts", this.#count, this.#state),
  );
  readonly #more: (() => Child)[] = [];
  readonly #moreButton: HTMLButtonElement;

  constructor(
    actions: Readonly<Record<"help" | "fit" | "tracks" | "bookmarks", () => void>>,
    readonly popover: Popover,
    signal: AbortSignal,
  ) {
    const menu = { "aria-haspopup": "dialog", "aria-expanded": "false" };
    const fit = button("Fit", actions.fit, signal, { title: "Show the whole capture (0)" });
    this.tracksButton = button("", actions.tracks, signal, {
      ...menu,
      title: "Filter tracks by name, show hidden ones (T)",
    });
    this.bookmarksButton = button("", actions.bookmarks, signal, { ...menu, title: "Bookmarks and notes (Shift+B)" });
    this.nameBookmarks(0);
    const more = () =>
      popover.toggle("more", this.#moreButton, "More", "dialog", ...this.#more.map((build) => build()));
    this.#moreButton = button("More", more, signal, menu);
    this.#moreButton.hidden = true;
    const about = { class: "tl-key", "aria-label": "All keys", title: "All keys (?)" };
    const help = button("?", actions.help, signal, about);
    const buttons = [fit, this.tracksButton, this.bookmarksButton, this.#moreButton, help];
    this.element = h("div.bar", h("b.opt", "Timeline"), this.mode, this.#about, this.find, ...buttons);
  }

  /** Adds something to the panel "More": a switch, a button. It is built each time that the panel opens. */
  addMore(build: () => Child) {
    this.#more.push(build);
    this.#moreButton.hidden = false;
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
    this.bookmarksButton.replaceChildren(h("span.opt", `Bookmarks${count}`), h("span.short", `Marks${count}`));
  }
}

/** Sets the one text of an element, which stays the same node: it changes with every frame. */
function setText(element: HTMLElement, text: string) {
  const node = element.firstChild as Text;
  if (node.data !== text) node.data = text;
}

export function keyHint(): HTMLElement {
  const optional = h("span.opt");
  optional.append(kbd("F"), " fit selection ", kbd("R"), " measure ", kbd("B"), " bookmark ");
  const keys = h("span.keys.opt.fix");
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
  ) {
    const { board, signal } = state;
    const options = COLOR_CHOICES.map(({ value, text }) => h("option", { value }, text));
    const choose = (by: string) => isColorBy(by) && board.setColorBy(by);
    this.#select = selectBox("What the colours of the slices mean", signal, choose, ...options);
    const label = h("label", "Colour: ", this.#select);
    this.element = h("div.tl-foot", label, this.#entries, h("span.sp"), hint);
    atEnd(signal, () => clearTimeout(this.#timer));
  }

  next() {
    const at = COLOR_CHOICES.findIndex(({ value }) => value === this.state.tracks.colorBy);
    this.state.board.setColorBy(COLOR_CHOICES[(at + 1) % COLOR_CHOICES.length].value);
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
    on(this.element, signal, { keydown: (event) => this.#onKey(event), focusout: (event) => this.#onLeave(event) });
    on(home.ownerDocument, signal, { pointerdown: (event) => this.#onPress(event) }, { capture: true });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  get key() {
    return this.isOpen ? this.#key : "";
  }

  /** Opens with `content` at the element, or at a place in it; a second call from the same opener closes. */
  toggle(key: string, opener: HTMLElement, label: string, role: "dialog" | "menu", ...content: Child[]) {
    if (this.isOpen && this.#key === key && this.#opener === opener) return this.close();
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

const KEY = "tracks";
const MOST_NAMES = 40;
const NO_EVENTS = "This trace has no events: nothing that the profiler sees was running while it was captured.";

/** Filter by name, what is hidden and how to get it back; and what stands where no track is left. */
export class TracksPanel {
  readonly none = h("div.tl-none", { role: "status" });
  #toldLayout: unknown = null;

  constructor(
    readonly state: TimelineState,
    readonly popover: Popover,
    readonly opener: HTMLButtonElement,
  ) {
    this.none.hidden = true;
  }

  toggle() {
    this.popover.toggle(KEY, this.opener, "Tracks", "dialog", ...this.#content());
  }

  /** Says on the button how many tracks are shown, and in place of the tracks why there are none. */
  update() {
    const { layout } = this.state;
    if (this.#toldLayout === layout) return;
    this.#toldLayout = layout;
    const isCut = layout.nShown < layout.nTracks;
    // Of several hosts a reader looks for one, not for a thread.
    const what = layout.nHosts > 0 ? ` ${plural(layout.nHosts, "host")}` : " tracks";
    const text = isCut ? this.#count() : `Filter${what}`;
    const more = isCut ? [] : [h("span.opt", what)];
    if (this.opener.textContent !== text) this.opener.replaceChildren(isCut ? text : "Filter", ...more);
    this.opener.setAttribute("aria-label", text); // also where there is no room for all of it
    this.opener.classList.toggle("on", isCut);
    this.#tellNone(layout.tracks.length === 0);
    if (this.popover.key === KEY) this.#refresh();
  }

  #tellNone(isNone: boolean) {
    this.none.hidden = !isNone;
    if (!isNone) return;
    const { tracks } = this.state;
    const { nTracks, nHidden } = this.state.layout;
    if (this.state.meta.n_events === 0) return this.none.replaceChildren(h("p", NO_EVENTS), whatToCapture());
    const why = tracks.filter
      ? `No track's name has “${tracks.filter}”.`
      : `All ${formatCount(nTracks)} tracks are hidden or pinned.`;
    const { signal } = this.state;
    const clear = tracks.filter ? [button("Clear the filter", () => this.setFilter(""), signal)] : [];
    const show = nHidden > 0 ? [button("Show all tracks", () => this.#showAll(), signal)] : [];
    this.none.replaceChildren(h("p", why), ...clear, ...show);
  }

  setFilter(filter: string) {
    this.state.board.change((tracks) => {
      tracks.filter = filter;
    });
  }

  #showAll() {
    this.state.board.change(showAll);
  }

  #count(): string {
    const { nShown, nTracks, nHosts, nHostsShown } = this.state.layout;
    // Of many hosts most lines are folded: how many hosts there are says more.
    if (nHostsShown < nHosts) return `${formatCount(nHostsShown)} of ${plural(nHosts, "host")}`;
    return `${formatCount(nShown)} of ${plural(nTracks, "track")}`;
  }

  #refresh() {
    const { element } = this.popover;
    const count = element.querySelector(".tl-count");
    if (count) count.textContent = this.#count();
    const hidden = element.querySelector(".tl-hidden");
    const focused = hidden?.contains(document.activeElement) ?? false;
    const key = (document.activeElement as HTMLElement | null)?.dataset.key;
    hidden?.replaceWith(this.#hidden());
    if (focused) this.popover.focus(key);
    const input = element.querySelector<HTMLInputElement>("input");
    if (input && input !== document.activeElement) input.value = this.state.tracks.filter;
  }

  #content(): Child[] {
    const words = { placeholder: "Filter by name", "aria-label": "Filter tracks by name" };
    const input = h("input", { type: "text", ...words, "data-first": true, spellcheck: "false" });
    input.value = this.state.tracks.filter;
    const keydown = (event: KeyboardEvent) => {
      if (event.key === "Enter") this.popover.close();
    };
    on(input, this.state.signal, { input: () => this.setFilter(input.value), keydown });
    const count = h("span.q.tl-count", { role: "status" }, this.#count());
    return [h("div.tl-pophead", input, count), this.#hidden()];
  }

  #hidden(): HTMLElement {
    const { board, layout } = this.state;
    const hidden = [...this.state.tracks.hidden];
    const box = h("div.tl-hidden");
    if (hidden.length === 0) {
      box.append(h("p.q", "None hidden. H on a track's name hides it, P pins it."));
    } else {
      box.append(h("div.sub", `${plural(layout.nHidden, "track")} hidden`));
      for (const key of hidden.slice(0, MOST_NAMES)) box.append(this.#hiddenRow(key));
      if (hidden.length > MOST_NAMES) box.append(h("p.q", `and ${hidden.length - MOST_NAMES} more`));
      box.append(button("Show all tracks", () => this.#showAll(), this.state.signal, { "data-key": "all" }));
    }
    const { n_lines: nLines = 0, n_counters: nCounters = 0, lines, counters = [] } = this.state.meta;
    const nLeftOut = Math.max(0, nLines - lines.length);
    if (nLeftOut > 0) box.append(h("p.q", `The ${formatCount(nLeftOut)} least busy lines are not here.`));
    if (nCounters > counters.length)
      box.append(h("p.q", `${formatCount(counters.length)} of ${formatCount(nCounters)} counters are here.`));
    const about = { "data-key": "reset", title: "Undo all pinning, hiding and folding" };
    if (board.isTouched) box.append(button("As at first", () => board.reset(), this.state.signal, about));
    return box;
  }

  #hiddenRow(key: TrackKey): HTMLElement {
    const { board, signal } = this.state;
    const unhide = () => board.change((tracks) => tracks.hidden.delete(key));
    const show = button("Show", unhide, signal, { "data-key": `show-${key}` });
    return h("div.tl-note", h("span.base.cut", this.#name(key)), show);
  }

  #name(key: TrackKey): string {
    const { meta, lineNames, board } = this.state;
    const id = Number(key.slice(1));
    if (key[0] === "h") return this.state.hosted.source?.names[id] ?? key;
    if (key[0] === "p") return meta.planes[id]?.name ?? key;
    return (key[0] === "c" ? board.counterNames[id] : lineNames[id]) ?? key;
  }
}

function whatToCapture(): HTMLElement {
  const code = (text: string) => h("code.nb", text);
  const magic = ["Capture again around the code to look at: ", code("%%tfprofile")];
  const before = [...magic, " on top of the cell that trains, or "];
  return h("p.q", ...before, code("with tfprof.profile():"), " around one step or more.");
}

const MOST_FLAGS = 200;
const TEXT_PX = 7;
const MOST_TEXT_PX = 90;
const LIST = "bookmarks";

/** Bookmarks as flags over the ruler with hairlines down the tracks, and the panel that lists, edits and deletes them. */
export class Flags {
  readonly element = h("div.tl-flags");
  #shown: readonly unknown[] = [];
  #listed: unknown = null;

  constructor(
    readonly state: TimelineState,
    readonly painter: Painter,
    readonly popover: Popover,
    readonly opener: HTMLElement,
  ) {
    this.element.style.top = `${RULER_TOP_PX}px`;
    on(this.element, state.signal, { click: (event) => this.#onClick(event) });
  }

  update() {
    const { state, painter } = this;
    const { bookmarks } = state.board;
    const { view } = state;
    const shown: readonly unknown[] = [view, bookmarks, painter.plotWidth, painter.labelWidth];
    if (shown.every((part, k) => part === this.#shown[k])) return;
    this.#shown = shown;
    const seen = bookmarks
      .map((bookmark, index) => ({ bookmark, index, span: spanOf(bookmark) }))
      .filter(({ span }) => span.t1 >= view.t0 && span.t0 <= view.t1)
      .slice(0, MOST_FLAGS);
    const xs = seen.map(({ span }) => xAt(view, painter.plotWidth, Math.max(view.t0, span.t0)));
    const boxes = seen.map(({ bookmark, index, span }, k) => {
      const room = Math.min(MOST_TEXT_PX, (xs[k + 1] ?? painter.plotWidth) - xs[k] - 12);
      return this.#flag(bookmark, index, span, xs[k], room);
    });
    this.element.replaceChildren(...boxes);
    painter.flags = boxes.map((box, k) => {
      const { length } = box.textContent ?? "";
      return { t0: xs[k], t1: xs[k] + Math.max(10, length * TEXT_PX) };
    });
  }

  #flag(bookmark: Bookmark, index: number, span: Span, x: number, room: number): HTMLElement {
    const { view } = this.state;
    const isRange = span.t1 > span.t0;
    const end = xAt(view, this.painter.plotWidth, Math.min(view.t1, span.t1));
    const text = bookmark.text.split("\n", 1)[0];
    const short = room < 3 * TEXT_PX ? "" : text.slice(0, Math.floor(room / TEXT_PX));
    const title = `${bookmark.text || "Bookmark"} · ${timeText(bookmark)}`;
    const flag = h("button.tl-flag", { type: "button", tabindex: -1, title, "data-index": index });
    flag.textContent = short && short.length < text.length ? `${short}…` : short;
    const transform = `translateX(${Math.round(x)}px)`;
    if (!isRange) return h("div.tl-mark", { style: { transform } }, flag);
    return h("div.tl-mark.range", { style: { transform, width: `${Math.max(1, Math.round(end - x))}px` } }, flag);
  }

  #onClick(event: Event) {
    const flag = (event.target as Element).closest<HTMLElement>("[data-index]");
    if (flag) this.open(Number(flag.dataset.index), flag);
  }

  /** Sets a bookmark at the selected slice, else at the range, else at the cursor, else in the middle; asks for its text. */
  add() {
    const { state } = this;
    const { events, meta, focus, range, board, view } = state;
    const moment = board.cursor ?? (view.t0 + view.t1) / 2;
    const span =
      focus >= 0 ? { t0: events.start[focus], t1: events.endOf(focus) } : (range ?? { t0: moment, t1: moment });
    const text = focus >= 0 ? meta.names[events.name[focus]] : "";
    this.open(board.addBookmark(span, text), this.opener);
  }

  walk(direction: 1 | -1) {
    const { board, view } = this.state;
    const index = nextBookmark(board.bookmarks, (view.t0 + view.t1) / 2, direction);
    if (index >= 0) this.goTo(index);
  }

  goTo(index: number) {
    const { state } = this;
    const span = spanOf(state.board.bookmarks[index]);
    const length = state.view.t1 - state.view.t0;
    if (span.t1 - span.t0 > length) state.setView(fitRange(span, state.bounds));
    else state.setView({ t0: (span.t0 + span.t1 - length) / 2, t1: (span.t0 + span.t1 + length) / 2 });
  }

  open(index: number, opener: HTMLElement = this.opener) {
    if (this.popover.key !== LIST) this.popover.toggle(LIST, opener, "Bookmarks", "dialog", ...this.#list());
    const input = this.popover.element.querySelector<HTMLInputElement>(`input[data-index="${index}"]`);
    input?.focus({ preventScroll: true });
    input?.select();
    input?.scrollIntoView?.({ block: "nearest" });
  }

  toggleList() {
    this.popover.toggle(LIST, this.opener, "Bookmarks", "dialog", ...this.#list());
  }

  refresh() {
    if (this.popover.key === LIST && this.#listed !== this.state.board.bookmarks) this.popover.fill(...this.#list());
  }

  #list(): Child[] {
    const { bookmarks } = this.state.board;
    this.#listed = bookmarks;
    const head = h("div.tl-pophead", h("b", plural(bookmarks.length, "bookmark")));
    const title = "At the selected slice, else the range, else the cursor (B)";
    head.append(button("Add", () => this.add(), this.state.signal, { "data-key": "add", title }));
    if (bookmarks.length > 0) return [head, ...bookmarks.map((bookmark, index) => this.#row(bookmark, index))];
    const help =
      "B sets one at the selected slice, the range or the pointer, with a note. They are saved with the notebook.";
    return [head, h("p.q", help)];
  }

  #row(bookmark: Bookmark, index: number): HTMLElement {
    const { board, signal } = this.state;
    const keys = { "data-index": index, "data-key": `note${index}` };
    const about = { placeholder: "Note", "aria-label": `Note of bookmark ${index + 1}`, maxlength: 2000 };
    const input = h("input", { type: "text", ...about, ...keys });
    input.value = bookmark.text;
    const save = () => {
      if (board.bookmarks[index] !== bookmark || input.value === bookmark.text) return;
      board.setBookmarks(board.bookmarks.with(index, { ...bookmark, text: input.value }));
    };
    const keydown = (event: KeyboardEvent) => {
      if (event.key !== "Enter") return;
      save();
      this.popover.close();
    };
    on(input, signal, { change: save, keydown });
    const goes = { class: "link", "data-key": `go${index}`, title: "Go there" };
    const go = button(timeText(bookmark), () => this.goTo(index), signal, goes);
    const deleteIt = () => {
      board.setBookmarks(board.bookmarks.filter((_, other) => other !== index));
      this.refresh();
    };
    const deletes = { "data-key": `delete${index}`, "aria-label": `Delete bookmark ${index + 1}` };
    const remove = button("Delete", deleteIt, signal, deletes);
    return h("div.tl-note", input, go, remove);
  }
}

function timeText({ start_ns, end_ns }: Bookmark): string {
  const start = formatInstant(start_ns * 1000, 1e6);
  return end_ns > start_ns ? `${start} · ${formatTime((end_ns - start_ns) * 1000)} long` : start;
}
