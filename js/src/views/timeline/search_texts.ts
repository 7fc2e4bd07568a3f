/** Names, layers and source lines -> the texts that a search looks at; the texts that it matches -> the units that it finds. */

import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import type { TimelineState } from "./state";

/** Tables and lists with the places of ops, which may come later. */
export const PLACES = ["op_places", "source_lines", "source_files", "layers"];

export class SearchTexts {
  #texts: readonly string[] = [];
  #about = "";

  constructor(readonly state: Pick<TimelineState, "meta" | "shares" | "trace">) {}

  /** All names, then the layers, then the lines of source, each as "train.py:42" and its code. */
  get texts(): readonly string[] {
    const { meta, trace } = this.state;
    const { names, layers = [], source_lines: lines = [], source_files: files = [] } = meta;
    const about = [trace.data.namesGeneration, layers.length, lines.length, files.length].join();
    if (about !== this.#about) {
      const line = (k: number) => `${files[lines[k].file]?.title ?? ""}:${lines[k].line} ${lines[k].code.trim()}`;
      const texts = lines.map(({ file }, k) => (file < 0 ? "" : line(k)));
      this.#texts = [...names, ...layers.map(({ kind, layer }) => (kind === "other" ? "" : layer)), ...texts];
    }
    this.#about = about;
    return this.#texts;
  }

  /** By unit 1 where the name or the type of an op that it stands for is flagged, or its layer or line; null for none. */
  units(flags: Uint8Array): Uint8Array | null {
    const { meta, shares, trace } = this.state;
    const { names, layers = [], op_name, op_type } = meta;
    const places = trace.data.table("op_places") ?? EMPTY_TABLE;
    const [layer, line] = [numbers(places, "layer"), numbers(places, "line")];
    const isAt = (first: number, place: number | undefined) =>
      place !== undefined && place >= 0 && flags[first + place];
    const isFound = (op: number) =>
      flags[op_name[op]] ||
      flags[op_type[op]] ||
      isAt(names.length, layer[op]) ||
      isAt(names.length + layers.length, line[op]);
    const ops = Uint8Array.from(op_name, (_, op) => (isFound(op) ? 1 : 0));
    if (!ops.includes(1)) return null;
    const units = new Uint8Array(Math.max(meta.n_units ?? 0, ops.length));
    units.set(ops);
    for (let unit = ops.length; unit < units.length; unit++) {
      if (shares.ofUnit(unit).some(({ op }) => ops[op] === 1)) units[unit] = 1;
    }
    return units;
  }
}
