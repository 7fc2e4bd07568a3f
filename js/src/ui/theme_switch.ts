/** An exported page -> a button on top of it that changes its theme: until then what it was given, or that of the system. */

import { h } from "./dom";
import { isDarkTheme } from "./theme";

/** Sets the attribute that JupyterLab sets as well, and that views watch. */
export function addThemeSwitch(page: Document): void {
  const { body, documentElement } = page;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = body.dataset.jpThemeLight ? isDarkTheme(page) : null;
  const toggle = h("button", { type: "button", class: "tfp-theme-switch" });
  const line = h("div.tfp", toggle);
  const apply = () => {
    const isDark = chosen ?? system.matches;
    body.dataset.jpThemeLight = String(!isDark);
    documentElement.style.colorScheme = isDark ? "dark" : "light";
    body.style.background = isDark ? "#212121" : "#ffffff";
    toggle.textContent = isDark ? "Light theme" : "Dark theme";
    line.dataset.theme = isDark ? "dark" : "light";
  };
  toggle.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    apply();
  });
  body.style.margin = "0";
  toggle.style.cssText = "display:block;margin:4px 10px 0 auto";
  body.prepend(line);
  system.addEventListener("change", apply);
  apply();
}
