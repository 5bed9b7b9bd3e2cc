declare module "*.vue" {
  import type { Component } from "vue";

  const component: Component;
  export default component;
}

declare module "virtual:playground-engine" {
  export { decide } from "../../playground/engine.ts";
}
