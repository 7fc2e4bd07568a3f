/** The model with the bundle of all views -> its exports, imported once a page, and its style sheet in the page. */

import type { AnyModel, WidgetModule } from "./afm";
import { runOnce, unpacked, withAddress } from "./library";
import type { SavedModels } from "./page_host";

/** What `entries/views.ts` exports. */
export interface Bundle {
  readonly VIEWS: ReadonlyMap<string, WidgetModule>;
  drawPage(page: Document, models: SavedModels): Promise<void>;
}

export interface Loaded extends Bundle {
  readonly styles: string;
}

const SHEET = "tfprof-styles";

export function loadBundle(model: AnyModel, ref: string): Promise<Loaded> {
  return runOnce(model, ref, async ({ text }, traits) => {
    const styles = await unpacked(traits("styles"));
    const bundle = await withAddress(text, (url) => import(url) as Promise<Bundle>);
    return { VIEWS: bundle.VIEWS, drawPage: bundle.drawPage, styles };
  });
}

/** Puts the style sheet where it reaches an element: once into its document, or into the shadow root around it. */
export function addStyles(el: HTMLElement, styles: string): void {
  const root = el.getRootNode();
  const place = root.nodeType === Node.DOCUMENT_FRAGMENT_NODE ? (root as ShadowRoot) : el.ownerDocument.head;
  const sheet = place.querySelector(`style.${SHEET}`) ?? el.ownerDocument.createElement("style");
  sheet.className = SHEET;
  // Of two versions in one page the later one draws both.
  if (sheet.textContent !== styles) sheet.textContent = styles;
  if (!sheet.isConnected) place.append(sheet);
}
