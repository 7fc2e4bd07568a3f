/** What can be done with a track, by menu and key: pin, hide, fold, open. */
import { keyOf, MOST_DOCKED, type TrackKey, togglePin } from "../../model/tracks/arrangement";
import { setHostOpen } from "../../model/tracks/host_tracks";
import { type LineTrack, setCountersOpen, type Track, type TrackLayout } from "../../model/tracks/tracks";
import type { TimelineState } from "./state";

export interface TrackAction {
  readonly text: string;
  /** Key cap, "" for none. */
  readonly key: string;
  readonly run: () => void;
  /** Why it cannot be done now, "" when it can. */
  readonly obstacle: string;
}

/** Every track on the screen from top to bottom, the pinned counters last. */
export function allTracks(layout: TrackLayout): Track[] {
  return [...layout.tracks, ...layout.dock];
}

export function pin(state: TimelineState, track: Track) {
  if (track.kind === "line" || track.kind === "counter")
    state.board.change((tracks) => void togglePin(tracks, track.key));
}

export function hide(state: TimelineState, track: Track) {
  if (track.kind === "group" || track.kind === "fold") {
    const kind = track.kind === "group" ? "counter" : "line";
    state.board.change((tracks) => {
      for (const id of track.lines) tracks.hidden.add(keyOf(kind, id));
    });
  } else state.board.change((tracks) => tracks.hidden.add(track.key));
}

/** Hides the other tracks of the same parent. */
function hideOthers(state: TimelineState, track: Track) {
  const { meta, board } = state;
  const others: TrackKey[] = [];
  if (track.kind === "line") {
    const { plane } = meta.lines[track.line];
    meta.lines.forEach((line, id) => {
      if (line.plane === plane && id !== track.line && line.n_events > 0) others.push(keyOf("line", id));
    });
  } else if (track.kind === "plane") {
    meta.planes.forEach((_, id) => {
      if (id !== track.plane) others.push(keyOf("plane", id));
    });
  } else if (track.kind === "host") {
    state.hosted.source?.names.forEach((_, id) => {
      if (id !== track.host) others.push(keyOf("host", id));
    });
  }
  board.change((tracks) => {
    for (const key of others) if (!tracks.pinned.includes(key)) tracks.hidden.add(key);
  });
}

/** Whether a track shows less than it can, or nothing of it can be folded. */
export function isOpen(state: TimelineState, track: Track): boolean | null {
  if (track.kind === "counter") return null;
  if (track.kind === "line") {
    if (state.tracks.flatLines.has(track.line)) return false;
    if (track.levels.length > 0) return true;
    if (track.closed) return false;
    return track.bands.length > 1 || track.nHidden > 0 ? true : null;
  }
  return track.isOpen;
}

/** Opens so many levels of a stream. */
export function openLevels(state: TimelineState, { line }: LineTrack, n: number) {
  state.board.change(({ openLevels }) => void (n > 0 ? openLevels.set(line, n) : openLevels.delete(line)));
}

/** Opens or closes a track, a level of it where it has any; of another line the first opening shows some depths, the next all. */
export function setOpen(state: TimelineState, track: Track, opens: boolean) {
  if (track.kind === "line" && (opens ? track.closed : track.levels.length > 0)) {
    openLevels(state, track, track.levels.length + (opens ? 1 : -1));
    return;
  }
  state.board.change((tracks) => {
    if (track.kind === "host") setHostOpen(tracks, track.host, opens);
    else if (track.kind === "group") setCountersOpen(tracks, opens);
    else if (track.kind === "plane") {
      if (opens) tracks.closedPlanes.delete(track.plane);
      else tracks.closedPlanes.add(track.plane);
    } else if (track.kind === "fold") {
      if (opens) tracks.openFolds.add(track.plane);
      else tracks.openFolds.delete(track.plane);
    } else if (track.kind === "line") {
      const { flatLines, deepLines } = tracks;
      if (opens && !flatLines.delete(track.line)) deepLines.add(track.line);
      if (!opens && !deepLines.delete(track.line)) flatLines.add(track.line);
    }
  });
}

/** What the menu of a track offers. */
export function actionsOf(state: TimelineState, track: Track): TrackAction[] {
  const { pinned, flatLines, deepLines } = state.tracks;
  const isOwn = track.kind === "line" || track.kind === "counter";
  const isPinned = pinned.includes(track.key);
  const nDocked = pinned.filter((key) => key[0] === "c").length;
  const isFull = track.kind === "counter" && !isPinned && nDocked >= MOST_DOCKED;
  const where = track.kind === "counter" ? "Pin below the tracks" : "Pin above the tracks";
  const actions: TrackAction[] = [];
  const add = (text: string, key: string, run: () => void, obstacle = "") => actions.push({ text, key, run, obstacle });
  if (isOwn) {
    const full = isFull ? `${MOST_DOCKED} counters are pinned: unpin one first` : "";
    add(isPinned ? "Unpin" : where, "P", () => pin(state, track), full);
  }
  add(track.kind === "fold" ? "Hide these" : "Hide", "H", () => hide(state, track));
  if (track.kind !== "fold" && track.kind !== "group" && track.kind !== "counter")
    add("Hide the others", "", () => hideOthers(state, track));
  if (track.kind === "line") {
    const { line, levels: open, closed } = track;
    if (closed) add(`Open ${closed}`, "→", () => setOpen(state, track, true));
    if (open.length > 0) add(`Fold ${open[open.length - 1]}`, "←", () => setOpen(state, track, false));
    const levels = (flat: boolean, deep: boolean) => () =>
      state.board.change((tracks) => {
        tracks.flatLines.delete(line);
        tracks.deepLines.delete(line);
        if (flat) tracks.flatLines.add(line);
        if (deep) tracks.deepLines.add(line);
      });
    if (flatLines.has(line) || deepLines.has(line)) add("Usual levels", "", levels(false, false));
    if (track.bands.length > 1) add("Outermost level only", "←", levels(true, false));
    if (track.nHidden > 0) add("All levels", "→", levels(false, true));
  } else if (track.kind !== "counter") {
    if (track.kind === "host") {
      const isChosen = state.hosted.source?.chosen === track.host;
      const name = state.hosted.source?.names[track.host] ?? "";
      add(isChosen ? "All views: all hosts" : "All views: this host", "", () =>
        state.link.setHost(isChosen ? "" : name),
      );
    }
    const own = track.isOpen;
    add(own ? "Fold" : "Unfold", own ? "←" : "→", () => setOpen(state, track, !own));
  }
  return actions;
}
