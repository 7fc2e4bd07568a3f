/** Types of the anywidget front-end interface (of anywidget 0.11; `manager_host.ts` makes it of what those before give): what a view is given and what it returns. */

export type Listener = (...args: never[]) => void;

/** A widget model: the state shared with Python. Methods may be called unbound of any particular widget manager. */
export interface AnyModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: Listener): void;
  off(event?: string | null, listener?: Listener | null): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[] | ArrayBufferView[]): void;
}

/** A child view made by the host, to be rendered into an element of ours. */
export interface HostWidget {
  render(options: { el: HTMLElement; signal?: AbortSignal }): Promise<unknown>;
}

/** Resolves references ("anywidget:<model_id>") found in a model's state. */
export interface Host {
  getModel(ref: string, options?: { signal?: AbortSignal }): Promise<AnyModel>;
  getWidget(ref: string, options?: { signal?: AbortSignal }): Promise<HostWidget>;
}

export interface RenderProps {
  model: AnyModel;
  el: HTMLElement;
  host: Host;
  signal: AbortSignal;
}

/** The default export of each entry. */
export interface WidgetModule {
  render(props: RenderProps): unknown;
}
