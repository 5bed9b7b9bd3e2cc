import { BATCH_CASES } from "./batches.ts";
import { BODY_CASES } from "./bodies.ts";
import { CLAIM_CASES } from "./claims.ts";
import { COMPLETION_CASES } from "./completions.ts";
import { HEADER_CASES } from "./headers.ts";
import type { Hostile } from "./hostile.ts";
import { JSON_CASES } from "./json.ts";
import { KEY_CASES } from "./keys.ts";
import { MIXTURE_CASES } from "./mixtures.ts";
import { NAME_CASES } from "./names.ts";
import { REQUEST_CASES } from "./requests.ts";
import { REVISION_CASES } from "./revisions.ts";
import { URI_CASES } from "./uris.ts";

/** Hostile requests to a server with tools only, by their kind. */
export const CORPUS: Readonly<Record<string, readonly Hostile[]>> = {
  "names and arguments": NAME_CASES,
  JSON: JSON_CASES,
  batches: BATCH_CASES,
  headers: HEADER_CASES,
  bodies: BODY_CASES,
  requests: REQUEST_CASES,
};

/** Hostile requests to a server with everything that a client can call, by their kind. */
export const COMPANY_CORPUS: Readonly<Record<string, readonly Hostile[]>> = {
  URIs: URI_CASES,
  "completions and prompts": COMPLETION_CASES,
  keys: KEY_CASES,
  "claims in _meta": CLAIM_CASES,
  revisions: REVISION_CASES,
  "mixtures and prototypes": MIXTURE_CASES,
};
