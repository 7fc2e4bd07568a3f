/** What is live at a moment, by op -> the same by the Keras layer or the source line of the ops. */

import { numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import type { LiveGroup } from "./memory";

/** Tables and lists that tell the place of an op. */
export const PLACE_SECTIONS = ["op_places", "source_lines", "source_files", "layers"];

export type HeldBy = "op" | "layer" | "line";

/** What holds memory together: the groups of a layer, of a line, or of neither. */
export interface Held {
  readonly name: string;
  readonly groups: readonly LiveGroup[];
}

/** How TensorFlow calls what runs eagerly; its allocations are without it. */
const EAGER = "eager/";

/** For each name of an op in the memory events where it belongs, "" where that is not known. */
export class OpPlaces {
  readonly #ops = new Map<string, number>();
  readonly #layers: ReadonlyMap<string, string>;
  readonly #of: Readonly<Record<Exclude<HeldBy, "op">, (op: number) => string>>;

  constructor(
    readonly meta: TraceMeta,
    places: Table = EMPTY_TABLE,
  ) {
    const [layer, line] = [numbers(places, "layer"), numbers(places, "line")];
    meta.op_name.forEach((name, op) => {
      if (op < places.n) this.#ops.set(meta.names[name], op);
    });
    const layers = meta.layers ?? [];
    this.#layers = new Map(layers.flatMap(({ layer, allocating = [] }) => allocating.map((name) => [name, layer])));
    this.#of = {
      layer: (op) => meta.layers?.[layer[op]]?.layer ?? "",
      line: (op) => lineOf(meta, line[op]),
    };
  }

  of(name: string, by: Exclude<HeldBy, "op">): string {
    const known = by === "layer" && this.#layers.get(name);
    if (known) return known;
    const op = this.#ops.get(name) ?? this.#ops.get(`${EAGER}${name}`);
    return op === undefined ? "" : this.#of[by](op);
  }
}

function lineOf({ source_lines, source_files }: TraceMeta, index: number): string {
  const line = source_lines?.[index];
  if (!line) return "";
  const file = source_files?.[line.file];
  return file ? `${file.title}:${line.line}  ${line.code.trim()}` : line.bucket;
}

/** Groups of the same name as one, the most bytes first. */
export function together(groups: readonly LiveGroup[], nameOf: (group: LiveGroup) => string): Held[] {
  const found = new Map<string, LiveGroup[]>();
  for (const group of groups) {
    const name = nameOf(group);
    const own = found.get(name);
    if (own) own.push(group);
    else found.set(name, [group]);
  }
  const held = [...found].map(([name, own]) => ({ name, groups: own }));
  return held.sort((a, b) => bytesOf(b) - bytesOf(a));
}

export function bytesOf({ groups }: Held): number {
  return groups.reduce((bytes, { allocatedBytes }) => bytes + allocatedBytes, 0);
}
