/** Turns what the reader looks for into what a frame needs of it: arrows of the kinds that are shown, totals, matches alone. */
import { Aggregate, newCache } from "../../model/events/aggregate";
import type { Events } from "../../model/events/events";
import {
  type Arrow,
  arrowsAt,
  type Chain,
  chainOf,
  type Direction,
  FLOW_KINDS,
  follow,
  NO_CHAIN,
} from "../../model/events/flows";
import type { TraceMeta } from "../../model/wire/meta";

/** In each direction: more arrows than this say nothing. */
const MOST_ARROWS = 60;

export class Finding {
  /** 1 by kind of flow; those of thread pools are many and say little until they are asked for. */
  readonly shownKinds = Uint8Array.from(FLOW_KINDS, (kind) => Number(kind !== "pool"));
  /** Whether slices that the search does not match are dimmed. */
  isOnlyFound = false;
  /** Searches for exactly one name; the search field sets it. */
  onName: (name: number) => void = () => {};
  readonly #totals = newCache();
  #chain: { readonly key: string; readonly chain: Chain } = { key: "", chain: NO_CHAIN };
  #near: { readonly key: string; readonly arrows: readonly Arrow[] } = { key: "", arrows: [] };

  constructor(
    readonly events: Events,
    readonly meta: TraceMeta,
  ) {}

  /** Totals by name, sharing what was added up of whole tiles. */
  newAggregate(): Aggregate {
    const { lines, names } = this.meta;
    return new Aggregate(this.events, names.length, (line) => !lines[line].is_derived, this.#totals);
  }

  /** All that led to an event and all that it led to; worked out once while nothing changes. */
  chainOf(event: number): Chain {
    if (event < 0) return NO_CHAIN;
    const key = this.#keyOf(event);
    if (this.#chain.key !== key) {
      this.#chain = { key, chain: chainOf(this.events, event, this.shownKinds, MOST_ARROWS) };
    }
    return this.#chain.chain;
  }

  /** What is next to an event. */
  arrowsOf(event: number): readonly Arrow[] {
    if (event < 0) return [];
    const key = this.#keyOf(event);
    if (this.#near.key !== key) {
      const of = (direction: Direction) => arrowsAt(this.events, event, direction, this.shownKinds);
      const isHere = ({ from, to }: Arrow) => this.events.has(from) && this.events.has(to);
      this.#near = { key, arrows: [...of("up"), ...of("down")].filter(isHere).slice(0, MOST_ARROWS) };
    }
    return this.#near.arrows;
  }

  follow(event: number, direction: Direction): number {
    return event < 0 ? -1 : follow(this.events, event, direction, this.shownKinds);
  }

  #keyOf(event: number): string {
    return `${event}|${this.events.generation}|${this.shownKinds.join("")}`;
  }
}
