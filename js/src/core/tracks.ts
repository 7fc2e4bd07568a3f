/** Turns planes and lines into the vertical layout of the timeline: which track is where, what is folded away. */
import { bandsOf } from "./bands";
import type { Rows } from "./events";
import { coveredTime } from "./lod";
import type { LineMeta, TraceMeta } from "./meta";
import type { Span } from "./viewport";

export const ROW_PX = 15;
export const SLICE_PX = 14;
const GROUP_PX = 18;
const FOLD_PX = 17;
const LINE_PAD_PX = 3;
/** Bands shown of a line until the reader opens it. */
const DEFAULT_BANDS = 6;
/** Lines of a plane that together did this share of its work are shown, at most MAX_LINES; the others are folded. */
const SHOWN_WORK_RATIO = 0.98;
const MAX_LINES = 10;
/** Where devices did work they must be on the first screen too, so fewer host threads are shown. */
const MAX_HOST_LINES_BESIDE_DEVICE = 3;
/** A plane that did less than this share of the busiest one's work comes after the others of its kind. */
const IDLE_PLANE_RATIO = 0.05;

export type Track =
  | { kind: "plane"; plane: number; y: number; height: number; isOpen: boolean; lines: readonly number[] }
  | LineTrack
  | { kind: "fold"; plane: number; y: number; height: number; isOpen: boolean; lines: readonly number[] };

export interface LineTrack {
  kind: "line";
  line: number;
  y: number;
  height: number;
  /** Row of the line's depth 0. */
  firstRow: number;
  /** Depths drawn in each band, outermost first; bands are ROW_PX high. */
  bands: readonly (readonly number[])[];
  /** Depths that are folded into others or left out. */
  nHidden: number;
}

/** What the reader opened and closed. */
export interface TrackState {
  readonly closedPlanes: Set<number>;
  readonly openFolds: Set<number>;
  /** Lines shown with all their depths. */
  readonly deepLines: Set<number>;
  /** Lines shown although they would be folded, because something in them was asked for. */
  readonly calledLines: Set<number>;
}

export function newTrackState(): TrackState {
  return { closedPlanes: new Set(), openFolds: new Set(), deepLines: new Set(), calledLines: new Set() };
}

export interface TrackLayout {
  readonly tracks: readonly Track[];
  readonly height: number;
}

/** `isFilled`: see filledRows. `home`: the window that the reader sees first; without one the whole capture counts. */
export function layoutTracks(
  meta: TraceMeta,
  rows: Rows,
  isFilled: Uint8Array,
  state: TrackState,
  home: Span | null = null,
): TrackLayout {
  const tracks: Track[] = [];
  const pushLine = (line: number, y: number) => {
    const track = lineTrack(rows, isFilled, state, line, y);
    tracks.push(track);
    return y + track.height;
  };
  const hasDevice = meta.lines.some((line) => line.n_events > 0 && meta.planes[line.plane].kind === "device");
  let y = 0;
  const work = (line: number) => (home ? coveredTime(rows, rows.firstRow[line], home) : meta.lines[line].busy_ps);
  for (const plane of planeOrder(meta, work)) {
    const lines = meta.lines.flatMap((line, id) => (line.plane === plane && line.n_events > 0 ? [id] : []));
    if (lines.length === 0) continue;
    const isCrowded = hasDevice && meta.planes[plane].kind === "host";
    const most = isCrowded ? MAX_HOST_LINES_BESIDE_DEVICE : MAX_LINES;
    const { shown, folded } = splitLines(meta.lines, lines, state.calledLines, most);
    const isOpen = !state.closedPlanes.has(plane);
    tracks.push({ kind: "plane", plane, y, height: GROUP_PX, isOpen, lines });
    y += GROUP_PX;
    if (!isOpen) continue;
    for (const line of shown) y = pushLine(line, y);
    if (folded.length === 0) continue;
    const isFoldOpen = state.openFolds.has(plane);
    tracks.push({ kind: "fold", plane, y, height: FOLD_PX, isOpen: isFoldOpen, lines: folded });
    y += FOLD_PX;
    if (isFoldOpen) for (const line of folded) y = pushLine(line, y);
  }
  return { tracks, height: y };
}

function lineTrack(rows: Rows, isFilled: Uint8Array, state: TrackState, line: number, y: number): LineTrack {
  const isDeep = state.deepLines.has(line);
  const all = bandsOf(rows, isFilled, line, !isDeep);
  const bands = isDeep ? all : all.slice(0, DEFAULT_BANDS);
  const nDepths = all.reduce((sum, band) => sum + band.length, 0);
  const height = Math.max(1, bands.length) * ROW_PX + LINE_PAD_PX;
  return { kind: "line", line, y, height, firstRow: rows.firstRow[line], bands, nHidden: nDepths - bands.length };
}

/** Hosts before devices before the rest; within a kind as in the trace, but those that did next to nothing last. */
function planeOrder(meta: TraceMeta, work: (line: number) => number): number[] {
  const kinds = ["host", "device", "other"];
  const busy = meta.planes.map(() => 0);
  meta.lines.forEach((line, id) => {
    if (!line.is_derived && line.n_events > 0) busy[line.plane] += work(id);
  });
  const most = kinds.map((kind) => Math.max(...busy.filter((_, id) => meta.planes[id].kind === kind)));
  const rank = meta.planes.map(({ kind }, id) => {
    const place = kinds.indexOf(kind);
    return 2 * place + Number(busy[id] < most[place] * IDLE_PLANE_RATIO);
  });
  return meta.planes.map((_, id) => id).sort((a, b) => rank[a] - rank[b] || a - b);
}

/** Busiest lines first, derived ones (which repeat the work of others) after them; the many that did little are folded. */
function splitLines(all: readonly LineMeta[], ids: readonly number[], called: ReadonlySet<number>, most: number) {
  const sorted = [...ids].sort(
    (a, b) => Number(all[a].is_derived) - Number(all[b].is_derived) || all[b].busy_ps - all[a].busy_ps || a - b,
  );
  const work = ids.reduce((sum, id) => sum + (all[id].is_derived ? 0 : all[id].busy_ps), 0);
  const shown: number[] = [];
  const folded: number[] = [];
  let done = 0;
  for (const id of sorted) {
    const isNotable = all[id].is_derived || (done < work * SHOWN_WORK_RATIO && shown.length < most);
    (isNotable || called.has(id) ? shown : folded).push(id);
    if (!all[id].is_derived) done += all[id].busy_ps;
  }
  // One folded thread saves no room.
  if (folded.length === 1) shown.push(folded.pop() as number);
  return { shown, folded };
}

/** The track at a height, null below the last one. */
export function trackAt(layout: TrackLayout, y: number): Track | null {
  return layout.tracks.find((track) => y >= track.y && y < track.y + track.height) ?? null;
}

/** The track of a line, undefined when it is folded away. */
function lineTrackOf(layout: TrackLayout, line: number): LineTrack | undefined {
  return layout.tracks.find((track): track is LineTrack => track.kind === "line" && track.line === line);
}

/** Where the slices of a depth are drawn, from the top of the track; -1 when they are not. */
export function yOfDepth(track: LineTrack, depth: number): number {
  const band = track.bands.findIndex((depths) => depths[depths.length - 1] >= depth);
  return band < 0 ? -1 : band * ROW_PX;
}

/** Where a row (line and depth) is drawn, null when it is folded away. */
export function yOfRow(layout: TrackLayout, line: number, depth: number): number | null {
  const track = lineTrackOf(layout, line);
  const y = track ? yOfDepth(track, depth) : -1;
  return track && y >= 0 ? track.y + y : null;
}

/** Opens what hides a row; true when something had to be opened. */
export function reveal(meta: TraceMeta, layout: TrackLayout, state: TrackState, line: number, depth: number): boolean {
  if (yOfRow(layout, line, depth) !== null) return false;
  state.closedPlanes.delete(meta.lines[line].plane);
  state.calledLines.add(line);
  if (lineTrackOf(layout, line)) state.deepLines.add(line);
  return true;
}

/** What the label column calls each line: without the thread's long id, numbered where that leaves several the same. */
export function lineLabels(meta: TraceMeta): string[] {
  const short = meta.lines.map((line) => line.name.replace(/\/-?\d{5,}$/, "") || "unnamed");
  const seen = new Map<string, number>();
  return short.map((name, id) => {
    const isSame = (other: string, k: number) => other === name && meta.lines[k].plane === meta.lines[id].plane;
    if (name === meta.lines[id].name || short.filter(isSame).length === 1) return name;
    const key = `${meta.lines[id].plane}|${name}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return `${name} ${seen.get(key)}`;
  });
}
