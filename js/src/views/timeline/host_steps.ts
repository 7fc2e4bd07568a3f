/** The tables of steps and the linked host -> what the timeline shows host by host, and whose steps its head has. */
import { hostNamesThatFit } from "../../model/hosts/host_names";
import { allSteps, type HeadSteps, type HostStrip, hostStrips, stepsOfHost } from "../../model/hosts/host_strips";
import type { Steps } from "../../model/time/steps";
import { type HostSource, hostSource } from "../../model/tracks/host_tracks";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import type { TraceView } from "../../ui/view";

/** Characters of a name that the label column has room for. */
const NAME_CHARACTERS = 17;

export class HostSteps {
  /** Null for a capture of one host. */
  source: HostSource | null = null;
  /** By host. */
  strips: readonly HostStrip[] = [];
  /** By host, as the label column has room for. */
  shortNames: readonly string[] = [];
  /** The steps that the head of the timeline shows: of several hosts those of one. */
  head: HeadSteps;
  /** Which host that is, shortly; "" for a capture of one. */
  headHost = "";
  #steps: Steps;

  constructor(
    readonly trace: TraceView,
    steps: Steps,
  ) {
    this.#steps = steps;
    this.head = allSteps(steps);
    this.read(steps);
  }

  /** Takes the steps of all hosts. */
  read(steps: Steps) {
    const { data } = this.trace;
    this.#steps = steps;
    this.head = allSteps(steps);
    this.choose();
    if (this.source === null) return;
    const { names } = this.source;
    this.shortNames = hostNamesThatFit(names, NAME_CHARACTERS);
    const hostOfStep = numbers(data.table("steps") ?? EMPTY_TABLE, "host");
    const pieceStep = (data.table("step_pieces")?.columns.step as Int32Array | undefined) ?? new Int32Array();
    this.strips = hostStrips(names.length, hostOfStep, steps.piece, pieceStep);
    this.#readHead();
  }

  /** Takes the linked host. */
  choose() {
    this.source = hostSource(this.trace.data.meta, this.trace.link.host);
    this.#readHead();
  }

  /** The steps of the chosen host, else of the first that has some. */
  #readHead() {
    if (this.source === null) return;
    const { chosen, names } = this.source;
    const hasSteps = (host: number) => (this.strips[host]?.rows.length ?? 0) > 0;
    const host = [chosen, ...names.keys()].find((one) => one >= 0 && hasSteps(one));
    this.headHost = host === undefined ? "" : (this.shortNames[host] ?? names[host]);
    this.head = host === undefined ? allSteps(this.#steps) : stepsOfHost(this.#steps, this.strips[host]);
  }

  /** A row of the head's steps as one of all, and the other way round; -1 for none. */
  stepOfHead(row: number): number {
    return row < 0 ? -1 : (this.head.rows?.[row] ?? row);
  }
  headOfStep(step: number): number {
    return this.head.rows === null ? step : this.head.rows.indexOf(step);
  }
}
