/** `app/.well-known/oauth-protected-resource/[...path]/route.js` of a Next.js application with `mcp-handler`. */
import { metadata } from "scopegate/fetch";
import { server } from "./service.mjs";

const serveMetadata = metadata(server);

export const GET = (request) => serveMetadata(request) ?? new Response(null, { status: 404 });
