/** Turns a build function into a widget module: root element, theme, shared models, and errors shown in their own place. */
import type { AnyModel, Host, RenderProps, WidgetModule } from "../host/afm";
import { connectData, type TraceData } from "../host/data";
import { noteDrawn } from "../host/drawn";
import { atEnd, guarded, showFailures, within } from "../host/failures";
import { connectLink, type Link } from "../host/link";
import { h } from "./dom";
import { HostBar } from "./host_bar";
import { Hosted } from "./hosted";
import { sayWhatIsMissing, waitFor } from "./missing";
import { hasHosts, type OfHost } from "./of_host";
import { watchTheme } from "./theme";

/** What every view is built from. */
export interface View {
  /** `.tfp` element with `data-tfprof` and `data-theme`; empty when the build starts. */
  readonly root: HTMLElement;
  readonly model: AnyModel;
  readonly host: Host;
  readonly signal: AbortSignal;
  /** The model's `options`, parsed. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Calls `listener` after the page's theme has changed. */
  onTheme(listener: () => void): void;
  /** Shows an error in the view's own place; the other views stay alive. */
  fail(error: unknown): void;
  /** `fn` with its errors shown by `fail`: `on`, the link and the data do so with what they tell until `signal`. */
  guard<A extends unknown[]>(fn: (...args: A) => unknown): (...args: A) => void;
}

/** A view that shows a trace. */
export interface TraceView extends View {
  /** Of the linked host, for views that are of one; steps are then that host's own. */
  readonly link: Link;
  readonly data: TraceData;
  /** Of all hosts. */
  readonly whole: { readonly link: Link; readonly data: TraceData };
  /** Whether it is of one of several hosts, or of a host that may be opened in full. */
  readonly hasHosts: boolean;
}

export interface Needs {
  /** Tables and lists without which the view cannot be built. */
  readonly needs?: readonly string[];
  /** Of these such as it shows, without a range, for the steps that a page keeps. */
  readonly ofWindow?: readonly string[];
  /** Those that it reads only where a time range is set. */
  readonly forRange?: readonly string[];
  /** Those that a view of executions reads for one of several hosts and no range, where that is not `host_totals`. */
  readonly forHost?: readonly string[];
  /** How the view is of one host; one without it reads the linked host itself, where it does. */
  readonly ofHost?: OfHost;
}

/** What every view reads. */
const ALWAYS = ["ops", "op_shares"];

/** A kind of view that needs neither link nor data. */
export interface ViewBuilder {
  /** As Python calls it. */
  readonly name: string;
  build(view: View): void | Promise<void>;
}

/** A kind of view with the `link` and `data` references; it is built when what it needs is here. */
export interface TraceBuilder extends Needs {
  readonly name: string;
  build(view: TraceView): void | Promise<void>;
}

/** A widget module for a view of a trace. */
export function mount(builder: TraceBuilder): WidgetModule {
  const { name, build, needs = [], ofHost } = builder;
  const buildAll = async (view: View) => {
    const [link, data] = await Promise.all([
      connectLink(view.host, String(view.model.get("link")), view.signal),
      connectData(view.host, String(view.model.get("data")), view.signal),
    ]);
    if (view.signal.aborted) return;
    const traceView = { ...view, link, data, whole: { link, data }, hasHosts: hasHosts(data.meta) };
    if (traceView.hasHosts && isAlone(view.root) && name !== "dashboard") addHostBar(traceView);
    await waitFor(traceView, [...ALWAYS, ...needs, ...(link.host === "" ? [] : ["host_totals"])]);
    if (view.signal.aborted) return;
    if (traceView.hasHosts && ofHost) await new Hosted(traceView, build, { ...builder, ofHost }).start();
    else {
      await build(traceView);
      sayWhatIsMissing(traceView, builder);
    }
  };
  return mountPlain({ name, build: buildAll });
}

/** A view of a dashboard or of a comparison is inside another one. */
function isAlone(root: HTMLElement): boolean {
  return root.parentElement?.closest("[data-tfprof]") === null;
}

/** Above a view that stands alone: the host that it is about, where there are several. */
function addHostBar({ root, link, data, signal }: TraceView): void {
  const place = h("div.tfp.tfp-hosts", new HostBar({ link, data, signal }).element);
  watchTheme(place, () => undefined, signal);
  root.before(place);
  atEnd(signal, () => place.remove());
}

/** A widget module for a view that needs neither link nor data. */
export function mountPlain({ name, build }: ViewBuilder): WidgetModule {
  return {
    async render(props: RenderProps) {
      if (props.signal?.aborted) return;
      const view = prepare(name, props);
      noteDrawn(name, props.model.get("data"), view.signal); // from here on it is its own place that tells what goes wrong
      try {
        Object.assign(view.options, readOptions(props.model));
        await build(view);
      } catch (error) {
        view.fail(error);
      }
    },
  };
}

function prepare(name: string, { model, el, host, signal: given }: RenderProps): View {
  // One of its own, which no other view has: errors are shown where what listens until it belongs.
  const { signal } = within(given ?? new AbortController().signal);
  const root = h(`div.tfp.tfp-${name}`, { "data-tfprof": name });
  el.append(root);
  atEnd(signal, () => root.remove());
  const fail = (error: unknown) => {
    if (!signal.aborted) showError(root, name, error);
  };
  showFailures(signal, fail);
  const guard: View["guard"] = (fn) => guarded(fn, signal);
  const listeners: (() => void)[] = [];
  const onThemeChange = () => {
    for (const listener of listeners) listener();
  };
  watchTheme(root, onThemeChange, signal);
  const onTheme = (listener: () => void) => void listeners.push(guard(listener));
  return { root, model, host, signal, options: {}, onTheme, fail, guard };
}

function readOptions(model: AnyModel): Record<string, unknown> {
  const text = model.get("options");
  return typeof text === "string" && text ? (JSON.parse(text) as Record<string, unknown>) : {};
}

/** One error box per view, at its top; the last error wins. Text only: a message may quote the trace. */
function showError(root: HTMLElement, name: string, error: unknown) {
  console.error(`tfprof_widgets ${name}:`, error);
  let box = root.querySelector<HTMLElement>(":scope > .tfp-error");
  if (!box) {
    box = h("div.tfp-error", { role: "alert" });
    root.prepend(box);
  }
  const reason = error instanceof Error ? error.message : String(error);
  box.textContent = `The ${name.replace("_", " ")} view failed: ${reason} The other views still work; re-running the cell makes a new one.`;
}
