/** Turns the slice under the pointer into a small frame beside it. */
import { formatInstant, formatLength, formatTime } from "../../model/text/format";
import { shortName } from "../../model/text/labels";
import { stepWords } from "../../model/time/span_text";
import { stepAt } from "../../model/time/steps";
import { CATEGORIES, CATEGORY_LABELS } from "../../model/wire/categories";
import { CanvasTip } from "./canvas_tip";
import type { PieceHit } from "./hit";
import type { TimelineState } from "./state";

export class Tooltip {
  /** No slice has more to say than fits into that. */
  readonly #tip = new CanvasTip({ width: 560, height: 120 });
  #event = -1;

  constructor(readonly state: TimelineState) {}

  get element(): HTMLElement {
    return this.#tip.element;
  }

  /** Shows what is under the pointer beside a point of the canvas: an event (-1 for none), else a piece of a host's step. */
  show(event: number, x: number, y: number, width: number, height: number, piece: PieceHit | null = null) {
    const isNew = event !== this.#event;
    this.#event = event;
    if (event >= 0 && isNew) this.#sayEvent(event);
    else if (event < 0 && piece) this.#sayPiece(piece);
    if (event < 0 && piece === null) this.#tip.hide();
    else this.#tip.showAt(x, y, { width, height });
  }

  #sayPiece({ host, piece, step }: PieceHit) {
    const { steps, hosted, meta } = this.state;
    const { start, end, category } = hosted.strips[host].piece;
    this.#tip.say(`${hosted.source?.names[host] ?? ""} · ${stepWords(meta.step_names, step)}`, [
      `${CATEGORY_LABELS[CATEGORIES[category[piece]]]} ${formatTime(end[piece] - start[piece])}`,
      `at ${formatInstant(start[piece], 1e6)}`,
      `of a step of ${formatTime(steps.end[step] - steps.start[step])}`,
    ]);
  }

  #sayEvent(event: number) {
    const { events, meta, steps, lineNames } = this.state;
    const duration = events.duration[event];
    const step = events.step[event] >= 0 ? events.step[event] : stepAt(steps, events.start[event]);
    const name = meta.names[events.name[event]];
    const op = events.launcherOf(event, meta.names);
    this.#tip.say(op < 0 ? name : meta.names[op], [
      op < 0 ? "" : shortName(name),
      formatLength(duration),
      events.self[event] < duration ? `self ${formatTime(events.self[event])}` : "",
      `at ${formatInstant(events.start[event], 1e6)}`,
      step >= 0 ? stepWords(meta.step_names, step) : "",
      lineNames[events.lineOf(event)],
    ]);
  }
}
