/** What was live at one row of the memory events -> a table of the holders, largest first. */

import { byteUnit, type LiveGroup, liveAt, type MemoryEvents, REMAINDER, STACK } from "../../model/memory/memory";
import { toCsv } from "../../model/text/csv";
import { cutNames } from "../../model/text/cut";
import { formatPercent, plural } from "../../model/text/format";
import { download } from "../../ui/dom";
import { createGrid, type Grid } from "../../ui/grid";
import { inFrame, textFits } from "../../ui/page";
import type { TraceView } from "../../ui/view";
import { type Holder, type HolderLook, holderColumns } from "./columns";

export class LiveTable {
  readonly element: HTMLElement;
  readonly #grid: Grid<Holder>;
  #rows: Holder[] = [];
  #cuts = new Map<string, string>();
  #unit: readonly [number, string] = [1, "B"];
  #when = "";

  constructor(readonly view: TraceView) {
    this.#grid = createGrid<Holder>(
      holderColumns(() => this.#look()),
      {
        label: "What holds memory",
        key: (row) => String(row.rank),
        attributes: (row) => ({ "data-op-name": row.name }),
        onPick: (row) => this.#pick(row),
        sortBy: "allocated",
        placeholder: "Nothing is held then.",
        signal: view.signal,
        onWidths: inFrame(() => this.#fill(), view.signal),
      },
    );
    this.element = this.#grid.element;
    view.link.on("selection", () => this.#followSelection(), view.signal);
  }

  show(events: MemoryEvents, row: number, when: string): void {
    const { names } = this.view.data.meta;
    const name = (id: number) => names[id] ?? "";
    this.#rows = liveAt(events, row).map((group, i) => ({
      ...group,
      rank: i + 1,
      name: holderName(group, name),
      regionName: group.op === REMAINDER || group.op === STACK ? "" : name(group.region),
      dtypeName: name(group.dtype) === "INVALID" ? "" : name(group.dtype),
      shapeName: name(group.shape),
    }));
    this.#when = when;
    this.#unit = byteUnit(this.#rows[0]?.allocatedBytes ?? 0);
    this.#fill();
  }

  /** The rows with their names cut to the width of the column. */
  #fill(): void {
    const room = (this.#grid.columnWidth("name") || 320) - 14;
    this.#cuts = cutNames(
      this.#rows.map((holder) => holder.name),
      textFits(this.view.root, room),
    );
    const held = this.#rows.reduce((sum, holder) => sum + holder.allocatedBytes, 0);
    const explained = this.#rows.reduce(
      (sum, holder) => sum + (holder.op === REMAINDER ? 0 : holder.allocatedBytes),
      0,
    );
    const share = held > 0 && explained < held ? ` · ${formatPercent(explained / held)} from this capture` : "";
    const title = `Held ${this.#when} by: ${plural(this.#rows.length, "holder")}`;
    const fits = textFits(this.view.root, room);
    this.#grid.setTitle("name", fits(`${title}${share}`) ? `${title}${share}` : title);
    this.#grid.setTitle("allocated", `Allocated, ${this.#unit[1]}`);
    this.#grid.setTitle("requested", `Requested, ${this.#unit[1]}`);
    this.#grid.setRows(this.#rows);
    this.#followSelection();
  }

  #look(): HolderLook {
    return { cuts: this.#cuts, unit: this.#unit, maxBytes: this.#rows[0]?.allocatedBytes ?? 0 };
  }

  #pick(row: Holder): void {
    if (row.op < 0 || row.name === "") return;
    const { link } = this.view;
    const isChosen = link.selection.length === 1 && link.selection[0] === row.name;
    link.setSelection(isChosen ? [] : [row.name]);
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    const keys = this.#rows.filter((row) => row.op >= 0 && chosen.has(row.name)).map((row) => String(row.rank));
    this.#grid.setSelected(new Set(keys));
  }

  /** Gives the page the rows shown, in bytes. */
  save(): void {
    const header = ["op", "allocated_bytes", "requested_bytes", "count", "region", "dtype", "shape", "held"];
    const rows = this.#grid
      .shown()
      .map((row) => [
        row.name,
        row.allocatedBytes,
        row.requestedBytes,
        row.count,
        row.regionName,
        row.dtypeName,
        row.shapeName,
        this.#when,
      ]);
    download("memory.csv", toCsv(header, rows), "text/csv");
  }
}

function holderName(group: LiveGroup, name: (id: number) => string): string {
  if (group.op === REMAINDER) return "allocated before the capture";
  if (group.op === STACK) return "stack";
  return name(group.op) || "op not recorded";
}
