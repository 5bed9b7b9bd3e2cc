/** The extension point for the identity of a server for OAuth clients (RFC 9728). */
import type { Capability } from "../capability.ts";
import type { Report } from "../errors.ts";
import type { CompiledTable } from "../policy/compile-rules.ts";
import type { ResponseFields } from "../response/response-fields.ts";

/** A value of the option `resource`: `protectedResource({ id })` of `scopegate/resource`. */
export interface ProtectedResource extends Capability {
  readonly option: "resource";
  readonly written: { readonly id: string };
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
  readonly table: Pick<CompiledTable, "rules" | "tree">;
  /** What the document says about bound tokens. */
  readonly boundTokens: ResponseFields["metadata"] | undefined;
}
