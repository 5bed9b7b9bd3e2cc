/** What the hosts of the Fetch standard and Hono share. */
import { readWebBody } from "../body.ts";
import type { Exchange, Passed } from "../gate.ts";
import { SESSION_FIELD } from "../sessions.ts";

/** `parsed` is the body, if an earlier parser has parsed it. */
export const exchangeOf = (raw: object, request: Request, parsed?: unknown): Exchange => ({
  raw,
  method: request.method,
  header: (name) => request.headers.get(name) ?? undefined,
  body: (limits) => (request.bodyUsed ? { parsed } : readWebBody(request, limits)),
  async isEmpty(limits) {
    if (request.bodyUsed) return parsed === undefined;
    if (["GET", "HEAD"].includes(request.method)) return true;
    return typeof (await readWebBody(request, { ...limits, maxBodyBytes: 0 })) !== "string";
  },
});

/** Remembers the session that a response starts, and filters its lists. */
export async function finish(response: Response, { respond, filter }: Passed): Promise<Response> {
  const { status, headers } = response;
  respond?.(status, headers.get(SESSION_FIELD) ?? undefined);
  if (!filter || response.body === null) return response;
  const edited = new Response(filter(await response.text()), { status, headers });
  edited.headers.delete("content-length");
  return edited;
}
