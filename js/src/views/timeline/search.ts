/** The search field: texts and patterns, its matches in a list and one by one. */

import { atEnd } from "../../data/widget";
import { matchNames, NO_QUERY, nextMarked, placeOf, type Query } from "../../model/search";
import { PLACE_SECTIONS } from "../../model/source";
import { formatCount, plural } from "../../model/text";
import { button, h, on, setAria, titledAlike, toggle } from "../../ui/dom";
import type { TimelineState } from "./state";

const WAIT_MS = 120;
const MOST_KEPT = 20;

export class SearchBox {
  readonly element: HTMLElement;
  readonly #input: HTMLInputElement;
  readonly #whole: HTMLButtonElement;
  readonly #regex: HTMLButtonElement;
  readonly #only: HTMLButtonElement;
  readonly #count: HTMLElement;
  readonly #walk: HTMLElement;
  /** The match that was gone to, -1 for none. */
  #place = -1;
  /** Another part asked for one whole name; what is typed next is text again. */
  #isByName = false;
  #isAsked = false;
  #about = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #kept: string[] = [];
  #keptAt = -1;
  readonly #matcher: PatternMatcher;
  /** Where to go when the search has its answer, 0 for nowhere. */
  #goesOn: 1 | -1 | 0 = 0;

  constructor(
    readonly state: TimelineState,
    readonly onLeave: () => void,
  ) {
    const { signal } = state;
    this.#matcher = new PatternMatcher(signal);
    this.#input = h("input.tl-search", {
      ...{ type: "text", placeholder: "Find op, layer  /", spellcheck: "false", autocomplete: "off" },
      "aria-label": "Find slices by op, layer, source line or name",
      title: "Enter: next · Shift + Enter: previous · ↑ ↓: earlier searches · Esc: clear",
    });
    const flip = (text: string, title: string, onFlip: (isOn: boolean) => void, kind = "tl-regex") =>
      toggle(text, false, onFlip, signal, { ...titledAlike(title), class: kind });
    this.#whole = flip("=", "Whole names", (isOn) => this.#choose(isOn, this.#regex), "tl-whole");
    this.#regex = flip(".*", "Regular expression", (isOn) => this.#choose(isOn, this.#whole));
    const showOnly = (isOn: boolean) => {
      state.finding.isOnlyFound = isOn;
      state.invalidate();
    };
    this.#only = flip("only", "Only matches: dim all other slices", showOnly, "tl-only");
    this.#count = h("span.q.tl-count", { role: "status" });
    const step = (text: string, label: string, direction: 1 | -1) =>
      button(text, () => this.go(direction), signal, titledAlike(label));
    const walk = [step("◂", "Previous match  Shift + Enter", -1), step("▸", "Next match  Enter", 1)];
    this.#walk = h("span.tl-walk", this.#count, ...walk, this.#only);
    this.#walk.hidden = true;
    const field = h("span.tl-field", this.#input, this.#whole, this.#regex);
    this.element = h("span.tl-find", { role: "search" }, this.#walk, field);
    on(this.#input, signal, {
      input: () => this.#onInput(),
      change: () => this.#keep(),
      keydown: (event) => this.#onKey(event),
    });
    atEnd(signal, () => clearTimeout(this.#timer));
    state.finding.onName = (name) => this.#findName(name);
  }

  focus() {
    this.#input.focus();
    this.#input.select();
  }

  /** Forgets the search; false when there was none. */
  clear(): boolean {
    if (this.#input.value === "") return false;
    this.#keep();
    this.#input.value = "";
    this.#forgetName();
    this.#search();
    return true;
  }

  refresh() {
    if (this.#input.value === "") return;
    const place = this.#place;
    this.#search();
    this.#place = place;
  }

  update() {
    if (this.#walk.hidden || this.#matcher.isRunning || this.#input.hasAttribute("aria-invalid")) return;
    const { events, found, focus } = this.state;
    const about = `${focus}|${found?.n}|${found?.isUpToDate}|${events.generation}`;
    if (about !== this.#about) this.#say();
    this.#about = about;
  }

  /** Selects the next (1) or previous (-1) match and brings it into the window; false without a search. */
  go(direction: 1 | -1): boolean {
    const { state } = this;
    clearTimeout(this.#timer);
    if (this.#timer !== undefined) this.#search();
    this.#keep();
    if (this.#matcher.isRunning) {
      this.#goesOn = direction;
      return true;
    }
    if (!state.found) return this.#input.value !== "";
    const { events, focus, found, view } = state;
    found.advance();
    const from = focus >= 0 ? { time: events.start[focus], position: focus } : { time: view.t0, position: -1 };
    const event = nextMarked(events, found, from, direction);
    if (event < 0) return true;
    this.#place = event;
    state.select(event);
    state.show(event);
    this.#say();
    return true;
  }

  #onKey(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
    else if (event.key === "ArrowUp") this.#recall(1);
    else if (event.key === "ArrowDown") this.#recall(-1);
    else if (event.key === "Escape") {
      if (!this.clear()) this.onLeave();
    } else return;
    event.preventDefault();
  }

  #findName(name: number) {
    this.#input.value = this.state.meta.names[name];
    setAria(this.#whole, "pressed", true);
    setAria(this.#regex, "pressed", false);
    this.#isByName = true;
    this.#keep();
    this.#search();
    this.#place = this.state.focus;
    this.#say();
  }

  #keep() {
    const text = this.#input.value;
    if (text === "" || this.#kept[0] === text) return;
    this.#kept = [text, ...this.#kept.filter((other) => other !== text)].slice(0, MOST_KEPT);
    this.#keptAt = 0;
  }

  #recall(direction: 1 | -1) {
    if (this.#kept.length === 0) return;
    const isNew = this.#input.value !== this.#kept[this.#keptAt];
    const next = isNew ? (direction === 1 ? 0 : -1) : this.#keptAt + direction;
    this.#keptAt = Math.max(-1, Math.min(this.#kept.length - 1, next));
    this.#input.value = this.#kept[this.#keptAt] ?? "";
    this.#search();
  }

  #choose(isOn: boolean, other: HTMLButtonElement) {
    this.#isByName = false;
    if (isOn) setAria(other, "pressed", false);
    this.#search();
  }

  #onInput() {
    this.#forgetName();
    this.#askForPlaces();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), WAIT_MS);
  }

  /** The layers and lines of ops may come later; then the search is over them too. */
  #askForPlaces() {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const { data, signal } = this.state.trace;
    const refresh = () => signal.aborted || this.refresh();
    void data.ready(PLACE_SECTIONS).then(refresh, () => {});
  }

  #forgetName() {
    if (this.#isByName) setAria(this.#whole, "pressed", false);
    this.#isByName = false;
  }

  #search() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#place = -1;
    const text = this.#input.value;
    this.#walk.hidden = text === "";
    this.#matcher.cancel();
    try {
      const isRegex = isPressed(this.#regex) && text !== "";
      if (isRegex) this.#searchPattern(text);
      else this.#take({ text, isRegex, isWhole: isPressed(this.#whole) });
    } catch (error) {
      this.#refuse("not a regular expression", String(error));
    }
  }

  #searchPattern(text: string) {
    const done = (flags: Uint8Array | null) => {
      const direction = this.#goesOn;
      this.#goesOn = 0;
      if (!flags) return this.#refuse("takes too long", "This regular expression tries too many ways to match a name");
      this.#take({ text, isRegex: true }, flags);
      if (direction !== 0) this.go(direction);
    };
    this.#matcher.run(this.state.texts.texts, text, done);
    if (this.#matcher.isRunning) this.#tell("searching", "");
  }

  #take(query: Query, flags?: Uint8Array) {
    this.state.search(query, flags);
    this.#about = "";
    this.#input.removeAttribute("aria-invalid");
    this.#say();
  }

  #refuse(text: string, title: string) {
    this.#goesOn = 0;
    this.state.search(NO_QUERY);
    setAria(this.#input, "invalid", true);
    this.#tell(text, title);
  }

  /** "3 of 40 slices"; of matches that are not here yet, how many are. */
  #say() {
    const { events, found, nFound, isCounted, focus, foundIds } = this.state;
    if (nFound === 0 && isCounted) return this.#tell("no match", "");
    const here = found?.n ?? 0;
    const ofNames = `${plural(nFound, "slice")} of ${plural(foundIds.length, "name")}`;
    const isWhole = events.isComplete && found?.isUpToDate === true;
    if (isWhole && found && this.#place >= 0 && this.#place === focus && found.has(focus)) {
      this.#tell(`${formatCount(placeOf(events, found, focus) + 1)} of ${plural(here, "slice")}`, ofNames);
    } else if (here < nFound) {
      const missing = `The other ${formatCount(nFound - here)} are events that are not here; next and previous leave them out`;
      this.#tell(`${formatCount(here)} of ${isCounted ? "" : "at least "}${plural(nFound, "slice")} here`, missing);
    } else if (!isCounted) {
      this.#tell(`${plural(here, "slice")} here`, "How many there are in all is not known before all events are here");
    } else this.#tell(plural(nFound, "slice"), ofNames);
  }

  #tell(text: string, title: string) {
    if (this.#count.textContent !== text) this.#count.textContent = text;
    if (this.#count.title !== title) this.#count.title = title;
  }
}

const isPressed = (element: HTMLElement) => element.getAttribute("aria-pressed") === "true";

const SOURCE = `onmessage = ({ data: { source, names } }) => {
  const pattern = new RegExp(source, "i");
  const flags = Uint8Array.from(names, (name) => (pattern.test(name) ? 1 : 0));
  postMessage(flags, [flags.buffer]);
};`;
const LIMIT_MS = 2000;

/** Matches in a worker with a time limit: some patterns take longer than a reader lives. */
export class PatternMatcher {
  #worker: Worker | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #url = "";

  constructor(signal: AbortSignal) {
    atEnd(signal, () => this.cancel());
  }

  /**
   * One flag per name to `done`, null when it takes too long; a later call takes its place. Where a page allows no worker it
   * happens at once, without a limit. Throws a SyntaxError for a pattern that is none.
   */
  run(names: readonly string[], source: string, done: (flags: Uint8Array | null) => void) {
    this.cancel();
    const here = () => done(matchNames(names, { text: source, isRegex: true }));
    new RegExp(source, "i");
    const worker = this.#start();
    if (!worker) return here();
    const end = (act: () => void) => {
      if (worker !== this.#worker) return;
      this.cancel();
      act();
    };
    worker.onmessage = ({ data }: MessageEvent<Uint8Array>) => end(() => done(data));
    worker.onerror = () => end(here);
    this.#timer = setTimeout(() => end(() => done(null)), LIMIT_MS);
    worker.postMessage({ source, names });
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = null;
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = "";
  }

  #start(): Worker | null {
    if (typeof Worker === "undefined") return null;
    try {
      this.#url = URL.createObjectURL(new Blob([SOURCE], { type: "text/javascript" }));
      this.#worker = new Worker(this.#url);
    } catch {
      this.cancel();
    }
    return this.#worker;
  }
}
