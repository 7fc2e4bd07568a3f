"""What a page listens to: scripts that count listeners on the page and on shared models, so that a leak shows."""

from __future__ import annotations

# anywidget gives a widget its manager; through it a test reaches the raw shared models.
PROBE = """
import anywidget
class Probe(anywidget.AnyWidget):
    _esm = "export default { render({ model }) { globalThis.tfprofManager = model.widget_manager } }"
Probe()
"""
"""A cell."""
COUNT_LISTENERS = """
async (ids) => {
    const counts = {};
    for (const [name, id] of Object.entries(ids)) {
        const model = await globalThis.tfprofManager.get_model(id);
        counts[name] = Object.values(model._events ?? {}).reduce((sum, list) => sum + list.length, 0);
    }
    for (const [target, listeners] of globalThis.tfprofListeners) counts[target] = listeners.size;
    counts.stores = [...(globalThis[Symbol.for("tfprof_widgets.data")]?.values() ?? [])].map((store) => store.nViews);
    counts.models = Object.keys(globalThis.tfprofManager._models ?? {}).length;
    return counts;
}
"""
WATCH_LISTENERS = """
globalThis.tfprofListeners = new Map();
const add = EventTarget.prototype.addEventListener;
const remove = EventTarget.prototype.removeEventListener;
const nameOf = (target) => target === window ? "window" : target === document ? "document"
    : target === document.body ? "body" : target === document.documentElement ? "html" : null;
EventTarget.prototype.addEventListener = function (type, listener, options) {
    const name = nameOf(this);
    const isMine = name && /tfp|blob:/.test(new Error().stack ?? "");
    if (isMine && listener && !options?.signal?.aborted) {
        const all = globalThis.tfprofListeners;
        if (!all.has(name)) all.set(name, new Set());
        const entry = { type, listener };
        all.get(name).add(entry);
        if (options?.signal) add.call(options.signal, "abort", () => all.get(name).delete(entry), { once: true });
    }
    return add.call(this, type, listener, options);
};
EventTarget.prototype.removeEventListener = function (type, listener, options) {
    const all = globalThis.tfprofListeners.get(nameOf(this)) ?? new Set();
    for (const entry of all) if (entry.type === type && entry.listener === listener) all.delete(entry);
    return remove.call(this, type, listener, options);
};
"""
