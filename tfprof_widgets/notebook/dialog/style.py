"""How the capture dialog looks: the tokens of `js/src/styles/style.css` for controls of ipywidgets, which are in no bundle."""

from __future__ import annotations

DIALOG_CLASS = "tfp-cap"
"""Of the form and of what is said above a dashboard, not of the dashboard, which has a style of its own."""

_DARK = 'body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"] body'
_DARK_DIALOG = ", ".join(f"{page} .{DIALOG_CLASS}" for page in _DARK)

STYLE = f"""
.tfp-cap {{
  --bg: var(--jp-layout-color1, #ffffff);
  --ink: var(--jp-ui-font-color1, rgba(0, 0, 0, 0.87));
  --ink-2: var(--jp-ui-font-color2, rgba(0, 0, 0, 0.6));
  --rule: var(--jp-border-color2, #e0e0e0);
  --act: var(--jp-brand-color1, #1976d2);
  --warn: #8a5300;
  --warn-wash: #fff4df;
}}
{_DARK_DIALOG} {{
  --bg: var(--jp-layout-color1, #212121);
  --ink: var(--jp-ui-font-color1, rgba(255, 255, 255, 0.92));
  --ink-2: var(--jp-ui-font-color2, rgba(255, 255, 255, 0.66));
  --rule: var(--jp-border-color2, #3d3d3d);
  --act: var(--jp-brand-color1, #4aa8f7);
  --warn: #ffca70;
  --warn-wash: #3a2f1a;
}}
"""
STYLE += """
.tfp-cap { color: var(--ink); background: var(--bg); overflow: hidden; }
.tfp-cap.widget-html, .tfp-cap .widget-html, .tfp-cap .widget-html-content { margin: 0; height: auto; overflow: visible; }
.tfp-cap .widget-html-content { font-size: 12px; line-height: 16px; color: var(--ink); }
.tfp-cap.tfp-cap-form { padding: 8px 10px; border: 1px solid var(--rule); overflow: hidden; }
.tfp-cap h3 { margin: 0; font-size: 15px; font-weight: 600; line-height: 20px; }
.tfp-cap p { margin: 2px 0; }
.tfp-cap .soft, .tfp-cap .tfp-cap-hint { color: var(--ink-2); }
/* Label over control over hint, whatever the control. */
.tfp-cap .widget-inline-hbox { flex-direction: column; align-items: stretch; height: auto; margin: 0; width: auto; }
.tfp-cap .widget-inline-hbox .widget-label {
  width: auto; text-align: left; line-height: 18px; height: 18px; margin: 0; font-size: 12px; font-weight: 600; color: var(--ink);
}
.tfp-cap .widget-inline-hbox > :is(input, textarea, select) { width: 100%; font-size: 12px; }
.tfp-cap .widget-inline-hbox > :is(input, select) { height: 24px; line-height: 22px; flex: none; }
.tfp-cap textarea { font-family: var(--jp-code-font-family, monospace); line-height: 17px; }
.tfp-cap .tfp-cap-fields { column-gap: 16px; row-gap: 4px; }
/* Two lines are kept: a sentence that comes when a field is left must not move the button that is pressed. */
.tfp-cap .tfp-cap-hint .widget-html-content {
  font-size: 11px; line-height: 15px; min-height: 30px; padding-top: 1px; color: var(--ink-2);
}
.tfp-cap .tfp-cap-hint [role="alert"] { color: var(--warn); font-weight: 600; }
.tfp-cap .tfp-cap-run { align-items: center; column-gap: 8px; overflow: hidden; margin: 4px 0; }
.tfp-cap.tfp-cap-about .widget-html-content { padding: 6px 10px 2px; }
.tfp-cap .jupyter-button { height: 26px; line-height: 24px; margin: 0; font-size: 12px; }
.tfp-cap .widget-hprogress { margin: 0; width: 100%; }
.tfp-cap .widget-hprogress > .progress { height: 4px; flex: none; width: 100%; margin: 0; }
.tfp-cap code { font: 11px/16px var(--jp-code-font-family, monospace); background: none; color: var(--ink); padding: 0; }
.tfp-cap .tfp-cap-code { user-select: all; overflow-wrap: anywhere; white-space: pre-wrap; }
.tfp-cap .tfp-cap-notice {
  background: var(--warn-wash); border-left: 3px solid var(--warn); padding: 4px 8px; margin: 4px 0; overflow-wrap: anywhere;
}
.tfp-cap .tfp-cap-rows { max-height: 232px; overflow: auto; margin-top: 4px; }
.tfp-cap .tfp-cap-rows table { width: 100%; border-collapse: collapse; font-size: 12px; margin: 0; table-layout: auto; }
.tfp-cap .tfp-cap-rows :is(th, td) {
  text-align: left; padding: 0 12px 0 0; line-height: 20px; border-bottom: 1px solid var(--rule);
  background: none; vertical-align: top; color: var(--ink); white-space: nowrap; max-width: none;
}
.tfp-cap .tfp-cap-rows :is(th, td):nth-child(3) { text-align: right; font-variant-numeric: tabular-nums; }
.tfp-cap .tfp-cap-rows :is(th, td):last-child { width: 100%; white-space: normal; overflow-wrap: anywhere; padding-right: 0; }
.tfp-cap .tfp-cap-rows th { color: var(--ink-2); font-weight: 400; }
.tfp-cap .tfp-cap-rows tr.failed td { color: var(--warn); }
.tfp-cap .tfp-cap-rows tr.asked td:nth-child(2) { color: var(--ink-2); }
"""
