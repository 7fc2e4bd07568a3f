/** Turns the slice under the pointer into a small frame beside it. */
import { formatInstant, formatLength, formatTime } from "../../model/text/format";
import { stepAt } from "../../model/time/steps";
import { CATEGORIES, CATEGORY_LABELS } from "../../model/wire/categories";
import { h } from "../../ui/dom";
import type { PieceHit } from "./hit";
import type { TimelineState } from "./state";

const OFFSET_PX = 12;
/** It is never larger. */
const MOST_PX = { width: 560, height: 120 };

export class Tooltip {
  readonly element = h("div", { class: "tl-tip", "aria-hidden": "true" });
  readonly #name = h("b", {});
  readonly #figures = h("div", { class: "q" });
  #event = -1;
  #box: { readonly width: number; readonly height: number } | null = null;

  constructor(readonly state: TimelineState) {
    this.element.append(this.#name, this.#figures);
    this.element.hidden = true;
  }

  /** Shows what is under the pointer beside a point of the canvas: an event (-1 for none), else a piece of a host's step. */
  show(event: number, x: number, y: number, width: number, height: number, piece: PieceHit | null = null) {
    this.element.hidden = event < 0 && piece === null;
    if (event < 0 && piece) this.#fillPiece(piece);
    if (event < 0 && piece === null) {
      this.#event = -1;
      return;
    }
    if (event >= 0 && event !== this.#event) this.#fill(event);
    const box = this.#sizeNear(x, y, width, height);
    const left = x + OFFSET_PX + box.width > width ? Math.max(0, x - OFFSET_PX - box.width) : x + OFFSET_PX;
    const top = y + OFFSET_PX + box.height > height ? y - OFFSET_PX - box.height : y + OFFSET_PX;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  /** Measured once an event and only near an edge: to measure makes the page lay out. */
  #sizeNear(x: number, y: number, width: number, height: number) {
    if (x + OFFSET_PX + MOST_PX.width <= width && y + OFFSET_PX + MOST_PX.height <= height) return MOST_PX;
    this.#box ??= this.element.getBoundingClientRect();
    return this.#box;
  }

  #fillPiece({ host, piece, step }: PieceHit) {
    this.#box = null;
    this.#event = -1;
    const { steps, hosted } = this.state;
    const { start, end, category } = hosted.strips[host].piece;
    const name = CATEGORY_LABELS[CATEGORIES[category[piece]]];
    this.#name.textContent = `${hosted.source?.names[host] ?? ""} · step ${steps.names[step]}`;
    this.#figures.textContent = [
      `${name} ${formatTime(end[piece] - start[piece])}`,
      `at ${formatInstant(start[piece], 1e6)}`,
      `of a step of ${formatTime(steps.end[step] - steps.start[step])}`,
    ].join(" · ");
  }

  #fill(event: number) {
    this.#box = null;
    const { events, meta, steps, lineNames } = this.state;
    this.#event = event;
    this.#name.textContent = meta.names[events.name[event]];
    const duration = events.duration[event];
    const step = events.step[event] >= 0 ? events.step[event] : stepAt(steps, events.start[event]);
    this.#figures.textContent = [
      formatLength(duration),
      events.self[event] < duration ? `self ${formatTime(events.self[event])}` : "",
      `at ${formatInstant(events.start[event], 1e6)}`,
      step >= 0 ? `step ${steps.names[step]}` : "",
      lineNames[events.lineOf(event)],
    ]
      .filter(Boolean)
      .join(" · ");
  }
}
