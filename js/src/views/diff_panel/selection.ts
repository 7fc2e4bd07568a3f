/** The links of both runs -> one selection: what is chosen in one run is chosen in the other, under its name there. */

import type { Link } from "../../host/link";
import type { Partners } from "./partners";

export class SharedSelection {
  /** Links that this changes itself, and so must not answer. */
  #isSetting = false;
  readonly #listeners: (() => void)[] = [];

  constructor(
    /** null for a run without a timeline. */
    readonly links: readonly [Link | null, Link | null],
    readonly partners: Partners,
    signal: AbortSignal,
  ) {
    links.forEach((link, run) => {
      link?.on("selection", () => this.#follow(run), signal);
      link?.on("hover", () => this.#followHover(run), signal);
    });
  }

  /** Calls `listener` after what is selected has changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  of(run: 0 | 1): readonly string[] {
    return this.links[run]?.selection ?? [];
  }

  get isEmpty(): boolean {
    return this.of(0).length === 0 && this.of(1).length === 0;
  }

  /** Selects ops of both runs, or nothing when exactly they are selected. */
  toggle(names: readonly [readonly string[], readonly string[]]): void {
    const isChosen = this.links.every((link, run) => link === null || isSame(link.selection, names[run]));
    this.#set(isChosen ? [[], []] : names);
  }

  clear(): void {
    this.#set([[], []]);
  }

  #set(names: readonly (readonly string[])[]): void {
    this.#isSetting = true;
    for (const run of [0, 1] as const) this.links[run]?.setSelection(names[run]);
    this.#isSetting = false;
    this.#tell();
  }

  #follow(from: number): void {
    if (this.#isSetting) return;
    this.#isSetting = true;
    const other = this.links[1 - from];
    // Two views of one profile have one selection anyway.
    const names = this.partners.of(this.links[from]?.selection ?? [], from);
    other?.setSelection(names);
    this.#isSetting = false;
    this.#tell();
  }

  #followHover(from: number): void {
    const name = this.links[from]?.hover ?? "";
    const other = this.links[1 - from];
    const [partner] = name === "" ? [""] : this.partners.of([name], from);
    const wanted = partner ?? "";
    // Answers to an answer end here, also where names of a are not those of b.
    if (other && this.partners.of([wanted], 1 - from)[0] !== undefined && other.hover !== wanted)
      other.setHover(wanted);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  const wanted = new Set(b);
  return a.length === wanted.size && a.every((name) => wanted.has(name));
}
