/** All requests that must be refused. */
import { CLAIM_ATTACKS } from "./attacks/claims.ts";
import { CONFIRMATION_ATTACKS } from "./attacks/confirmations.ts";
import { CREDENTIAL_ATTACKS } from "./attacks/credentials.ts";
import { FORM_ATTACKS } from "./attacks/form.ts";
import { HEADER_ATTACKS } from "./attacks/header.ts";
import { KEY_ATTACKS } from "./attacks/keys.ts";
import type { Attack } from "./forge.ts";

export const ATTACKS: Readonly<Record<string, readonly Attack[]>> = {
  form: FORM_ATTACKS,
  headers: HEADER_ATTACKS,
  keys: KEY_ATTACKS,
  claims: CLAIM_ATTACKS,
  credentials: CREDENTIAL_ATTACKS,
  confirmations: CONFIRMATION_ATTACKS,
};
