/** Turns the slice under the pointer into a small frame beside it. */
import { formatInstant, formatLength, formatTime } from "../../model/text/format";
import { shortName } from "../../model/text/labels";
import { stepWords } from "../../model/time/span_text";
import { stepAt } from "../../model/time/steps";
import { CanvasTip } from "./canvas_tip";
import type { Part } from "./part_hit";
import type { TimelineState } from "./state";

export class Tooltip {
  /** No slice has more to say than fits into that. */
  readonly #tip = new CanvasTip({ width: 560, height: 120 });
  #event = -1;

  constructor(readonly state: TimelineState) {}

  get element(): HTMLElement {
    return this.#tip.element;
  }

  /** Shows what is under the pointer beside a point of the canvas: an event (-1 for none), else a part. */
  show(event: number, x: number, y: number, width: number, height: number, part: Part | null = null) {
    const isNew = event !== this.#event;
    this.#event = event;
    if (event >= 0 && isNew) this.#sayEvent(event);
    else if (event < 0 && part) this.#tip.say(part.title, part.figures);
    if (event < 0 && part === null) this.#tip.hide();
    else this.#tip.showAt(x, y, { width, height });
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
