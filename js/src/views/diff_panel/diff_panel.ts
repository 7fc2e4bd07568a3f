/** A comparison of two runs -> verdict, step times, what a step is made of, tables of what changed, and both timelines, linked. */

import { connectLink, type Link } from "../../host/link";
import { formatCount } from "../../model/text/format";
import { button, h } from "../../ui/dom";
import type { FilteredTable } from "../../ui/filtered_table";
import { TabBar, type TabTitle } from "../../ui/tabs";
import type { View, ViewBuilder } from "../../ui/view";
import { breakdown } from "./breakdown";
import { head } from "./head";
import { Partners } from "./partners";
import { type DiffContent, type DiffTable, readContent } from "./payload";
import { type DiffRow, TABLE_WORDS } from "./rows";
import { SharedSelection } from "./selection";
import { diffTable } from "./table";
import { Timelines } from "./timelines";

/** The link of a run's timeline; null where the run has none. */
async function linkOf(view: View, trait: string): Promise<Link | null> {
  const ref = view.model.get(trait);
  if (!ref) return null;
  const timeline = await view.host.getModel(String(ref), { signal: view.signal });
  return connectLink(view.host, String(timeline.get("link")), view.signal);
}

function notices(content: DiffContent): HTMLElement[] {
  return content.notices.map((text) => h("div.note", { role: "status" }, text));
}

/** What the page leaves out of the timelines. */
function limits({ options }: View): HTMLElement[] {
  const found = Array.isArray(options.notices) ? options.notices.map(String) : [];
  return found.map((text) => h("p.q.tfp-limit", { role: "status" }, text));
}

/** The tables in tabs, and what of them is selected. */
class Tables {
  readonly elements: readonly HTMLElement[];
  readonly #views = new Map<number, FilteredTable<DiffRow>>();
  readonly #chip: HTMLElement;
  readonly #chosen = h("span.cut", { role: "status" });

  constructor(
    readonly view: View,
    readonly content: DiffContent,
    readonly selection: SharedSelection,
    readonly showTimelines: () => void,
  ) {
    const titles = content.tables.map(tabTitle);
    const tabs = new TabBar("What changed", titles, (chosen) => this.#draw(tabs, chosen), view.signal);
    this.#chip = h(
      "span.tfp-diff-chip",
      { hidden: true },
      this.#chosen,
      button("Show in timelines", showTimelines, view.signal, { class: "link" }),
      button("×", () => selection.clear(), view.signal, {
        "aria-label": "Clear the selection",
        title: "Clear the selection",
      }),
    );
    tabs.bar.append(this.#chip);
    this.elements = [tabs.bar, ...tabs.panels];
    selection.onChange(() => this.#follow());
    tabs.choose(firstTab(content));
    this.#follow();
  }

  #draw(tabs: TabBar, chosen: number): void {
    if (this.#views.has(chosen)) return;
    const { tables: all, is_per_step } = this.content;
    const unit = is_per_step ? "ms a step" : "ms of the whole capture";
    const made = diffTable(this.view, all[chosen], unit, {
      pick: (row) => {
        if (row.ops[0].length + row.ops[1].length > 0) this.selection.toggle(row.ops);
      },
      isPicked: (row) => this.#isPicked(row),
    });
    this.#views.set(chosen, made);
    tabs.panels[chosen].append(made.element);
    made.followSelection(true);
  }

  #isPicked(row: DiffRow): boolean {
    return ([0, 1] as const).some((run) => {
      const chosen = this.selection.of(run);
      return chosen.length > 0 && row.ops[run].some((name) => chosen.includes(name));
    });
  }

  #follow(): void {
    for (const table of this.#views.values()) table.followSelection(true);
    const names = [this.selection.of(0), this.selection.of(1)];
    const all = names[1].length > 0 ? names[1] : names[0];
    this.#chip.hidden = all.length === 0;
    const where = names[0].length === 0 ? " in b alone" : names[1].length === 0 ? " in a alone" : "";
    this.#chosen.textContent = all.length === 1 ? `${all[0]}${where}` : `${formatCount(all.length)} ops${where}`;
    this.#chip.title = all.slice(0, 20).join("\n");
  }
}

function tabTitle({ id, n_rows, n_changed, is_noise_known }: DiffTable): TabTitle {
  const [changed, all] = [formatCount(n_changed), formatCount(n_rows)];
  const text = TABLE_WORDS[id].title;
  if (!is_noise_known) return { text, note: all, title: `${all} rows; how much of a change is noise is not known` };
  return { text, note: `${changed}/${all}`, title: `${changed} of ${all} changed beyond noise` };
}

/** The first table in which anything changed, else the first. */
function firstTab({ tables }: DiffContent): number {
  return Math.max(
    0,
    tables.findIndex((table) => table.n_changed > 0),
  );
}

export const diffPanel: ViewBuilder = {
  name: "diff_panel",
  async build(view) {
    view.root.classList.add("tfp-diff");
    const reference = String(view.model.get("data"));
    const [content, ...links] = await Promise.all([
      view.host.getModel(reference, { signal: view.signal }).then(readContent),
      linkOf(view, "timeline_a"),
      linkOf(view, "timeline_b"),
    ]);
    const [linkA, linkB] = links;
    const timelines = new Timelines(view, content);
    const selection = new SharedSelection([linkA, linkB], new Partners(content.pairs, content.lone), view.signal);
    const parts = breakdown(content.categories, content.step_times);
    const tables = h("div.tables");
    const body = h(
      "div.tfp-diff-body",
      ...notices(content),
      head(content),
      parts,
      tables,
      ...limits(view),
      timelines.element,
    );
    view.root.append(body);
    const drawing = timelines.draw();
    if (content.tables.length > 0) {
      const show = () => timelines.element.scrollIntoView({ block: "nearest" });
      tables.append(...new Tables(view, content, selection, show).elements);
    }
    await drawing;
  },
};
