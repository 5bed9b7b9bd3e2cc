import { getRequestListener } from "@hono/node-server";
import type { RequestListener } from "node:http";
import { createResourceServer } from "scopegate";
import { withScopes } from "scopegate/fetch";
import { createFloor } from "./floor.ts";
import { answer, TABLE } from "./route.ts";
import { serve } from "./serve.ts";

type Handler = (request: Request) => Response | Promise<Response>;

function create(handler: Handler): RequestListener {
  const respond = getRequestListener(handler);
  return (request, response) => void respond(request, response);
}

/** The id is the last segment of the path. */
const handle = ({ url }: Request): Response => Response.json(answer(url.slice(url.lastIndexOf("/") + 1)));

await serve({
  "no auth": () => create(handle),
  floor: ({ publicKey }) => {
    const isKnown = createFloor(publicKey);
    return create((request) =>
      isKnown(request.headers.get("authorization") ?? undefined)
        ? handle(request)
        : new Response(null, { status: 401 }),
    );
  },
  scopegate: ({ publicKey, issuer, audience }) =>
    create(
      withScopes(
        createResourceServer({
          serviceId: audience,
          issuer,
          verificationKeys: [publicKey],
          scopeMappings: TABLE,
        }),
        handle,
      ),
    ),
});
