/** The default theme, with tabs and the playground. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import Playground from "./Playground.vue";
import { connectTabs, showLinked } from "./tabs.ts";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("Playground", Playground);
    app.directive("tabs", { mounted: showLinked });
    if (typeof document !== "undefined") connectTabs();
  },
} satisfies Theme;
