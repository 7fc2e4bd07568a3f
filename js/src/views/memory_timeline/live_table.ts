/** What was live at one row of the memory events -> a table of what holds it by op, layer or line, largest first. */

import { byteUnit, type LiveGroup, liveAt, type MemoryEvents, REMAINDER, STACK } from "../../model/memory/memory";
import { type Held, type HeldBy, OpPlaces, PLACE_SECTIONS, together } from "../../model/memory/memory_holders";
import { formatPercent, plural } from "../../model/text/format";
import { NOT_HERE } from "../../model/time/left_out";
import { Ledger } from "../../ui/ledger";
import { textFits } from "../../ui/page";
import { toggleSelection } from "../../ui/selecting";
import type { TraceView } from "../../ui/view";
import { type ByteUnit, type Holder, holderColumns, holderCsv } from "./columns";
import { opName } from "./words";

/** Around the title of a column. */
const HEAD_PADDING_PX = 14;
const NOUNS: Readonly<Record<HeldBy, string>> = { op: "op", layer: "layer", line: "line" };
const NOTHING = "Nothing is held then.";

export class LiveTable {
  readonly #ledger: Ledger<Holder>;
  #rows: readonly Holder[] = [];
  #groups: readonly LiveGroup[] = [];
  #by: HeldBy = "op";
  #places: OpPlaces | null = null;
  #unit: ByteUnit = [1, "B"];
  #when = "";

  constructor(readonly view: TraceView) {
    const { link, signal } = view;
    this.#ledger = new Ledger<Holder>(signal, {
      label: "What holds memory",
      columns: holderColumns(() => this.#unit),
      sortBy: "allocated",
      placeholder: NOTHING,
      onPick: ({ ops }) => ops.length > 0 && toggleSelection(link, ops),
      isSelected: ({ ops }) => ops.some((name) => link.selection.includes(name)),
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
    this.#groups = liveAt(events, row);
    this.#when = when;
    this.#draw();
  }

  /** Puts together what belongs to the same op, layer or line, as soon as it is known what does. */
  groupBy(by: HeldBy): void {
    this.#by = by;
    this.#draw();
    if (by === "op" || this.#places !== null) return;
    const { data, guard } = this.view;
    const fill = guard(async () => {
      await data.ready(PLACE_SECTIONS);
      if (PLACE_SECTIONS.every((name) => data.isWhole(name)))
        this.#places = new OpPlaces(data.meta, data.table("op_places"));
      this.#draw();
    });
    fill();
  }

  #draw(): void {
    const { meta } = this.view.data;
    const [by, places] = [this.#by, this.#places];
    const isKnown = by === "op" || places !== null;
    const waiting = this.view.data.isOffline ? NOT_HERE : `Looking for the ${NOUNS[by]}s …`;
    this.#ledger.setPlaceholder(isKnown ? NOTHING : waiting);
    const place = (group: LiveGroup) => {
      const own = holderName(group, (id) => opName(meta, id));
      if (by === "op" || group.op <= REMAINDER) return own;
      return places?.of(meta.names[group.op] ?? "", by) || (group.op < 0 ? own : unknown(by));
    };
    const held: readonly Held[] =
      by === "op" ? this.#groups.map((one) => ({ name: place(one), groups: [one] })) : together(this.#groups, place);
    this.#rows = isKnown ? held.map((one, i) => this.#holder(one, i + 1)) : [];
    this.#unit = byteUnit(this.#rows[0]?.allocatedBytes ?? 0);
    this.#ledger.show(this.#rows, this.#titles);
  }

  #holder({ name, groups }: Held, rank: number): Holder {
    const { names } = this.view.data.meta;
    const sum = (value: (group: LiveGroup) => number) => groups.reduce((total, group) => total + value(group), 0);
    // What describes one group says nothing of several.
    const text = (id: (group: LiveGroup) => number) => (groups.length === 1 ? (names[id(groups[0])] ?? "") : "");
    const isOps = groups[0].op !== REMAINDER && groups[0].op !== STACK;
    const dtype = text((group) => group.dtype);
    return {
      ...{ key: String(rank), rank, name, op: groups[0].op },
      count: sum((group) => group.count),
      allocatedBytes: sum((group) => group.allocatedBytes),
      requestedBytes: sum((group) => group.requestedBytes),
      regionName: isOps ? text((group) => group.region) : "",
      dtypeName: dtype === "INVALID" ? "" : dtype,
      shapeName: text((group) => group.shape),
      ops: [...new Set(groups.flatMap(({ op }) => names[op] || []))],
    };
  }

  get #titles(): Readonly<Record<string, string>> {
    const sum = (rows: readonly Holder[]) => rows.reduce((bytes, { allocatedBytes }) => bytes + allocatedBytes, 0);
    const held = sum(this.#rows);
    const explained = sum(this.#rows.filter(({ op }) => op !== REMAINDER));
    const share = held > 0 && explained < held ? ` · ${formatPercent(explained / held)} from this capture` : "";
    const counted = this.#n > 0 ? `: ${plural(this.#n, NOUNS[this.#by])}` : "";
    const title = `In memory ${this.#when}${counted}`;
    const fits = textFits(this.view.root, this.#ledger.columnWidth("name") - HEAD_PADDING_PX);
    return {
      name: fits(`${title}${share}`) ? `${title}${share}` : title,
      allocated: `Allocated, ${this.#unit[1]}`,
      requested: `Requested, ${this.#unit[1]}`,
    };
  }

  /** Ops, layers or lines that are known by name. */
  get #n(): number {
    if (this.#by === "op") return new Set(this.#rows.flatMap(({ ops }) => ops)).size;
    return this.#rows.filter(({ ops, name }) => ops.length > 0 && name !== unknown(this.#by)).length;
  }

  /** Gives the page the rows shown, in bytes. */
  save(): void {
    this.#ledger.save();
  }
}

function unknown(by: HeldBy): string {
  return `${by} not known`;
}

function holderName({ op }: LiveGroup, name: (id: number) => string): string {
  if (op === REMAINDER) return "allocated before the capture";
  return op === STACK ? "stack" : name(op);
}
