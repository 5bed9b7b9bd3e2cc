/** The metadata of a resource server for OAuth clients (RFC 9728). */
import type { HttpResponse } from "./refusal.ts";

/** The identity of a resource server, with all defaults. */
export interface Resource {
  /** The resource identifier (RFC 8707): the audience of its tokens. */
  readonly id: string;
  /** The URL of the document, which `metadata` serves and challenges contain as `resource_metadata`. */
  readonly metadataUrl: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Creates the response with the document, which is public and for every origin (RFC 9728 section 3.1). */
export const renderMetadata = ({ metadata }: Resource): HttpResponse => ({
  status: 200,
  headers: {
    "Content-Type": "application/json",
    "Cache-Control": "public, max-age=3600",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": "*",
  },
  body: metadata,
});
