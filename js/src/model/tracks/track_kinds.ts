/** What the timeline is laid out of, and what a layout is: tracks of several kinds, one below the other. */

import type { LevelName } from "../events/levels";
import type { Rows } from "../events/rows";
import type { TraceMeta } from "../wire/meta";
import type { TrackKey } from "./arrangement";
import type { HostSource } from "./host_tracks";

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
  /** Lines that the reader hid. */
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

/** What there is to lay out. */
export interface TrackSource {
  readonly meta: TraceMeta;
  readonly rows: Rows;
  /** Time that a line worked in the window that the reader sees first. */
  readonly work: (line: number) => number;
  /** By line and by counter: what the label column calls them. */
  readonly lineNames: readonly string[];
  readonly counterNames: readonly string[];
  /** What the streams of devices can be opened to. */
  readonly levels?: readonly LevelName[];
  /** Of a capture of several hosts. */
  readonly hosts?: HostSource | null;
}

export interface TrackLayout {
  /** In the order of y, without gaps; the pinned ones first. */
  readonly tracks: readonly Track[];
  readonly height: number;
  /** Height of the pinned ones. */
  readonly pinnedHeight: number;
  /** Pinned counters, drawn below the tracks; y from the top of the first. */
  readonly dock: readonly CounterTrack[];
  /** Lines and counters that pass the filter and are not hidden, of all that the capture has. */
  readonly nShown: number;
  readonly nTracks: number;
  /** Tracks that the reader hid. */
  readonly nHidden: number;
  /** Hosts that pass the filter and are not hidden, of several; 0 for a capture of one. */
  readonly nHostsShown: number;
  readonly nHosts: number;
  readonly ofLine: ReadonlyMap<number, LineTrack>;
  /** Of the dock too. */
  readonly byKey: ReadonlyMap<TrackKey, Track>;
}
