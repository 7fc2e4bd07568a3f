/** The ops of GPUs in the linked time range -> a roofline: what each reaches, under what its device could do. */

import { COMPILE_CODE, frameworkOf } from "../../model/overview/framework";
import { scopeOf, stepsOfScope } from "../../model/time/scope";
import { rangeInPs } from "../../model/time/span_text";
import type { RooflineMeta } from "../../model/wire/roofline_meta";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { emptyState, h } from "../../ui/dom";
import { follow } from "../../ui/following";
import { OPS_OF_HOST } from "../../ui/of_host";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { Plot } from "./plot";
import { stepWork } from "./steps";
import { boundSentence, leftOut, stepSentence } from "./words";
import { hasPlace, workOf } from "./work";

class RooflineChart {
  readonly #say = h("span.tfp-say", { role: "status" });
  readonly #rest = h("span");
  readonly #plot: Plot;

  constructor(
    readonly view: TraceView,
    readonly roofline: RooflineMeta,
  ) {
    this.#plot = new Plot(view, roofline);
    view.root.append(
      h("div.tfp-fill", h("div.bar", this.#say), this.#plot.element, h("div.tfp-h", this.#plot.key, this.#rest)),
    );
    follow(view, {
      compute: () => this.#compute(),
      select: () => this.#plot.mark(),
      hover: () => this.#plot.mark(),
    });
    this.#compute();
  }

  #compute(): void {
    const { view, roofline } = this;
    const { data, link } = view;
    const table = (name: string) => data.table(name);
    const isWhole = link.timeRange === null && link.host === "";
    // Of one host nothing but its executions is known.
    const scope = isWhole ? scopeOf(link, table) : rangeInPs(link.timeRange, table("steps"));
    const nSteps = stepsOfScope(table("steps"), scope);
    const works = workOf(roofline, isWhole ? undefined : (table("occurrences") ?? EMPTY_TABLE), scope, nSteps ?? 1);
    const step = stepSentence(stepWork(view, roofline));
    const words = [step, boundSentence(works)].filter(Boolean);
    this.#say.replaceChildren(h("b", words[0] ?? "No op ran on a GPU in this range."), ` ${words.slice(1).join(" ")}`);
    this.#say.title = this.#say.textContent ?? "";
    this.#rest.textContent = works.length > 0 ? leftOut(works, roofline, isWhole) : "";
    this.#rest.title = this.#rest.textContent;
    this.#plot.show(works, words.join(" "), nSteps !== null);
  }
}

const NOT_KNOWN =
  "Ops ran on a GPU, but the capture does not tell both the float operations and the bytes of any: a program that XLA compiled tells them.";
const NO_GPU =
  "A roofline sets what kernels of a GPU compute and move against what it could. The Ops view has the time of all ops.";
const REDUCED =
  "A reduced profile has no single kernels. Open one of its hosts in full: the roofline is of that host then.";

function nothing({ data, signal }: TraceView): HTMLElement {
  if (data.meta.is_reduced) return emptyState("No roofline of a reduced profile", REDUCED, "", signal);
  if (data.meta.roofline === undefined) return emptyState("No kernel of a GPU in this capture", NO_GPU, "", signal);
  const code = COMPILE_CODE[frameworkOf(data.meta)];
  const why = `${NOT_KNOWN}${code && " Have XLA compile the training step:"}`;
  return emptyState("No roofline: what the ops compute is not known", why, code, signal);
}

export const rooflineChart: TraceBuilder = {
  name: "roofline_chart",
  build(view) {
    const roofline = view.data.meta.roofline?.[0];
    if (roofline && workOf(roofline, undefined, null).some(hasPlace)) new RooflineChart(view, roofline);
    else view.root.append(nothing(view));
  },
  needs: ["roofline", "steps"],
  forRange: ["occurrences"],
  forHost: ["occurrences"],
  ofHost: OPS_OF_HOST,
};
