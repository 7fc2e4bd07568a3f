/** What the page offers beyond elements: frames, sizes and the width of text. */

import { atEnd, guarded } from "../host/failures";

/** Calls `fn` at most once a frame, however often it is asked to. */
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
const UNSEEN_MS = 300;
/** To add up more rows of a table takes longer than a frame has. */
export const MANY_ROWS = 100_000;

/**
 * As `inFrame`, at once at first and then at most every `PACE_MS`, or where `fn` is slow when the calls rest; the last of
 * many calls is never lost.
 *
 * @param isSlow whether `fn` is known to be slow, or to cause what is
 */
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

/** Resolves when the page has had the time to draw what is in it now; soon where nothing is drawn, as in a hidden tab. */
export function drawn(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, UNSEEN_MS);
    const end = () => {
      clearTimeout(timer);
      setTimeout(resolve);
    };
    requestAnimationFrame(() => requestAnimationFrame(end));
  });
}

/** Calls `onSize` with the content box of an element, first when it has one and then whenever it changes. */
export function watchSize(
  element: Element,
  onSize: (width: number, height: number) => unknown,
  signal: AbortSignal,
): void {
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

/** About the width of a character of the table's font, where there is no canvas to measure with. */
const CHARACTER_PX = 6.4;

/** A function for the width in px of a character in the element's font. */
function characterWidth(element: HTMLElement): (character: string) => number {
  let context: CanvasRenderingContext2D | null = null;
  if (typeof CanvasRenderingContext2D !== "undefined") context = document.createElement("canvas").getContext("2d");
  if (context === null) return () => CHARACTER_PX;
  const style = getComputedStyle(element);
  context.font = `${style.fontSize} ${style.fontFamily}`;
  const measure = context;
  const widths = new Map<string, number>();
  return (character) => {
    let width = widths.get(character);
    if (width === undefined) {
      width = measure.measureText(character).width;
      widths.set(character, width);
    }
    return width;
  };
}

/** A function for the width in px of a text in the element's font. Adds up characters, since measuring whole texts is slow. */
export function textWidth(element: HTMLElement): (text: string) => number {
  const widthOf = characterWidth(element);
  return (text) => {
    let width = 0;
    for (const character of text) width += widthOf(character);
    return width;
  };
}

/** A predicate: does a text of the element's font fit into a width? */
export function textFits(element: HTMLElement, widthPx: number): (text: string) => boolean {
  const widthOf = characterWidth(element);
  return (text) => {
    let width = 0;
    for (const character of text) {
      width += widthOf(character);
      if (width > widthPx) return false;
    }
    return true;
  };
}
