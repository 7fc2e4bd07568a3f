/** What the reader set up and marked in one timeline <-> two traits of its model; and the counters of the capture. */

import { LateSave } from "../../data/link";
import type { Span } from "../../data/time";
import { atEnd } from "../../data/widget";
import {
  type Arrangement,
  arrangementToJson,
  keyOf,
  newArrangement,
  readArrangement,
  type TrackKey,
} from "../../model/arrangement";
import { type Bookmark, bookmarkOf, bookmarksToJson, readBookmarks, withBookmark } from "../../model/bookmarks";
import {
  type ColorBy,
  type ColorScheme,
  nameCategories,
  namedParts,
  newColorScheme,
  readFamilies,
} from "../../model/colors";
import { type Counter, fullestAllocator, readCounters, spliceWindow } from "../../model/counters";
import type { TraceView } from "../../ui/view";

const SAVE_AFTER_MS = 200;
/** What is asked for overtakes the events on the screen: until then the outline of the counters does. */
const ASK_AFTER_MS = 1500;
const TABLES = ["counters", "counter_sample"] as const;

export class Board {
  readonly tracks: Arrangement;
  bookmarks: readonly Bookmark[] = [];
  counters: readonly Counter[] = [];
  readonly counterNames: readonly string[];
  /** Moment of the reader: under the pointer, or moved by keys; null for none. */
  cursor: number | null = null;
  /** The colours that the last frame used. */
  shownColors = new Uint8Array();
  readonly #untouched: Arrangement;
  #colors: ColorScheme | null = null;
  #namesGeneration = -1;
  readonly #saved: LateSave;

  constructor(
    readonly trace: TraceView,
    /** Called after anything here changed, by this view or by another holder of the model. */
    readonly onChange: () => void,
  ) {
    const { model, signal, data } = trace;
    const fullest = fullestAllocator(data.meta);
    const pinned: TrackKey[] = fullest < 0 ? [] : [keyOf("counter", fullest)];
    this.#saved = new LateSave(model, SAVE_AFTER_MS, signal);
    this.#untouched = newArrangement(pinned);
    this.tracks = newArrangement(pinned);
    this.counterNames = (data.meta.counters ?? []).map((counter) => counter.name);
    this.#readModel();
    this.readCounters();
    const onModel = () => {
      this.#readModel();
      onChange();
    };
    for (const name of ["change:bookmarks", "change:arrangement"]) {
      model.on(name, onModel);
      atEnd(signal, () => model.off(name, onModel));
    }
    data.onTables(
      () => {
        this.readCounters();
        onChange();
      },
      signal,
      TABLES,
    );
    const ask = setTimeout(() => void data.ready([TABLES[0]]), ASK_AFTER_MS);
    atEnd(signal, () => clearTimeout(ask));
  }

  /** What is written equals what is read back, so the echo of an own change changes nothing. */
  #readModel() {
    const { model } = this.trace;
    this.bookmarks = readBookmarks(String(model.get("bookmarks") ?? ""));
    readArrangement(String(model.get("arrangement") ?? ""), this.tracks, this.#untouched);
    this.#colors = null;
  }

  /** All values where they are here, else the outline, with all values of a capped page's window. */
  readCounters() {
    const { data } = this.trace;
    const [full, sample] = TABLES.map((name) => data.table(name));
    const isSpliced = full && sample && data.window && !data.isWhole(TABLES[0]);
    const table = isSpliced ? spliceWindow(sample, full, data.window) : data.isWhole(TABLES[0]) ? full : undefined;
    this.counters = readCounters(table ?? sample ?? full, data.meta);
  }

  change(edit: (tracks: Arrangement) => void) {
    edit(this.tracks);
    this.#colors = null;
    this.#write("arrangement", arrangementToJson(this.tracks, this.#untouched));
    this.onChange();
  }

  /** As before the reader changed anything. */
  reset() {
    this.change((tracks) => {
      readArrangement("{}", tracks, this.#untouched);
      tracks.filter = "";
      tracks.calledLines.clear();
    });
  }

  get isTouched(): boolean {
    return arrangementToJson(this.tracks, this.#untouched) !== "{}";
  }

  setColorBy(by: ColorBy) {
    this.change((tracks) => {
      tracks.colorBy = by;
    });
  }

  /** Colours of the events; `family` is by name id. */
  colors(family: ArrayLike<number>): ColorScheme {
    const { data } = this.trace;
    if (this.#colors && this.#namesGeneration === data.namesGeneration) return this.#colors;
    this.#namesGeneration = data.namesGeneration;
    const by = this.tracks.colorBy;
    const categories = by === "category" ? nameCategories(data.meta.names, family) : new Uint8Array();
    const parts = data.meta.is_reduced ? namedParts(data.meta.names) : [];
    const families = readFamilies(data.meta.names, family, data.meta.op_family);
    this.#colors = newColorScheme(by, data.events, families, categories, parts);
    this.shownColors = new Uint8Array(this.#colors.n);
    return this.#colors;
  }

  setBookmarks(bookmarks: readonly Bookmark[]) {
    this.bookmarks = bookmarks;
    this.#write("bookmarks", bookmarksToJson(bookmarks));
    this.onChange();
  }

  /** Index of the new bookmark. */
  addBookmark(span: Span, text: string): number {
    const { all, index } = withBookmark(this.bookmarks, bookmarkOf(span, text));
    this.setBookmarks(all);
    return index;
  }

  #write(name: "bookmarks" | "arrangement", value: string) {
    const { model } = this.trace;
    if (model.get(name) === value) return;
    this.#saved.set(name, value);
  }
}
