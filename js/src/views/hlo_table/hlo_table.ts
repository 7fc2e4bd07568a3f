/** The executions of HLO ops in the linked time range -> a table of what XLA's programs are made of and what each part costs. */

import { N_SHARES } from "../../model/ops/top_shares";
import { COMPILE_CODE, frameworkOf } from "../../model/overview/framework";
import { formatPercent, plural } from "../../model/text/format";
import { perStep } from "../../model/time/scope";
import type { Scope } from "../../model/time/viewport";
import { FAMILIES, FAMILY_LABELS } from "../../model/wire/categories";
import type { TraceMeta } from "../../model/wire/meta";
import { type Choice, emptyState, noOps, segmented } from "../../ui/dom";
import { LinkedTable } from "../../ui/linked_table";
import { OPS_OF_HOST } from "../../ui/of_host";
import { timeTitles } from "../../ui/op_columns";
import { ShareBar, type ShareLook, shareSegments } from "../../ui/share_bar";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { hloColumns, hloCsv } from "./columns";
import {
  type Grouping,
  type HloOp,
  type HloRow,
  hloRows,
  hloTotals,
  type OpShare,
  opsOfHlos,
  withPrograms,
} from "./rows";

const GROUPINGS: readonly Choice<Grouping>[] = [
  { value: "op", text: "by op" },
  { value: "category", text: "by category" },
  { value: "program", text: "by program" },
];
const NOUNS: Readonly<Record<Grouping, string>> = { op: "HLO ops", category: "categories", program: "programs" };

/** Of more ops each is a small part: what kind of work there is says more at first. */
const MANY_OPS = 200;

class HloTable {
  #grouping: Grouping = "op";
  /** By what they do, for the bar: a category of fusions does many things. */
  #families: readonly HloRow[] = [];
  #regroup: (keep?: (hlo: number) => boolean) => HloRow[] = () => [];
  readonly #hlos: readonly HloOp[];
  /** For each HLO op the framework ops that it stands for, and their names. */
  readonly #shares: readonly (readonly OpShare[])[];
  readonly #ops: readonly (readonly string[])[];
  readonly #table: LinkedTable<HloRow>;

  constructor(readonly view: TraceView) {
    const { data } = view;
    const { meta } = data;
    this.#hlos = withPrograms(meta.hlo_ops ?? []);
    if (this.#hlos.length > MANY_OPS) this.#grouping = "category";
    this.#shares = opsOfHlos(data.table, this.#hlos.length);
    this.#ops = this.#shares.map((list) => list.map(([op]) => meta.names[meta.op_name[op]]));
    this.#table = this.#createTable();
  }

  #createTable(): LinkedTable<HloRow> {
    const { data, signal } = this.view;
    const has = {
      manyPrograms: new Set(this.#hlos.map((hlo) => hlo.program)).size > 1,
      flops: this.#hlos.some((hlo) => (hlo.flops ?? 0) > 0),
      bytes: this.#hlos.some((hlo) => (hlo.bytes_accessed ?? 0) > 0),
      // XLA often knows only the line of TensorFlow that makes all ops.
      source: this.#hlos.some((hlo) => hlo.is_users),
    };
    const grouping = () => this.#grouping;
    const framework = frameworkOf(data.meta);
    const bar = new ShareBar("By kind", (key) => this.#pickFamily(key), signal);
    return new LinkedTable<HloRow>(this.view, {
      label: "HLO ops by self time",
      filterLabel: `Filter HLO ops by name, category, ${framework} op or program`,
      noun: () => NOUNS[this.#grouping],
      weightNoun: "self time",
      weight: (row) => row.selfPs,
      columns: hloColumns({ grouping, framework, opOf: (row) => this.#opOf(row) }, has),
      sortBy: "self",
      key: (row) => `${this.#grouping}:${row.key}`,
      attributes: (row) => ({ "data-hlo-name": row.meta.name }),
      rows: (scope) => this.#rows(scope),
      isOverThreads: ({ meta }) => meta.device === "Host",
      texts: (row) => this.#texts(row.hlos[0]),
      // A group stands for those of its ops that match; an op keeps its rank and share among all.
      regroup: (test) => {
        const keep = (hlo: number) => this.#texts(hlo).some(test);
        if (this.#grouping !== "op") return this.#regroup(keep);
        return this.#regroup().filter((row) => keep(row.hlos[0]));
      },
      opsOf: (row) => row.hlos.flatMap((hlo) => this.#ops[hlo]),
      csv: { file: "hlo_ops.csv", columns: hloCsv(grouping) },
      controls: [segmented("Rows", GROUPINGS, this.#grouping, (grouping) => this.#group(grouping), signal)],
      above: [bar.element],
      onRows: (_, nSteps) => {
        const look = { ...SHARE_LOOK, each: perStep("", nSteps) };
        bar.set(shareSegments(this.#families, (row) => row.selfPs, look));
      },
      titles: (nSteps) => ({
        ...timeTitles(nSteps),
        name: { op: "HLO op", category: "HLO ops", program: "Program" }[this.#grouping],
      }),
      empty: () => (this.#hlos.length === 0 ? noPrograms(data.meta, signal) : null),
    });
  }

  #group(grouping: Grouping): void {
    this.#grouping = grouping;
    this.#table.compute();
  }

  #rows(scope: Scope): HloRow[] {
    const { data } = this.view;
    const totals = hloTotals(data.meta, data.table, this.#hlos.length, scope);
    this.#families = hloRows(this.#hlos, totals, "family");
    this.#regroup = (keep) => {
      const occurrences = keep ? totals.occurrences.map((n, hlo) => (keep(hlo) ? n : 0)) : totals.occurrences;
      return hloRows(this.#hlos, { ...totals, occurrences }, this.#grouping);
    };
    return this.#regroup();
  }

  /** The op of the row's own metadata, else the one that its time counts for; on hover all that it counts for. */
  #opOf(row: HloRow): { name: string; isOwn: boolean; title: string } {
    const { op_name, op_type } = row.meta;
    const shares = this.#shares[row.hlos[0]];
    const names = this.#ops[row.hlos[0]];
    const lines = shares.slice(0, N_SHARES).map(([, ratio], i) => `${formatPercent(ratio)} ${names[i]}`);
    if (shares.length > N_SHARES) lines.push(`and ${plural(shares.length - N_SHARES, "other op")} of ${shares.length}`);
    const counts = lines.length > 0 ? `Its time counts for\n${lines.join("\n")}` : "";
    const own = op_name && op_type ? `${op_name}\n${op_type}` : op_name;
    return {
      name: op_name || names[0] || "",
      isOwn: op_name !== "",
      title: [own, counts].filter(Boolean).join("\n\n"),
    };
  }

  #texts(hlo: number): readonly string[] {
    const { name, category, op_name, op_type, module, source } = this.#hlos[hlo];
    return [name, category, op_name, op_type, module, source];
  }

  #pickFamily(key: string): void {
    const row = this.#families.find((one) => one.key === key);
    if (row) this.#table.pick(row.hlos.flatMap((hlo) => this.#ops[hlo]));
  }
}

const SHARE_LOOK: ShareLook<HloRow> = {
  noun: "kinds",
  whole: "self time",
  of: ({ key, meta }) => {
    const family = FAMILIES[meta.family] ?? "runtime";
    const name = FAMILY_LABELS[family];
    return { key, name, short: [name], family };
  },
};

function noPrograms(meta: TraceMeta, signal: AbortSignal): HTMLElement {
  if (meta.op_name.length === 0) return noOps(meta, signal);
  const framework = frameworkOf(meta);
  const ofKeras =
    framework === "TensorFlow"
      ? " Keras compiles a training step by itself on one GPU, and anywhere when asked to:"
      : "";
  const why = `XLA compiled nothing that ran here, so the Ops view tells everything.${ofKeras}`;
  return emptyState("No XLA program in this capture", why, COMPILE_CODE[framework], signal);
}

export const hloTable: TraceBuilder = {
  name: "hlo_table",
  build(view) {
    new HloTable(view);
  },
  needs: ["hlo_ops", "hlo_units", "steps", "step_totals"],
  forRange: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
