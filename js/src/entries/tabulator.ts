/** The table library with the modules that `ui/grid.ts` uses; a bundle of its own that all views of a page share. */

import { FormatModule, InteractionModule, ResizeColumnsModule, SortModule, Tabulator } from "tabulator-tables";

Tabulator.registerModule([FormatModule, InteractionModule, ResizeColumnsModule, SortModule]);

export { Tabulator };
