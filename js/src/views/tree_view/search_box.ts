/** What the reader types -> nodes that match, "N of M", and with Enter the next of them. */

import { findNodes } from "../../model/graph/cost_tree";
import { textFilter } from "../../model/ops/ops";
import { formatCount } from "../../model/text/format";
import { h, on, onKeys, setAria } from "../../ui/dom";
import { inFrame } from "../../ui/page";
import type { TreeModel } from "./model";

export interface SearchBoxListeners {
  /** The hits changed. */
  onFound(): void;
  /** A hit was gone to. */
  onGoTo(node: number): void;
}

export class SearchBox {
  readonly #input = h("input", {
    ...{ type: "search", placeholder: "Find: text or /regex/", "aria-label": "Find a scope, op or type" },
    title: "Enter goes to the next, Shift+Enter back, Esc ends",
  });
  readonly #say = h("span.q.tfp-found", { role: "status" });
  readonly elements: readonly HTMLElement[] = [this.#input, this.#say];

  constructor(
    readonly model: TreeModel,
    readonly listeners: SearchBoxListeners,
    signal: AbortSignal,
  ) {
    const search = inFrame(() => this.search(), signal);
    on(this.#input, signal, { input: search });
    onKeys(this.#input, signal, (event) => this.#key(event));
  }

  /** Anew, as after a change of the tree or of the figure. */
  search(): void {
    const { model } = this;
    const text = this.#input.value;
    const { test, error } = textFilter(text);
    setAria(this.#input, "invalid", error !== "");
    model.hitAt = -1;
    if (text.trim() === "" || error !== "") model.hits = null;
    else {
      const { structure, tree } = model;
      const about = { names: structure.meta.names, typeOf: (op: number) => structure.typeOf(op) };
      const options = { isPath: text.trim().slice(1, -1).includes("/"), total: model.figures().total };
      model.hits = findNodes(tree, about, test, options);
    }
    this.#describe(error);
    this.listeners.onFound();
  }

  #describe(error = ""): void {
    const { hits, hitAt, structure, nEntries } = this.model;
    if (error !== "") this.#say.textContent = `Not searched: ${error}`;
    else if (hits === null) this.#say.textContent = "";
    else if (hitAt >= 0) this.#say.textContent = `${formatCount(hitAt + 1)} of ${formatCount(hits.length)} found`;
    else {
      const all = nEntries - 1 + structure.nOps;
      this.#say.textContent = `${formatCount(hits.length)} of ${formatCount(all)} found${hits.length > 0 ? ", Enter: next" : ""}`;
    }
  }

  #key(event: KeyboardEvent): boolean {
    const { model } = this;
    if (event.key === "Escape" && this.#input.value !== "") {
      this.#input.value = "";
      this.search();
    } else if (event.key === "Enter" && model.hits !== null && model.hits.length > 0) {
      const n = model.hits.length;
      model.hitAt = event.shiftKey ? (Math.max(0, model.hitAt) - 1 + n) % n : (model.hitAt + 1) % n;
      this.#describe();
      this.listeners.onGoTo(model.hits[model.hitAt]);
    } else return false;
    return true;
  }
}
