/** The default theme, with tabs, the playground, and a story beside the title of the first page. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import Layout from "./Layout.vue";
import Playground from "./Playground.vue";
import { connectTabs, showLinked } from "./tabs.ts";

export default {
  extends: DefaultTheme,
  Layout,
  enhanceApp({ app }) {
    app.component("Playground", Playground);
    app.directive("tabs", { mounted: showLinked });
    if (typeof document !== "undefined") connectTabs();
  },
} satisfies Theme;
