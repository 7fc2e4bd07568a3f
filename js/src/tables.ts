/** A view with tables -> a widget module that loads the table library before it builds the view. */

import type { WidgetModule } from "./afm";
import { useTabulator } from "./draw/grid";
import { loadLibrary, type Script } from "./library";
import { mount, type TraceView } from "./view";

/** As `mount`, for views that make grids. */
export function mountWithTables(name: string, build: (view: TraceView) => void | Promise<void>): WidgetModule {
  return mount(name, async (view) => {
    const { host, model, signal } = view;
    useTabulator(await loadLibrary(host, String(model.get("tabulator")), runModule, signal));
    if (!signal.aborted) await build(view);
  });
}

async function runModule({ text }: Script): Promise<Parameters<typeof useTabulator>[0]> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    const { Tabulator } = (await import(url)) as { Tabulator: Parameters<typeof useTabulator>[0] };
    return Tabulator;
  } finally {
    URL.revokeObjectURL(url);
  }
}
