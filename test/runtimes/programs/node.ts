export { handle } from "./application.ts";
