/** The toolbar of the timeline: what is on screen, how it is shown, finding, tracks, bookmarks, and what else there is. */
import { button, type Child, h } from "../../ui/dom";
import { KEY_HELP } from "./keys";
import type { Popover } from "./popover";

const kbd = (name: string) => h("kbd", name);

export interface ToolbarActions {
  readonly help: () => void;
  readonly fit: () => void;
  readonly tracks: () => void;
  readonly bookmarks: () => void;
}

/** What is on screen, in words. */
export interface OnScreen {
  readonly from: string;
  readonly to: string;
  /** Length of the capture. */
  readonly whole: string;
  /** Of these times. */
  readonly unit: string;
  /** "N of M events". */
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

  /** Says how many bookmarks there are. */
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

/** The list of all keys over the tracks. */
export class Help {
  readonly element = h("div.tl-help", { role: "dialog", "aria-label": "Keys of the timeline" });
  readonly #close: HTMLButtonElement;

  constructor(
    readonly onClose: () => void,
    signal: AbortSignal,
  ) {
    const groups = KEY_HELP.flatMap(([title, rows]) => [
      h("b", title),
      ...rows.map(([keys, what]) => h("div", h("span", kbd(keys)), h("span", what))),
    ]);
    this.#close = button("Close", () => this.toggle(), signal);
    const title = h("b", "Keys, while the timeline has the focus");
    const head = h("div.tl-pophead", title, this.#close);
    this.element.append(head, h("div.tl-keys", ...groups));
    this.element.hidden = true;
  }

  get isOpen() {
    return !this.element.hidden;
  }

  toggle() {
    this.element.hidden = !this.element.hidden;
    if (this.isOpen) this.#close.focus({ preventScroll: true });
    else this.onClose();
  }
}
