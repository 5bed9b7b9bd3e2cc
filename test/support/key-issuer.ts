/** Two issuers whose keys have different `kid`s. */
import { createIssuer } from "./issuer.ts";

export const first = createIssuer({ kid: "first" });
export const second = createIssuer({ kid: "second" });
