/** The shape of the option `resource`. */
import * as z from "zod/mini";
import { isSecureUrl } from "../../core/keys/secure-url.ts";
import * as values from "../../core/options/values.ts";
import { isReadableTemplate } from "./template.ts";

/** As `URL` writes it, because clients compare and send it so; without a fragment (RFC 8707 section 2). */
const canonicalUrl = (url: string): string => new URL(url).href.replace(/#.*/, "");
const properties = {
  id: values.secureUrl.check(
    z.refine((url) => !isSecureUrl(url) || url === canonicalUrl(url), {
      error: ({ input }) => `Write it as clients do: ${JSON.stringify(canonicalUrl(String(input)))}.`,
    }),
    z.refine(isReadableTemplate, {
      error: "Write parameters as whole segments with different names: https://api.example/t/:org/mcp.",
    }),
  ),
  authorizationServers: z.optional(
    values.nonEmptyArray(values.secureUrl, "Write an array of at least one issuer."),
  ),
  scopesSupported: z.optional(values.texts("Write an array of scopes.")),
  metadata: z.optional(
    z.record(z.string(), z.unknown(), { error: "Write properties of RFC 9728: { resource_name: ... }." }),
  ),
};
export const shape = z.strictObject(properties, { error: "Write { id, authorizationServers }." });

export const RESOURCE_NAMES = Object.keys(properties);
