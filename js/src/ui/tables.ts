/** A view with tables -> a widget module that loads the table library before it builds the view. */

import type { WidgetModule } from "../host/afm";
import { loadLibrary, type Script } from "../host/library";
import { useTabulator } from "./grid";
import { mount, type TraceBuilder, type View } from "./view";

/** As `mount`, for views that make grids. */
export function mountWithTables(builder: TraceBuilder): WidgetModule {
  return mount({
    ...builder,
    async build(view) {
      await loadTables(view);
      if (!view.signal.aborted) await builder.build(view);
    },
  });
}

/** Loads the table library, once a page; for a view that makes a grid only when the reader asks for it. */
export async function loadTables({ host, model, signal }: View): Promise<void> {
  useTabulator(await loadLibrary(host, String(model.get("tabulator")), runModule, signal));
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
