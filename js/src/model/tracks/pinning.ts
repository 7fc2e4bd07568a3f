/** Turns heights on the screen into heights of the content and back, where pinned tracks stay and the others scroll. */
import type { TrackLayout } from "./tracks";

/** Pinned tracks take at most this share of the room; what is more scrolls. */
const PINNED_RATIO = 0.6;
/** The name of a track, and a line below it. */
const NAME_PX = 32;

/** How the pinned tracks stay while the others scroll: `shown` px of them, moved up by `scroll`. */
export interface Pinning {
  readonly shown: number;
  readonly scroll: number;
}

/** Pinned tracks that need too much room scroll first, then the others go under them. */
export function pinning(layout: TrackLayout, scrollTop: number, height: number): Pinning {
  const shown = Math.min(layout.pinnedHeight, Math.floor(height * PINNED_RATIO));
  return { shown, scroll: Math.min(scrollTop, layout.pinnedHeight - shown) };
}

/** A height in the visible part -> in the content. */
export function contentY(layout: TrackLayout, scrollTop: number, height: number, y: number): number {
  const { shown, scroll } = pinning(layout, scrollTop, height);
  return y < shown ? y + scroll : y + scrollTop;
}

/** A height in the content -> in the visible part. */
export function screenY(layout: TrackLayout, scrollTop: number, height: number, y: number): number {
  return y < layout.pinnedHeight ? y - pinning(layout, scrollTop, height).scroll : y - scrollTop;
}

/** As much of a room as the tracks take at first, so that what lies below cuts no name of one. */
export function uncutHeight({ tracks }: TrackLayout, room: number): number {
  const last = tracks.find(({ y, height }) => y < room && y + height > room);
  return last && room - last.y < Math.min(last.height, NAME_PX) ? last.y : room;
}

/** Whether a height of the content is in sight, not under pinned tracks. */
export function isInSight(
  layout: TrackLayout,
  scrollTop: number,
  height: number,
  y: number,
  ownHeight: number,
): boolean {
  if (y < layout.pinnedHeight) return true;
  return y >= scrollTop + pinning(layout, scrollTop, height).shown && y + ownHeight <= scrollTop + height;
}
