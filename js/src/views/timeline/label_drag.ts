/** Turns a drag in the label column into a new place for the track, with a line where it will be. */

import { TRACKS_TOP_PX } from "../../draw/frame";
import { contentY, screenY } from "../../model/tracks/pinning";
import { type Track, trackAt } from "../../model/tracks/tracks";
import { on, unspoken } from "../../ui/dom";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";
import { moveTrack, siblingsOf } from "./track_actions";

/** A press that moves less is a click. */
const CLICK_PX = 4;

export function listenToLabelDrags(
  places: readonly HTMLElement[],
  area: HTMLElement,
  state: TimelineState,
  painter: Painter,
  signal: AbortSignal,
) {
  const line = unspoken("div.tl-drop");
  line.hidden = true;
  area.append(line);
  let press: { track: Track; y: number; id: number; isDrag: boolean } | null = null;
  let index = -1;
  const yOf = (event: PointerEvent) => event.clientY - area.getBoundingClientRect().top;
  const onDown = (event: PointerEvent) => {
    const element = (event.target as Element).closest<HTMLElement>("[data-key]");
    const track = element && state.layout.byKey.get(element.dataset.key ?? "");
    if (event.button !== 0 || !track || (event.target as Element).closest("button")) return;
    press = { track, y: yOf(event), id: event.pointerId, isDrag: false };
  };
  const onMove = (event: PointerEvent) => {
    if (!press || event.pointerId !== press.id) return;
    const y = yOf(event);
    if (!press.isDrag && Math.abs(y - press.y) < CLICK_PX) return;
    if (!press.isDrag) area.setPointerCapture(event.pointerId);
    press.isDrag = true;
    const place = placeAt(state, painter, press.track, y);
    index = place?.index ?? -1;
    line.hidden = place === null;
    if (place) line.style.transform = `translateY(${place.y}px)`;
  };
  const onUp = (event: PointerEvent) => {
    const done = press;
    press = null;
    line.hidden = true;
    if (!done?.isDrag) return;
    if (event.type === "pointerup" && index >= 0) moveTrack(state, done.track, index);
  };
  for (const place of places) on(place, signal, { pointerdown: onDown });
  on(area, signal, { pointermove: onMove, pointerup: onUp, pointercancel: onUp });
}

/** Where a track would go that is dropped at a height: its index among the others, and the height of the line. */
function placeAt(state: TimelineState, painter: Painter, track: Track, y: number): { index: number; y: number } | null {
  const { layout, scrollTop, tracksHeight } = state;
  const others = siblingsOf(state, track).filter((key) => key !== track.key);
  if (others.length === 0) return null;
  const isDocked = track.kind === "counter" && track.isPinned;
  const top = isDocked ? painter.tracksBottom : TRACKS_TOP_PX;
  const content = isDocked ? y - top : contentY(layout, scrollTop, tracksHeight, y - top);
  const boxes = others.map((key) => boxOf(state, key));
  let index = boxes.findIndex((box) => content < (box.y + box.bottom) / 2);
  if (index < 0) index = boxes.length;
  const edge = index < boxes.length ? boxes[index].y : boxes[boxes.length - 1].bottom;
  return { index, y: top + (isDocked ? edge : screenY(layout, scrollTop, tracksHeight, edge)) };
}

/** From where to where a track reaches, with what belongs to a plane. */
function boxOf(state: TimelineState, key: string): { y: number; bottom: number } {
  const { layout } = state;
  const track = layout.byKey.get(key) as Track;
  let bottom = track.y + track.height;
  if (track.kind === "plane" || track.kind === "host") {
    const ends = (next: Track) => next.kind === "host" || next.kind === "group" || next.kind === track.kind;
    for (let next = trackAt(layout, bottom); next && !ends(next); ) {
      bottom = next.y + next.height;
      next = trackAt(layout, bottom);
    }
  }
  return { y: track.y, bottom };
}
