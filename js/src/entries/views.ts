/** Every kind of view under its name in Python, and what draws them in a page without a widget manager: the one bundle. */

import "./views.css";
import { loader, makeHost, type Places, type SavedModels, type WidgetModule } from "../data/widget";
import { addThemeSwitch } from "../ui/dom";
import { mount, mountPlain } from "../ui/view";
import { copyTable } from "../views/copy_table/copy_table";
import { dashboard } from "../views/dashboard/dashboard";
import { diffPanel } from "../views/diff_panel/diff_panel";
import { hloTable } from "../views/hlo_table/hlo_table";
import { inputGraph } from "../views/input_graph/input_graph";
import { kernelTable } from "../views/kernel_table/kernel_table";
import { layerTable } from "../views/layer_table/layer_table";
import { live } from "../views/live/live";
import { memoryTimeline } from "../views/memory_timeline/memory_timeline";
import { opTable } from "../views/op_table/op_table";
import { overviewPanel } from "../views/overview_panel/overview_panel";
import { rooflineChart } from "../views/roofline_chart/roofline_chart";
import { sourceView } from "../views/source_view/source_view";
import { stepChart } from "../views/step_chart/step_chart";
import { timeline } from "../views/timeline/timeline";
import { treeView } from "../views/tree_view/tree_view";
import { workerChart } from "../views/worker_chart/worker_chart";

const OF_TRACES = [
  copyTable,
  dashboard,
  hloTable,
  inputGraph,
  kernelTable,
  layerTable,
  memoryTimeline,
  opTable,
  overviewPanel,
  rooflineChart,
  sourceView,
  stepChart,
  timeline,
  treeView,
  workerChart,
];

export const VIEWS: ReadonlyMap<string, WidgetModule> = new Map([
  [diffPanel.name, mountPlain(diffPanel)],
  [live.name, mountPlain(live)],
  ...OF_TRACES.map((view) => [view.name, mount(view)] as const),
]);

/** Draws the saved widgets of a page, each in its place. */
export async function drawPage(page: Document, models: SavedModels, places: Places): Promise<void> {
  if (page.body.classList.contains("tfp-page")) addThemeSwitch(page);
  const host = makeHost(models, loader);
  await Promise.all(places.map(async ([id, el]) => (await host.getWidget(id)).render({ el })));
}
