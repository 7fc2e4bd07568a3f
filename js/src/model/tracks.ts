/** The tracks of the timeline: which line of a capture is where, in what order, and what is folded away. */

import { firstWhere } from "../data/columns";
import { bandsOf, type Rows } from "../data/events";
import type { LineMeta, TraceMeta } from "../data/meta";
import { type Arrangement, COUNTERS, keyOf, type TrackKey } from "./arrangement";
import { hostsOf } from "./hosts";
import type { LevelName } from "./rows";

interface Placed {
  readonly key: TrackKey;
  readonly y: number;
  readonly height: number;
  readonly isPinned: boolean;
}
interface Head extends Placed {
  readonly isOpen: boolean;
  /** Lines (of a head of counters: counters) that it stands for. */
  readonly lines: readonly number[];
}
/** A host as one line: its steps and their parts; open, its planes follow. */
export interface HostTrack extends Head {
  readonly kind: "host";
  readonly host: number;
}
export interface PlaneTrack extends Head {
  readonly kind: "plane";
  readonly plane: number;
  readonly nHidden: number;
}
export interface FoldTrack extends Head {
  readonly kind: "fold";
  readonly plane: number;
}
export interface GroupTrack extends Head {
  readonly kind: "group";
}
export interface CounterTrack extends Placed {
  readonly kind: "counter";
  readonly counter: number;
}
export interface LineTrack extends Placed {
  readonly kind: "line";
  readonly line: number;
  /** Row of the line's depth 0. */
  readonly firstRow: number;
  /** Levels of a stream that are open, drawn above its events in a band each. */
  readonly levels: readonly LevelName[];
  /** The level that would be opened next; undefined where none is left. */
  readonly closed: LevelName | undefined;
  /** Depths drawn in each band, outermost first; bands are ROW_PX high. */
  readonly bands: readonly (readonly number[])[];
  /** Depths that are folded into others or left out. */
  readonly nHidden: number;
}
export type Track = HostTrack | PlaneTrack | LineTrack | FoldTrack | GroupTrack | CounterTrack;

export interface TrackSource {
  readonly meta: TraceMeta;
  readonly rows: Rows;
  /** Time that a line worked in the window that the reader sees first, or that its slices of a depth took there. */
  readonly work: (line: number, depth?: number) => number;
  /** By line and by counter: what the label column calls them. */
  readonly lineNames: readonly string[];
  readonly counterNames: readonly string[];
  /** What the streams of devices can be opened to. */
  readonly levels?: readonly LevelName[];
  /** Of a capture of several hosts. */
  readonly hosts?: HostSource | null;
}

export interface TrackLayout
  extends Readonly<Record<"height" | "pinnedHeight" | "nTracks" | "nHidden" | "nHosts", number>> {
  /** In the order of y, without gaps; the pinned ones first. */
  readonly tracks: readonly Track[];
  /** Pinned counters, drawn below the tracks; y from the top of the first. */
  readonly dock: readonly CounterTrack[];
  /** Lines and counters that pass the filter and are not hidden, of all that the capture has. */
  readonly nShown: number;
  /** Hosts that pass the filter and are not hidden, of several; 0 for a capture of one. */
  readonly nHostsShown: number;
  readonly ofLine: ReadonlyMap<number, LineTrack>;
  readonly byKey: ReadonlyMap<TrackKey, Track>;
}

/** Lines of a plane that together did this share of its work are shown, at most MAX_LINES; the others are folded. */
const SHOWN_WORK_RATIO = 0.98;
/** A plane that did less than this share of the busiest one's work comes after the others of its kind. */
const IDLE_PLANE_RATIO = 0.05;

function linesByPlane(meta: TraceMeta): number[][] {
  const planes: number[][] = meta.planes.map(() => []);
  meta.lines.forEach((line, id) => {
    if (line.n_events > 0) planes[line.plane]?.push(id);
  });
  return planes;
}

/**
 * Busiest lines first (`workOf`: in the window seen first, where any works there), derived ones after them; the many that did
 * little are folded, unless they were asked for.
 */
function splitLines(
  all: readonly LineMeta[],
  ids: readonly number[],
  workOf: (line: number) => number,
  called: ReadonlySet<number>,
  most: number,
) {
  const isWorking = ids.some((id) => !all[id].is_derived && workOf(id) > 0);
  const work = new Map(ids.map((id) => [id, isWorking ? workOf(id) : all[id].busy_ps]));
  const of = (id: number) => work.get(id) ?? 0;
  const sorted = [...ids].sort(
    (a, b) =>
      Number(all[a].is_derived) - Number(all[b].is_derived) ||
      of(b) - of(a) ||
      all[b].busy_ps - all[a].busy_ps ||
      a - b,
  );
  const total = ids.reduce((sum, id) => sum + (all[id].is_derived ? 0 : of(id)), 0);
  const shown: number[] = [];
  const folded: number[] = [];
  let done = 0;
  for (const id of sorted) {
    const isNotable =
      all[id].is_derived || (done < total * SHOWN_WORK_RATIO && shown.length < most) || most >= ids.length;
    (isNotable || called.has(id) ? shown : folded).push(id);
    if (!all[id].is_derived) done += of(id);
  }
  // One folded thread saves no room.
  if (folded.length === 1) shown.push(folded.pop() as number);
  return { shown, folded };
}

/** Some planes: devices, for which the rest is there, before hosts before all else; within a kind as in the trace, but those that did next to nothing last. */
function planeOrder(
  meta: TraceMeta,
  own: readonly number[],
  planes: readonly (readonly number[])[],
  work: (line: number) => number,
): number[] {
  const kinds = ["device", "host", "other"];
  const busyOf = (plane: number) => planes[plane].reduce((sum, l) => sum + (meta.lines[l].is_derived ? 0 : work(l)), 0);
  const busy = new Map(own.map((plane) => [plane, busyOf(plane)]));
  const most = kinds.map((kind) =>
    own.reduce((max, p) => (meta.planes[p].kind === kind ? Math.max(max, busy.get(p) ?? 0) : max), 0),
  );
  const rankOf = (plane: number) => {
    const place = kinds.indexOf(meta.planes[plane].kind);
    return 2 * place + Number((busy.get(plane) ?? 0) < most[place] * IDLE_PLANE_RATIO);
  };
  return [...own].sort((a, b) => rankOf(a) - rankOf(b) || a - b);
}

/** So few hosts are open at first; of more each is one line, so that the steps of many are seen one below the other. */
const FEW_OPEN = 4;

export interface HostSource {
  readonly names: readonly string[];
  /** Planes of each. */
  readonly planes: readonly (readonly number[])[];
  /** By plane its host, -1 for one that is none's. */
  readonly ofPlane: Int32Array;
  /** Hosts in the order of the trace, those before them that the reader should see first. */
  readonly order: readonly number[];
  /** The host that all views are about, -1 for none. */
  readonly chosen: number;
}

/** Null for a capture of one host: its planes are the outer groups then. */
export function hostSource(meta: TraceMeta, chosen: string): HostSource | null {
  const names = hostsOf(meta);
  if (names.length < 2) return null;
  const place = new Map(names.map((name, host) => [name, host]));
  const ofPlane = Int32Array.from(meta.planes, ({ host }) => place.get(host) ?? -1);
  const planes: number[][] = names.map(() => []);
  ofPlane.forEach((host, plane) => {
    if (host >= 0) planes[host].push(plane);
  });
  const chosenHost = place.get(chosen) ?? -1;
  return { names, planes, ofPlane, order: hostOrder(meta, names, chosenHost), chosen: chosenHost };
}

/** The chosen host, then of many the ones that hold the others up and those that are no workers, then the others. */
function hostOrder(meta: TraceMeta, names: readonly string[], chosen: number): number[] {
  const first = new Set<number>();
  if (chosen >= 0) first.add(chosen);
  if (names.length > FEW_OPEN) {
    for (const { host } of meta.stragglers ?? []) first.add(names.indexOf(host));
    meta.host_roles?.forEach((role, host) => {
      if (role === "chief") first.add(host);
    });
  }
  first.delete(-1);
  return [...first, ...names.keys()].filter((host, k) => k < first.size || !first.has(host));
}

function isHostOpen({ names, chosen }: HostSource, state: Arrangement, host: number): boolean {
  const isOpenAtFirst = names.length <= FEW_OPEN || host === chosen;
  return isOpenAtFirst ? !state.closedHosts.has(host) : state.openHosts.has(host);
}

export function setHostOpen(state: Arrangement, host: number, opens: boolean) {
  const [to, from] = opens ? [state.openHosts, state.closedHosts] : [state.closedHosts, state.openHosts];
  to.add(host);
  from.delete(host);
}

export const ROW_PX = 15;
export const SLICE_PX = 14;
const COUNTER_TRACK_PX = 34;
export const GROUP_PX = 18;
/** Of the row below the head of a device, for what it waits for. */
export const WAITS_PX = 18;
const FOLD_PX = 17;
const LINE_PAD_PX = 3;
const DEFAULT_BANDS = 6;
/** Bands that have less than this share of their line in the window seen first are dust there: they are folded, too. */
const DUST = 0.01;
const MAX_LINES = 10;
/** Where devices did work they must be on the first screen too, so fewer host threads are shown. */
const MAX_HOST_LINES_BESIDE_DEVICE = 3;
const MAX_COUNTERS = 3;

/** Stands for the head of the counters in `closedPlanes`, and in `openFolds` where there are many. */
const COUNTER_GROUP = -1;

export function setCountersOpen({ closedPlanes, openFolds }: Arrangement, opens: boolean) {
  const [to, from] = opens ? [openFolds, closedPlanes] : [closedPlanes, openFolds];
  to.add(COUNTER_GROUP);
  from.delete(COUNTER_GROUP);
}

export function layoutTracks(source: TrackSource, state: Arrangement): TrackLayout {
  return new Layouter(source, state).layout();
}

/** Whether the parts of steps tell what a device waits for: of several devices of a host nobody knows which one does. */
export function hasWaits({ planes, lines, step_names }: TraceMeta, plane: number): boolean {
  const { host, kind } = planes[plane];
  if (kind !== "device" || step_names.length === 0) return false;
  const isOther = (own: number) => own !== plane && planes[own].kind === "device" && planes[own].host === host;
  return !lines.some((line) => line.n_events > 0 && isOther(line.plane));
}

type Unplaced = {
  [Kind in Track["kind"]]: Omit<Extract<Track, { readonly kind: Kind }>, "y" | "isPinned">;
}[Track["kind"]];

class Layouter {
  readonly #tracks: Track[] = [];
  readonly #ofLine = new Map<number, LineTrack>();
  readonly #pinned: ReadonlySet<TrackKey>;
  readonly #words: readonly string[];
  #y = 0;
  #nShown = 0;
  #nHostsShown = 0;

  constructor(
    readonly source: TrackSource,
    readonly state: Arrangement,
  ) {
    this.#pinned = new Set(state.pinned);
    this.#words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  }

  layout(): TrackLayout {
    const { meta, counterNames } = this.source;
    const { hidden } = this.state;
    const planes = linesByPlane(meta);
    const all = planes.flat();
    const counters = counterNames.map((_, id) => id);
    const isShown = (id: number) => this.#isCounterShown(id);
    const dock = this.#dock(isShown);
    this.#pushPinned();
    const pinnedHeight = this.#y;
    const free = counters.filter((id) => isShown(id) && !this.#pinned.has(keyOf("counter", id)));
    this.#nShown = all.filter((line) => this.#isShown(line)).length + counters.filter(isShown).length;
    const { hosts } = this.source;
    if (hosts) this.#pushHosts(hosts, planes);
    else this.#pushPlanes([...planes.keys()], planes);
    this.#pushCounters(free);
    const exists = (key: TrackKey) => (key[0] === "c" ? Number(key.slice(1)) < counters.length : true);
    return {
      tracks: this.#tracks,
      height: this.#y,
      pinnedHeight,
      dock,
      nShown: this.#nShown,
      nTracks: Math.max(all.length, meta.n_lines ?? 0) + Math.max(counters.length, meta.n_counters ?? 0),
      nHidden: [...hidden].filter(exists).length,
      nHostsShown: this.#nHostsShown,
      nHosts: hosts?.names.length ?? 0,
      ofLine: this.#ofLine,
      byKey: new Map([...this.#tracks, ...dock].map((track) => [track.key, track])),
    };
  }

  #passes(name: string): boolean {
    const text = name.toLowerCase();
    return this.#words.every((word) => text.includes(word));
  }

  #isCounterShown(id: number): boolean {
    const key = keyOf("counter", id);
    return !this.state.hidden.has(key) && (this.#pinned.has(key) || this.#passes(this.source.counterNames[id]));
  }

  /** What is pinned is shown whatever the filter says. */
  #isShown(line: number): boolean {
    const { meta, lineNames } = this.source;
    const { plane, name } = meta.lines[line];
    const { hidden } = this.state;
    if (hidden.has(keyOf("line", line)) || hidden.has(keyOf("plane", plane))) return false;
    const { hosts } = this.source;
    if (hosts && hidden.has(keyOf("host", hosts.ofPlane[plane]))) return false;
    if (this.#words.length === 0 || this.#pinned.has(keyOf("line", line))) return true;
    const host = hosts ? meta.planes[plane].host : "";
    return this.#passes(`${lineNames[line]} ${name} ${meta.planes[plane].name} ${host}`);
  }

  /** Pinned counters at the bottom; alone it has more room. */
  #dock(isShown: (id: number) => boolean): CounterTrack[] {
    const keys = this.state.pinned.filter((key) => key[0] === "c" && isShown(Number(key.slice(1))));
    const known = keys.filter((key) => Number(key.slice(1)) < this.source.counterNames.length);
    return known.map((key, k) => ({
      kind: "counter",
      counter: Number(key.slice(1)),
      key,
      y: k * COUNTER_TRACK_PX,
      height: COUNTER_TRACK_PX,
      isPinned: true,
    }));
  }

  #pushPinned() {
    for (const key of this.state.pinned) {
      const line = Number(key.slice(1));
      if (key[0] === "l" && this.source.meta.lines[line]?.n_events > 0 && this.#isShown(line))
        this.#pushLine(line, true);
    }
  }

  #pushHosts(hosts: HostSource, planes: readonly (readonly number[])[]) {
    for (const host of hosts.order) this.#pushHost(hosts, host, planes);
    const ofNone = [...planes.keys()].filter((plane) => hosts.ofPlane[plane] < 0);
    this.#pushPlanes(ofNone, planes);
  }

  #pushHost(hosts: HostSource, host: number, planes: readonly (readonly number[])[]) {
    const key = keyOf("host", host);
    if (this.state.hidden.has(key)) return;
    const own = hosts.planes[host];
    const lines = own.flatMap((plane) => planes[plane]);
    const isNamed = this.#passes(hosts.names[host]);
    // A filter for lines opens what it finds; one for hosts leaves them as they are.
    if (!isNamed && !lines.some((line) => this.#isShown(line))) return;
    this.#nHostsShown += 1;
    const isOpen = !isNamed || isHostOpen(hosts, this.state, host);
    this.#push({ kind: "host", host, key, height: GROUP_PX, isOpen, lines });
    if (!isOpen) return;
    const filled = own.filter((plane) => planes[plane].length > 0);
    // The name of the host says all that the head of its only plane could.
    if (filled.length === 1 && !this.state.hidden.has(keyOf("plane", filled[0])))
      this.#pushLines(filled[0], planes[filled[0]]);
    else this.#pushPlanes(own, planes);
  }

  #pushPlanes(own: readonly number[], planes: readonly (readonly number[])[]) {
    const order = planeOrder(this.source.meta, own, planes, this.source.work);
    for (const plane of order) this.#pushPlane(plane, planes[plane]);
  }

  #pushPlane(plane: number, lines: readonly number[]) {
    const { state } = this;
    const visible = this.#visible(lines);
    const nHidden = lines.filter((line) => state.hidden.has(keyOf("line", line))).length;
    const isPlaneHidden = state.hidden.has(keyOf("plane", plane));
    if (isPlaneHidden || (visible.length === 0 && (this.#words.length > 0 || nHidden === 0))) return;
    const isFiltered = this.#words.length > 0;
    const isOpen = isFiltered || !state.closedPlanes.has(plane);
    const height = GROUP_PX + (hasWaits(this.source.meta, plane) ? WAITS_PX : 0);
    this.#push({ kind: "plane", plane, key: keyOf("plane", plane), height, isOpen, lines, nHidden });
    if (isOpen) this.#pushLines(plane, lines);
  }

  #visible(lines: readonly number[]): number[] {
    return lines.filter((line) => this.#isShown(line) && !this.#pinned.has(keyOf("line", line)));
  }

  /** The lines of a plane, those that did little folded. */
  #pushLines(plane: number, lines: readonly number[]) {
    const { state } = this;
    const { meta } = this.source;
    const visible = this.#visible(lines);
    const isFiltered = this.#words.length > 0;
    const limit = this.#isCrowded(plane) ? MAX_HOST_LINES_BESIDE_DEVICE : MAX_LINES;
    const most = isFiltered ? visible.length : limit;
    const { shown, folded } = splitLines(meta.lines, visible, this.source.work, state.calledLines, most);
    for (const line of shown) this.#pushLine(line, false);
    if (folded.length === 0) return;
    const isFoldOpen = state.openFolds.has(plane);
    const key = keyOf("fold", plane);
    this.#push({ kind: "fold", plane, key, height: FOLD_PX, isOpen: isFoldOpen, lines: folded });
    if (isFoldOpen) for (const line of folded) this.#pushLine(line, false);
  }

  #isCrowded(plane: number): boolean {
    const { lines, planes } = this.source.meta;
    return planes[plane].kind === "host" && lines.some((l) => l.n_events > 0 && planes[l.plane].kind === "device");
  }

  #pushCounters(ids: readonly number[]) {
    if (ids.length === 0) return;
    const { closedPlanes, openFolds } = this.state;
    const isShown = ids.length > MAX_COUNTERS ? openFolds.has(COUNTER_GROUP) : !closedPlanes.has(COUNTER_GROUP);
    const isOpen = this.#words.length > 0 || isShown;
    this.#push({ kind: "group", key: COUNTERS, height: GROUP_PX, isOpen, lines: ids });
    if (!isOpen) return;
    for (const counter of ids) {
      const key = keyOf("counter", counter);
      this.#push({ kind: "counter", counter, key, height: COUNTER_TRACK_PX });
    }
  }

  #pushLine(line: number, isPinned: boolean) {
    const { rows } = this.source;
    const isDeep = this.state.deepLines.has(line);
    const all = bandsOf(rows, line, !isDeep);
    const most = this.state.flatLines.has(line) ? 1 : isDeep ? all.length : this.#nBands(line, all);
    const bands = all.slice(0, most);
    const nDepths = all.reduce((sum, band) => sum + band.length, 0);
    const nHidden = nDepths - bands.length;
    const { levels, closed } = this.#levelsOf(line);
    const height = Math.max(1, levels.length + bands.length) * ROW_PX + LINE_PAD_PX;
    const own = { line, key: keyOf("line", line), height, firstRow: rows.firstRow[line] };
    this.#push({ kind: "line", ...own, levels, closed, bands, nHidden }, isPinned);
  }

  #nBands(line: number, all: readonly (readonly number[])[]): number {
    const least = this.source.work(line) * DUST;
    const firstThin = all.findIndex(([depth]) => this.source.work(line, depth) < least);
    return Math.min(firstThin < 0 ? all.length : firstThin, DEFAULT_BANDS);
  }

  #levelsOf(line: number): Pick<LineTrack, "levels" | "closed"> {
    const { meta, levels = [] } = this.source;
    const { plane, is_derived } = meta.lines[line];
    if (meta.planes[plane].kind !== "device" || is_derived) return { levels: [], closed: undefined };
    const nOpen = this.state.openLevels.get(line) ?? 0;
    return { levels: levels.slice(0, nOpen), closed: levels[nOpen] };
  }

  #push(unplaced: Unplaced, isPinned = false) {
    const track: Track = { ...unplaced, y: this.#y, isPinned };
    this.#tracks.push(track);
    if (track.kind === "line") this.#ofLine.set(track.line, track);
    this.#y += track.height;
  }
}

export function trackAt(layout: TrackLayout, y: number): Track | null {
  const track = layout.tracks[firstTrackBelow(layout, y)];
  return track && y >= track.y ? track : null;
}

/** Index of the first track that ends below a height. */
export function firstTrackBelow({ tracks }: TrackLayout, y: number): number {
  return firstWhere(tracks.length, (k) => tracks[k].y + tracks[k].height > y);
}

export function lineTrackOf(layout: TrackLayout, line: number): LineTrack | undefined {
  return layout.ofLine.get(line);
}

/** The height of the events below the levels that are open, from the top of the track. */
export const levelsPx = ({ levels }: LineTrack) => levels.length * ROW_PX;

/** Where the slices of a depth are drawn, from the top of the track; -1 when they are not. */
export function yOfDepth(track: LineTrack, depth: number): number {
  const band = track.bands.findIndex((depths) => depths[depths.length - 1] >= depth);
  return band < 0 ? -1 : levelsPx(track) + band * ROW_PX;
}

/** Where a row (line and depth) is drawn in the content, null when it is folded away. */
export function yOfRow(layout: TrackLayout, line: number, depth: number): number | null {
  const track = lineTrackOf(layout, line);
  const y = track ? yOfDepth(track, depth) : -1;
  return track && y >= 0 ? track.y + y : null;
}

export function reveal(meta: TraceMeta, layout: TrackLayout, state: Arrangement, line: number, depth: number): boolean {
  if (yOfRow(layout, line, depth) !== null) return false;
  const { plane } = meta.lines[line];
  const host = layout.nHosts > 0 ? hostsOf(meta).indexOf(meta.planes[plane].host) : -1;
  if (host >= 0) {
    state.hidden.delete(keyOf("host", host));
    setHostOpen(state, host, true);
  }
  state.closedPlanes.delete(plane);
  state.hidden.delete(keyOf("line", line));
  state.hidden.delete(keyOf("plane", plane));
  state.filter = "";
  state.flatLines.delete(line);
  state.calledLines.add(line);
  if (lineTrackOf(layout, line)) state.deepLines.add(line);
  return true;
}

/** Without the thread's long id, numbered where that leaves several of a plane the same. */
export function lineLabels(meta: TraceMeta): string[] {
  const short = meta.lines.map((line) => line.name.replace(/\/-?\d{5,}$/, "") || "unnamed");
  const keys = short.map((name, id) => `${meta.lines[id].plane}|${name}`);
  const count = new Map<string, number>();
  for (const key of keys) count.set(key, (count.get(key) ?? 0) + 1);
  const seen = new Map<string, number>();
  return short.map((name, id) => {
    if (name === meta.lines[id].name || count.get(keys[id]) === 1) return name;
    seen.set(keys[id], (seen.get(keys[id]) ?? 0) + 1);
    return `${name} ${seen.get(keys[id])}`;
  });
}

const PINNED_RATIO = 0.6;
const NAME_PX = 32;

/** `shown` px of the pinned tracks, moved up by `scroll`: what needs too much room scrolls first, then the others go under it. */
export function pinning(layout: TrackLayout, scrollTop: number, height: number) {
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
