/** A row -> what was found of its events, found again when enough more of them have come. */

import type { Events } from "./events";

/** Part of all events. */
const MORE_RATIO = 0.1;

export class RowFindings<T> {
  readonly #known = new Map<number, { readonly found: T; readonly nLoaded: number }>();

  constructor(
    readonly events: Events,
    readonly find: (row: number) => T,
  ) {}

  of(row: number): T {
    const { events } = this;
    const known = this.#known.get(row);
    const isOld = ({ nLoaded }: { nLoaded: number }) =>
      nLoaded < events.nLoaded && (events.isComplete || events.nLoaded - nLoaded > MORE_RATIO * events.n);
    if (known && !isOld(known)) return known.found;
    const found = this.find(row);
    this.#known.set(row, { found, nLoaded: events.nLoaded });
    return found;
  }
}
