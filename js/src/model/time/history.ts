/** Turns the views that the reader comes from into a path to walk back and forward. */
import type { Span } from "./viewport";

/** Views kept; the oldest go first. */
const MOST = 100;

/**
 * Views like those of a browser. A drag or a held key changes the view with every frame: what the reader rested at counts,
 * so a view becomes part of the path when nothing changed it for a while, or when the path is walked.
 */
export class ViewHistory {
  readonly #back: Span[] = [];
  #forward: Span[] = [];

  constructor(public current: Span) {}

  get canGoBack() {
    return this.#back.length > 0;
  }
  get canGoForward() {
    return this.#forward.length > 0;
  }

  /** The reader rests at a view. */
  rest(view: Span) {
    if (isSame(view, this.current)) return;
    this.#back.push(this.current);
    if (this.#back.length > MOST) this.#back.shift();
    this.#forward = [];
    this.current = view;
  }

  /** The view to show, null when there is none; `view` is what is on the screen now. */
  back(view: Span): Span | null {
    this.rest(view);
    const to = this.#back.pop();
    if (!to) return null;
    this.#forward.push(this.current);
    this.current = to;
    return to;
  }

  forward(view: Span): Span | null {
    this.rest(view);
    const to = this.#forward.pop();
    if (!to) return null;
    this.#back.push(this.current);
    this.current = to;
    return to;
  }
}

/** A view moved by less than a thousandth of itself is the same to a reader. */
function isSame(a: Span, b: Span): boolean {
  const slack = (a.t1 - a.t0) / 1000;
  return Math.abs(a.t0 - b.t0) <= slack && Math.abs(a.t1 - b.t1) <= slack;
}
