/** `app/.well-known/oauth-protected-resource/[...path]/route.ts` of a Next.js application with `mcp-handler`. */
import { metadata } from "scopegate/fetch";
import { server } from "./service.mts";

const serveMetadata = metadata(server);

export const GET = (request: Request): Response =>
  serveMetadata(request) ?? new Response(null, { status: 404 });
