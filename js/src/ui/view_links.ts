/** Sentences that name a view of the dashboard -> text in which the name opens that view. */

import { button } from "./dom";

/** Asks the dashboard around a view for another view; `detail` is its trait. */
export const SHOW_VIEW = "tfprof-show-view";
/** The same, but whoever asks stays where she is, as a second press takes back what the first selected. */
export const BRING_VIEW = "tfprof-bring-view";

/** What the views in the tabs of the dashboard are called, by trait. */
export const VIEW_TITLES: Readonly<Record<string, string>> = {
  op_table: "Ops",
  source_view: "Lines",
  layer_table: "Layers",
  tree_view: "Structure",
  memory_timeline: "Memory",
  input_graph: "Input",
  kernel_table: "Kernels",
  copy_table: "Copies",
  roofline_chart: "Roofline",
  hlo_table: "HLO ops",
  worker_chart: "Hosts",
};

const TRAITS: Readonly<Record<string, string>> = {
  "op table": "op_table",
  "kernel table": "kernel_table",
  "HLO table": "hlo_table",
  "roofline chart": "roofline_chart",
  "input graph": "input_graph",
  "memory timeline": "memory_timeline",
  "worker chart": "worker_chart",
};
const NAMES = new RegExp(`\\bthe (${Object.keys(TRAITS).join("|")})\\b`);

interface Place {
  readonly root: HTMLElement;
  readonly signal: AbortSignal;
}

/** Whether a dashboard is around a view. */
export function isInDashboard(root: HTMLElement): boolean {
  return root.parentElement?.closest('[data-tfprof="dashboard"]') != null;
}

/** The text with links where it is about a view; plain where no dashboard is around to open one. */
export function withViewLinks(text: string, { root, signal }: Place): (Node | string)[] {
  if (!isInDashboard(root)) return [text];
  const parts: (Node | string)[] = [];
  let rest = text;
  for (let match = NAMES.exec(rest); match !== null; match = NAMES.exec(rest)) {
    const [found, name] = match;
    const show = () =>
      root.dispatchEvent(new CustomEvent(SHOW_VIEW, { bubbles: true, composed: true, detail: TRAITS[name] }));
    parts.push(rest.slice(0, match.index + found.length - name.length), button(name, show, signal, { class: "link" }));
    rest = rest.slice(match.index + found.length);
  }
  return [...parts, rest];
}
