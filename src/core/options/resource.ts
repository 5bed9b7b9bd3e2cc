/** The extension point for the identity of a server for OAuth clients (RFC 9728). */
import type { Capability } from "../capability.ts";
import type { Report } from "../errors.ts";
import type { CompiledTable } from "../policy/compile-rules.ts";
import type { ResponseFields } from "../response/response-fields.ts";
import type { Principal } from "../token/principal.ts";

/** A value of the option `resource`: `protectedResource({ id })` of `scopegate/resource`. */
export interface ProtectedResource extends Capability {
  readonly option: "resource";
  readonly written: { readonly id: string };
  /** Whether a value of `aud` is one of the resources of an `id` with parameters; absent without any. */
  readonly isResource: ((audience: string) => boolean) | undefined;
  /** Creates the document of one server, or reports why it can't be created. */
  readonly create: (context: ResourceContext, report: Report) => Resource;
}

/** The identity of a resource server, with all defaults. */
export interface Resource {
  /** The resource identifier (RFC 8707): the audience of its tokens. */
  readonly id: string;
  /** The URL of the document, which `metadata` serves and challenges contain as `resource_metadata`. */
  readonly metadataUrl: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Finds the document that the target of a request is the URL of. */
  readonly findMetadata: (target: string) => Resource["metadata"] | undefined;
  /** Only for an `id` with parameters, which is a resource for each of their values. */
  readonly template?: ResourceFinder | undefined;
}

/** Finds the resource of one request, such as that of a tenant. */
export interface ResourceFinder {
  /** Finds the resource by the target of a request; `undefined` at a path outside of the resources. */
  readonly find: (target: string) => Pick<Resource, "id" | "metadataUrl"> | undefined;
  /** Returns whether a token was issued for the resource of a request, or for the server as a whole. */
  readonly isFor: (principal: Principal, target: string) => boolean;
}

/** What the compiler says about plain data in place of a value. */
export interface PlainResource {
  readonly id?: "write resource: protectedResource({ id }), from scopegate/resource";
}

export interface ResourceContext {
  /** The issuers of the server. */
  readonly issuers: readonly string[];
  /** The option `resourceMetadataUrl`. */
  readonly metadataUrl: string | undefined;
  /** The values of `aud` that are accepted from the issuer of a caller. */
  readonly audienceOf: (principal: Principal) => readonly string[];
  readonly table: Pick<CompiledTable, "rules" | "tree">;
  /** What the document says about bound tokens. */
  readonly boundTokens: ResponseFields["metadata"] | undefined;
}
