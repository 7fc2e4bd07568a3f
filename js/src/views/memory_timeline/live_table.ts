/** What was live at one row of the memory events -> a table of the holders, largest first. */

import { byteUnit, type LiveGroup, liveAt, type MemoryEvents, REMAINDER, STACK } from "../../model/memory/memory";
import { formatPercent, plural } from "../../model/text/format";
import { Ledger } from "../../ui/ledger";
import { textFits } from "../../ui/page";
import { toggleSelection } from "../../ui/selecting";
import type { TraceView } from "../../ui/view";
import { type ByteUnit, type Holder, holderColumns, holderCsv } from "./columns";

/** Around the title of a column. */
const HEAD_PADDING_PX = 14;

export class LiveTable {
  readonly #ledger: Ledger<Holder>;
  #rows: readonly Holder[] = [];
  #unit: ByteUnit = [1, "B"];
  #when = "";

  constructor(readonly view: TraceView) {
    const { link, signal } = view;
    this.#ledger = new Ledger<Holder>(signal, {
      label: "What holds memory",
      columns: holderColumns(() => this.#unit),
      sortBy: "allocated",
      placeholder: "Nothing is held then.",
      onPick: ({ op, name }) => op >= 0 && name !== "" && toggleSelection(link, [name]),
      isSelected: ({ op, name }) => op >= 0 && link.selection.includes(name),
      onWidths: () => this.#ledger.setTitles(this.#titles),
      fileName: "memory.csv",
      csv: holderCsv(() => this.#when),
    });
    link.on("selection", () => this.#ledger.mark(), signal);
  }

  get element(): HTMLElement {
    return this.#ledger.element;
  }

  show(events: MemoryEvents, row: number, when: string): void {
    const { names } = this.view.data.meta;
    const name = (id: number) => names[id] ?? "";
    this.#rows = liveAt(events, row).map((group, i) => ({
      ...group,
      key: String(i + 1),
      rank: i + 1,
      name: holderName(group, name),
      regionName: group.op === REMAINDER || group.op === STACK ? "" : name(group.region),
      dtypeName: name(group.dtype) === "INVALID" ? "" : name(group.dtype),
      shapeName: name(group.shape),
    }));
    this.#when = when;
    this.#unit = byteUnit(this.#rows[0]?.allocatedBytes ?? 0);
    this.#ledger.show(this.#rows, this.#titles);
  }

  get #titles(): Readonly<Record<string, string>> {
    const sum = (rows: readonly Holder[]) => rows.reduce((bytes, { allocatedBytes }) => bytes + allocatedBytes, 0);
    const held = sum(this.#rows);
    const explained = sum(this.#rows.filter(({ op }) => op !== REMAINDER));
    const share = held > 0 && explained < held ? ` · ${formatPercent(explained / held)} from this capture` : "";
    const title = `Held ${this.#when} by: ${plural(this.#rows.length, "holder")}`;
    const fits = textFits(this.view.root, this.#ledger.columnWidth("name") - HEAD_PADDING_PX);
    return {
      name: fits(`${title}${share}`) ? `${title}${share}` : title,
      allocated: `Allocated, ${this.#unit[1]}`,
      requested: `Requested, ${this.#unit[1]}`,
    };
  }

  /** Gives the page the rows shown, in bytes. */
  save(): void {
    this.#ledger.save();
  }
}

function holderName(group: LiveGroup, name: (id: number) => string): string {
  if (group.op === REMAINDER) return "allocated before the capture";
  if (group.op === STACK) return "stack";
  return name(group.op) || "op not recorded";
}
