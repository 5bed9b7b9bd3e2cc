/** Reads the caller that was entered: scopes, claims or a token. */
import { orUndefined } from "../../../core/errors.ts";
import { readScopes } from "../../../core/token/scope-sources.ts";

/** Reads the scopes, absent for a caller without a token, and describes what was read. */
export function readCaller(text: string, claim: string): { scopes?: readonly string[]; note: string } {
  const entered = text.trim().replace(/^bearer\s+/i, "");
  const isJson = entered.startsWith("{");
  if (entered === "") return { note: "A caller without a token" };
  const claims = orUndefined(() => JSON.parse(isJson ? entered : decodePayload(entered)) as unknown);
  if (typeof claims !== "object" || claims === null) {
    const scopes = isJson ? [] : entered.split(/[\s,]+/);
    return { scopes, note: isJson ? "This JSON has a mistake: no scopes" : `Scopes: ${scopes.join(" ")}` };
  }
  const path = Object.hasOwn(claims, claim) ? claim : claim.split(".");
  const read = readScopes(claims as Readonly<Record<string, unknown>>, [{ claim: path }]);
  if (read.kind === "scopes")
    return { scopes: read.scopes, note: `Scopes in the claims: ${read.scopes.join(" ")}` };
  return { scopes: [], note: `The claim ${claim} is missing, or holds no scopes: enter the name of yours` };
}

/** Returns the payload of a JWT. Nothing is verified. */
function decodePayload(token: string): string {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1] ?? "";
  const bytes = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}
