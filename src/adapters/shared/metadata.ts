/** Recognizes requests for the metadata of a resource server; adapters send the response. */
import type { ResourceServer } from "../../core/resource-server.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { assertResourceServer } from "./misuse.ts";

/** The document is public, and for every origin (RFC 9728 section 3.1). */
const HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "public, max-age=3600",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
  "Access-Control-Allow-Headers": "*",
};
const METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Returns the response to `GET /.well-known/oauth-protected-resource`, followed by the path of the resource
 * (RFC 9728), and to the CORS preflight for it; `undefined` for any other request.
 * @throws TypeError for a server without the option `resource`
 */
export function createMetadata(
  server: ResourceServer,
): (method: string, target: string) => HttpResponse | undefined {
  assertResourceServer(server, "metadata");
  const { resource } = server;
  if (!resource)
    throw new TypeError(
      "metadata needs the option `resource`: write resource: protectedResource({ id }), imported from scopegate/resource.",
    );
  return (method, target) => {
    const body = METHODS.has(method) ? resource.findMetadata(target) : undefined;
    return body && { status: 200, headers: HEADERS, body };
  };
}
