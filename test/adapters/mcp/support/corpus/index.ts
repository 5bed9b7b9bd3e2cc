import { BATCH_CASES } from "./batches.ts";
import { BODY_CASES } from "./bodies.ts";
import { HEADER_CASES } from "./headers.ts";
import type { Hostile } from "./hostile.ts";
import { JSON_CASES } from "./json.ts";
import { NAME_CASES } from "./names.ts";
import { REQUEST_CASES } from "./requests.ts";

/** Every hostile request, by its kind. */
export const CORPUS: Readonly<Record<string, readonly Hostile[]>> = {
  "names and arguments": NAME_CASES,
  JSON: JSON_CASES,
  batches: BATCH_CASES,
  headers: HEADER_CASES,
  bodies: BODY_CASES,
  requests: REQUEST_CASES,
};
