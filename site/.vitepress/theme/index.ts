/** The default theme, with the tabs of the start page. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { connectTabs, showLinked } from "./tabs.ts";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.directive("tabs", { mounted: showLinked });
    if (typeof document !== "undefined") connectTabs();
  },
} satisfies Theme;
