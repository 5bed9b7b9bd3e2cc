import { createCapability } from "../../core/create-capability.ts";
import type { PlainResource, ProtectedResource } from "../../core/options/resource.ts";
import { type ResourceOptions, resolveResource } from "./resolve.ts";
import { RESOURCE_NAMES, shape } from "./shape.ts";

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
export const protectedResource = (written: ResourceOptions): ProtectedResource & PlainResource =>
  createCapability<ProtectedResource & PlainResource>({
    option: "resource",
    written,
    shape,
    names: { resource: RESOURCE_NAMES },
    create: (context, report) => resolveResource(written, context, report),
  });
