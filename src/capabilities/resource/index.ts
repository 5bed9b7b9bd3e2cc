import { createCapability } from "../../core/create-capability.ts";
import type { PlainResource, ProtectedResource } from "../../core/options/resource.ts";
import { type ResourceOptions, resolveResource } from "./resolve.ts";
import { RESOURCE_NAMES, shape } from "./shape.ts";
import { createTemplate } from "./template.ts";

export type { ProtectedResource } from "../../core/options/resource.ts";
export type { ResourceOptions } from "./resolve.ts";

/**
 * Creates the value of the option `resource`: the identity of the server for OAuth clients, which use it to
 * find their authorization server (RFC 9728). `metadata` of the adapters serves it.
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { metadata, protect } from "scopegate/express";
 * import { protectedResource } from "scopegate/resource";
 *
 * const server = createResourceServer({
 *   issuer: "https://login.example/",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   resource: protectedResource({ id: "https://api.example/mcp" }),
 *   scopeMappings: { "POST /mcp": [] },
 * });
 * const app = express();
 * app.use(metadata(server), protect(server));
 * ```
 */
export function protectedResource(written: ResourceOptions): ProtectedResource & PlainResource {
  const template = createTemplate((Object(written) as Partial<ResourceOptions>).id);
  return createCapability<ProtectedResource & PlainResource>({
    option: "resource",
    written,
    shape,
    names: { resource: RESOURCE_NAMES },
    isResource: template && ((audience) => template.includes(audience)),
    create: (context, report) => resolveResource(written, { ...context, template }, report),
  });
}
