/** A widget and its data -> the widget on a page of jsdom, which has no layout of its own. */

import { afterEach, beforeEach, vi } from "vitest";
import type { Pack } from "../src/data/pack";
import type { Host } from "../src/data/widget";
import { mount, type TraceBuilder } from "../src/ui/view";
import { type FakePage, fakePage } from "./fake_host";

/** Markup that must stay text. */
export const EVIL = "<img src=x onerror=alert(1)></script><b>";

export interface Shown {
  readonly root: HTMLElement;
  readonly page: FakePage;
  readonly controller: AbortController;
}

const LOOK_MS = 20;
const MOST_LOOKS = 200;

/** Waits until a view has drawn what it puts off: until the page is the same at three looks. */
export async function settle(): Promise<void> {
  let seen = "";
  for (let nSame = 0, nLooks = 0; nSame < 3 && nLooks < MOST_LOOKS; nLooks++) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    const now = document.body.innerHTML;
    nSame = now === seen ? nSame + 1 : 0;
    seen = now;
  }
}

export async function showWidget(
  widget: TraceBuilder,
  pack: Pack,
  hostOf: (page: FakePage) => Host = (page) => page.host,
): Promise<Shown> {
  const page = await fakePage(pack);
  const controller = new AbortController();
  const el = document.body.appendChild(document.createElement("div"));
  await mount(widget).render({ model: page.view, el, host: hostOf(page), signal: controller.signal });
  await settle();
  return { root: el.firstElementChild as HTMLElement, page, controller };
}

/** Gives elements a height for each test of the block around it: a table that believes in its height shows its rows. */
export function withLayout(): void {
  beforeEach(() => {
    vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
    vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(21);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    document.body.replaceChildren();
  });
}
