import { handle } from "./application.ts";

export default { fetch: handle };
