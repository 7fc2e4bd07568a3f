/** Turns the selected slice into a neighbour of it: on its row, in the nesting, of the same op, or along an arrow. */
import { childrenOf, parentOf } from "../../model/events/events";
import type { Direction } from "../../model/events/flows";
import { firstFrom, lastBefore } from "../../model/events/row_search";
import { nextMarked } from "../../model/events/search";
import type { TimelineState } from "./state";

export function goTo(state: TimelineState, event: number) {
  if (event < 0) return;
  state.select(event);
  state.show(event);
}

/** The slice before or after of the same op; without a selected slice the nearest of the selected op. */
export function toSameOp(state: TimelineState, direction: 1 | -1) {
  const { events, focus, selected } = state;
  if (!selected) return;
  selected.advance();
  const from = focus >= 0 ? { time: events.start[focus], position: focus } : { time: state.view.t0, position: -1 };
  goTo(state, nextMarked(events, selected, from, direction));
}

/** The slice before or after on the same row. */
export function alongRow(state: TimelineState, direction: 1 | -1) {
  const { events, focus } = state;
  if (focus < 0) return;
  const row = events.rowOf(focus);
  const next = focus + direction;
  if (next >= 0 && next < events.n && events.has(next) && events.rowOf(next) === row) goTo(state, next);
  else if (direction === 1) goTo(state, firstFrom(events, row, events.start[focus] + 1));
  else goTo(state, lastBefore(events, row, events.start[focus]));
}

export function toEnclosing(state: TimelineState) {
  if (state.focus >= 0) goTo(state, parentOf(state.events, state.focus));
}

export function toFirstInside(state: TimelineState) {
  if (state.focus < 0) return;
  const [low, high] = childrenOf(state.events, state.focus);
  if (high > low) goTo(state, low);
}

/** To what made the selected slice start ("up"), or to what it made start. */
export function alongFlow(state: TimelineState, direction: Direction) {
  goTo(state, state.finding.follow(state.focus, direction));
}
