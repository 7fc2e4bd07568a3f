/** Bookmarks -> flags over the ruler with hairlines down the tracks, and the panel that lists, edits and deletes them. */

import { RULER_TOP_PX } from "../../draw/frame";
import { formatInstant, formatTime, plural } from "../../model/text/format";
import { type Bookmark, nextBookmark, spanOf } from "../../model/time/bookmarks";
import { fitRange, type Span, xAt } from "../../model/time/viewport";
import { button, type Child, h, on } from "../../ui/dom";
import type { Painter } from "./paint";
import type { Popover } from "./popover";
import type { TimelineState } from "./state";

/** Flags drawn at once; the list has all. */
const MOST_FLAGS = 200;
const TEXT_PX = 7;
const MOST_TEXT_PX = 90;
const LIST = "bookmarks";

export class Flags {
  readonly element = h("div.tl-flags");
  #shown: readonly unknown[] = [];
  /** What the open list shows. */
  #listed: unknown = null;

  constructor(
    readonly state: TimelineState,
    readonly painter: Painter,
    readonly popover: Popover,
    /** The button of the list. */
    readonly opener: HTMLElement,
    readonly signal: AbortSignal,
  ) {
    this.element.style.top = `${RULER_TOP_PX}px`;
    on(this.element, signal, { click: (event) => this.#onClick(event) });
  }

  /** Brings the flags to where the view has them. */
  update() {
    const { state, painter } = this;
    const { bookmarks } = state.board;
    const { view } = state;
    const shown: readonly unknown[] = [view, bookmarks, painter.plotWidth, painter.labelWidth];
    if (shown.every((part, k) => part === this.#shown[k])) return;
    this.#shown = shown;
    this.element.style.left = `${painter.labelWidth}px`;
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

  /** To the next or previous one from the middle of the window. */
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

  /** Opens the list, with one of them ready to be written. */
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

  /** Shows what changed while the list is open. */
  refresh() {
    if (this.popover.key === LIST && this.#listed !== this.state.board.bookmarks) this.popover.fill(...this.#list());
  }

  #list(): Child[] {
    const { bookmarks } = this.state.board;
    this.#listed = bookmarks;
    const head = h("div.tl-pophead", h("b", plural(bookmarks.length, "bookmark")));
    const add = button("Add", () => this.add(), this.signal, {
      "data-key": "add",
      title: "At the selected slice, else the range, else the cursor (B)",
    });
    head.append(add);
    if (bookmarks.length > 0) return [head, ...bookmarks.map((bookmark, index) => this.#row(bookmark, index))];
    const help =
      "B sets one at the selected slice, the range or the pointer, with a note. They are saved with the notebook.";
    return [head, h("p.q", help)];
  }

  #row(bookmark: Bookmark, index: number): HTMLElement {
    const { board } = this.state;
    const input = h("input", {
      type: "text",
      placeholder: "Note",
      "aria-label": `Note of bookmark ${index + 1}`,
      maxlength: 2000,
      "data-index": index,
      "data-key": `note${index}`,
    });
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
    on(input, this.signal, { change: save, keydown });
    const at = timeText(bookmark);
    const go = button(at, () => this.goTo(index), this.signal, {
      class: "link",
      "data-key": `go${index}`,
      title: "Go there",
    });
    const remove = button(
      "Delete",
      () => {
        board.setBookmarks(board.bookmarks.filter((_, other) => other !== index));
        this.refresh();
      },
      this.signal,
      { "data-key": `delete${index}`, "aria-label": `Delete bookmark ${index + 1}` },
    );
    return h("div.tl-note", input, go, remove);
  }
}

/** "487.968 ms", of a range "487.968 ms · 13.5 ms long". */
function timeText({ start_ns, end_ns }: Bookmark): string {
  const start = formatInstant(start_ns * 1000, 1e6);
  return end_ns > start_ns ? `${start} · ${formatTime((end_ns - start_ns) * 1000)} long` : start;
}
