/** The list of tabs and what a run has -> the tabs, each view drawn when it is first looked at; what has nothing to show is not offered. */

import { formatCount } from "../../model/text/format";
import { renderChild } from "../../ui/child";
import { h } from "../../ui/dom";
import { TabBar } from "../../ui/tabs";
import type { TraceView } from "../../ui/view";
import { VIEW_TITLES } from "../../ui/view_links";
import { type Limit, limitNote, type TabNames } from "./limits";
import { TABS, type Tab } from "./tab_list";

/** One view or several of which one is shown, each drawn when it is first looked at. */
class Views {
  readonly elements: readonly HTMLElement[];
  readonly #bar: TabBar | null;
  readonly #places: readonly HTMLElement[];
  readonly #drawn = new Set<number>();
  #chosen: number;

  constructor(
    readonly view: TraceView,
    readonly tab: Tab,
    readonly title: string,
    limits: readonly Limit[],
  ) {
    const { meta } = view.data;
    const { views } = tab;
    const isThere = views.map((one) => one.isThere?.(meta) ?? true);
    this.#chosen = Math.max(0, isThere.indexOf(true));
    const titles = views.map(({ trait, count }, i) => {
      return { text: VIEW_TITLES[trait], note: count && formatCount(count(meta)), isHidden: !isThere[i] };
    });
    const choose = (chosen: number) => this.#choose(chosen);
    this.#bar = views.length > 1 ? new TabBar(title, titles, choose, view.signal) : null;
    this.#places = views.map(({ trait }, i) => {
      const note = isThere[i] ? limitNote(limits, trait) : null; // an empty view says why
      const place = h(note ? "div.place.limited" : "div.place", note);
      this.#bar?.panels[i].append(place);
      return place;
    });
    this.elements = this.#bar ? [this.#bar.bar, ...this.#bar.panels] : this.#places;
    this.#bar?.choose(this.#chosen);
  }

  #choose(chosen: number): void {
    this.#chosen = chosen;
    if (this.#drawn.size > 0) this.draw();
  }

  draw(): void {
    const chosen = this.#chosen;
    if (this.#drawn.has(chosen)) return;
    this.#drawn.add(chosen);
    void renderChild(this.view, this.tab.views[chosen].trait, this.#places[chosen]);
  }

  show(trait: unknown): void {
    this.#bar?.choose(this.tab.views.findIndex((one) => one.trait === trait));
  }
}

export class Tabs implements TabNames {
  readonly #bar: TabBar;
  readonly #titles: readonly string[];
  readonly #offered: readonly boolean[];
  readonly #views: readonly Views[];
  #chosen = 0;
  #isHeld = true;

  constructor(
    readonly view: TraceView,
    limits: readonly Limit[],
  ) {
    const { meta } = view.data;
    const titles = TABS.map(({ title, views }) => ({
      text: title?.(meta) ?? VIEW_TITLES[views[0].trait],
      note: views.length === 1 && views[0].count && formatCount(views[0].count(meta)),
      isHidden: !views.some(({ isThere }) => isThere?.(meta) ?? true),
    }));
    this.#titles = titles.map(({ text }) => text);
    this.#offered = titles.map(({ isHidden }) => !isHidden);
    this.#views = TABS.map((tab, i) => new Views(view, tab, this.#titles[i], limits));
    this.#bar = new TabBar("Views", titles, (chosen) => this.#onChoose(chosen), view.signal);
    this.#views.forEach(({ elements }, i) => {
      this.panels[i].append(...elements);
    });
  }

  get bar(): HTMLElement {
    return this.#bar.bar;
  }
  get panels(): readonly HTMLElement[] {
    return this.#bar.panels;
  }

  /** What the tab of a trait is called; undefined for what is in none. */
  titleOf(trait: string): string | undefined {
    return this.#titles[tabOf(trait)];
  }

  /** Whether there is something in the tab of a trait. */
  isOffered(trait: string): boolean {
    return this.#offered[tabOf(trait)] ?? false;
  }

  /** Draws the tab that is open, and from now on each when it is opened. */
  start(): void {
    this.#isHeld = false;
    this.#views[this.#chosen].draw();
  }

  /** Opens the tab of a trait, the first one where there is none. */
  choose(trait: unknown): void {
    const wanted = tabOf(trait);
    this.#views[Math.max(0, wanted)].show(wanted < 0 ? TABS[0].views[0].trait : trait);
    this.#bar.choose(Math.max(0, wanted));
  }

  #onChoose(chosen: number): void {
    this.#chosen = chosen;
    if (!this.#isHeld) this.#views[chosen].draw();
  }

  /** Opens the tab of a trait, also one that had nothing to offer, and where asked to moves there whoever came by keys. */
  show(trait: unknown, { moves }: { readonly moves: boolean }): void {
    const wanted = tabOf(trait);
    if (wanted < 0) return;
    this.choose(trait);
    if (moves) this.#bar.focus(wanted);
  }
}

function tabOf(trait: unknown): number {
  return TABS.findIndex(({ views }) => views.some((one) => one.trait === trait));
}
