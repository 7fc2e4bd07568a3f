/** What the chart is about -> the tables under it, of which one is shown: holders by op, layer or line, by step, lifetimes, not freed. */

import type { MemoryEvents } from "../../model/memory/memory";
import { AFTER_STEPS, unfreedByOp } from "../../model/memory/memory_growth";
import type { HeldBy } from "../../model/memory/memory_holders";
import { topLifetimes } from "../../model/memory/memory_lifetimes";
import type { MemoryStep } from "../../model/memory/memory_steps";
import { formatCount, plural } from "../../model/text/format";
import { stepsOfRange } from "../../model/time/span_text";
import { timeOfSteps } from "../../model/time/step_bars";
import type { RangePs } from "../../model/time/viewport";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { button, h, segmented, setAria } from "../../ui/dom";
import { Ledger, type LedgerRow } from "../../ui/ledger";
import { toggleSelection } from "../../ui/selecting";
import type { TraceView } from "../../ui/view";
import {
  type LifeRow,
  lifeLedger,
  lifeRow,
  type StepRow,
  stepLedger,
  stepRow,
  type UnfreedRow,
  unfreedLedger,
  unfreedRow,
  unitOf,
} from "./ledgers";
import { LiveTable } from "./live_table";
import { opName } from "./words";

const CHOICES = [
  { value: "op", text: "By op" },
  { value: "layer", text: "By layer" },
  { value: "line", text: "By line" },
  { value: "steps", text: "By step" },
  { value: "lifetimes", text: "Lifetimes" },
  { value: "unfreed", text: "Possible leaks" },
] as const;
export type Pane = (typeof CHOICES)[number]["value"];

function isHolders(pane: Pane): pane is HeldBy {
  return pane === "op" || pane === "layer" || pane === "line";
}

/** Allocations in the table of lifetimes: the longest-lived, and as many of the largest. */
const MAX_LIFETIMES = 500;

export interface PaneScene {
  readonly events: MemoryEvents;
  readonly steps: readonly MemoryStep[];
  readonly range: RangePs;
  /** Of the events: whose state the table of holders shows, and in words when that is. */
  readonly row: number;
  readonly when: string;
}

export class Panes {
  readonly element = h("div.tfp-panes");
  readonly control: HTMLElement;
  readonly csvButton: HTMLElement;
  readonly #live: LiveTable;
  readonly #ledgers = new Map<Pane, { readonly ledger: Ledger<never>; readonly fill: (scene: PaneScene) => void }>();
  #pane: Pane = "op";
  #scene: PaneScene | null = null;

  constructor(
    readonly view: TraceView,
    readonly onMoment: (timePs: number) => void,
  ) {
    this.#live = new LiveTable(view);
    this.element.append(this.#live.element);
    const choose = (pane: Pane) => this.choose(pane);
    this.control = segmented("Table", CHOICES, "op", choose, view.signal);
    this.csvButton = button("CSV", () => this.#save(), view.signal, { title: "Save the rows shown: bytes and ms" });
    const mark = () => this.#ledgers.get(this.#pane)?.ledger.mark();
    view.link.on("selection", mark, view.signal);
    view.link.on("step", mark, view.signal);
  }

  /** Shows one of the tables; its button follows. */
  choose(pane: Pane): void {
    this.#pane = pane;
    for (const [i, choice] of [...this.control.children].entries()) {
      setAria(choice, "pressed", CHOICES[i].value === pane);
    }
    if (isHolders(pane)) this.#live.groupBy(pane);
    else if (!this.#ledgers.has(pane)) {
      const made = this.#make(pane);
      this.#ledgers.set(pane, made);
      this.element.append(made.ledger.element);
    }
    this.#live.element.hidden = !isHolders(pane);
    for (const [name, { ledger }] of this.#ledgers) ledger.element.hidden = name !== pane;
    if (this.#scene !== null) this.show(this.#scene);
  }

  show(scene: PaneScene): void {
    this.#scene = scene;
    if (isHolders(this.#pane)) this.#live.show(scene.events, scene.row, scene.when);
    else this.#ledgers.get(this.#pane)?.fill(scene);
  }

  #save(): void {
    if (isHolders(this.#pane)) this.#live.save();
    else this.#ledgers.get(this.#pane)?.ledger.save();
  }

  #make(pane: Exclude<Pane, HeldBy>) {
    const made = { steps: () => this.#steps(), lifetimes: () => this.#lifetimes(), unfreed: () => this.#unfreed() };
    return made[pane]() as unknown as { ledger: Ledger<never>; fill: (scene: PaneScene) => void };
  }

  #steps() {
    const { link, data } = this.view;
    const table = () => data.table("steps") ?? EMPTY_TABLE;
    let unit = unitOf([]);
    const ledger = new Ledger<StepRow>(this.view.signal, {
      ...stepLedger(() => unit),
      onPick: ({ step }) => {
        const isChosen = link.step === step;
        link.setTimeRange(isChosen ? null : timeOfSteps(table(), step, step));
        link.setStep(isChosen ? -1 : step);
      },
      isSelected: ({ step }) => {
        const range = link.timeRange;
        const covered = range && stepsOfRange(table(), [range[0] * 1000, range[1] * 1000]);
        return covered ? covered[0] <= step && step <= covered[1] : false;
      },
    });
    // All steps, whatever the range: one of many is only told to be high beside the others.
    const fill = ({ steps }: PaneScene) => {
      unit = unitOf(steps.map((step) => step.peakBytes));
      const rows = steps.map((step) => stepRow(step, data.meta.step_names));
      const titles = { peak: `Peak, ${unit[1]}`, start: `Begin, ${unit[1]}`, end: `End, ${unit[1]}` };
      ledger.show(rows, {
        ...titles,
        growth: `Change, ${unit[1]}`,
        allocated: `Allocated, ${unit[1]}`,
        name: plural(rows.length, "step"),
      });
    };
    return { ledger, fill };
  }

  #lifetimes() {
    let unit = unitOf([]);
    const ledger = new Ledger<LifeRow>(this.view.signal, {
      ...lifeLedger(() => unit, opName(this.view.data.meta, -1)),
      onPick: (row) => {
        this.#select(row);
        this.onMoment(row.atPs);
      },
      isSelected: (row) => this.view.link.selection.includes(row.name),
    });
    const fill = ({ events, range }: PaneScene) => {
      const { rows, nAllocations } = topLifetimes(events, range, MAX_LIFETIMES);
      const shown = Array.from(rows, (row) => lifeRow(this.view.data.meta, events, row));
      unit = unitOf(shown.map((row) => row.bytes));
      const n = formatCount(shown.length);
      const isPart = nAllocations > shown.length;
      const name = isPart ? `Longest or largest ${n} of ${formatCount(nAllocations)}` : `Allocated by · ${n}`;
      ledger.show(shown, { name, bytes: `Size, ${unit[1]}` });
    };
    return { ledger, fill };
  }

  #unfreed() {
    let unit = unitOf([]);
    const ledger = new Ledger<UnfreedRow>(this.view.signal, {
      ...unfreedLedger(() => unit, opName(this.view.data.meta, -1)),
      onPick: (row) => this.#select(row),
      isSelected: (row) => this.view.link.selection.includes(row.name),
    });
    const fill = ({ events, steps, range }: PaneScene) => {
      const inRange = steps.filter((step) => range === null || (step.startPs < range[1] && step.endPs > range[0]));
      const rows = unfreedByOp(events, inRange).map((row) => unfreedRow(row, this.view.data.meta.names));
      unit = unitOf(rows.map((row) => Math.max(row.heldBytes, row.allocatedBytes - row.heldBytes)));
      const name = `Held over ${AFTER_STEPS} steps: ${plural(rows.length, "op")}`;
      ledger.show(rows, {
        name,
        held: `Not freed, ${unit[1]}`,
        late: `Freed late, ${unit[1]}`,
        rate: `Growth a step, ${unit[1]}`,
      });
    };
    return { ledger, fill };
  }

  #select(row: LedgerRow): void {
    if (row.name !== "") toggleSelection(this.view.link, [row.name]);
  }
}
