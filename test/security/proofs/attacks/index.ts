/** All requests that RFC 9449 says must be refused, by what is wrong with them. */
import { CLAIM_ATTACKS } from "./claims.ts";
import { CONFIRMATION_ATTACKS } from "./confirmations.ts";
import { FIELD_ATTACKS } from "./fields.ts";
import { FORM_ATTACKS } from "./form.ts";
import { HEADER_ATTACKS } from "./header.ts";
import { KEY_ATTACKS } from "./keys.ts";
import type { Attack } from "../forge.ts";

export const ATTACKS: Readonly<Record<string, readonly Attack[]>> = {
  fields: FIELD_ATTACKS,
  form: FORM_ATTACKS,
  headers: HEADER_ATTACKS,
  keys: KEY_ATTACKS,
  claims: CLAIM_ATTACKS,
  confirmations: CONFIRMATION_ATTACKS,
};
