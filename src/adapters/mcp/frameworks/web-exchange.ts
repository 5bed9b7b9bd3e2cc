/** What Hono and the Fetch standard share. */
import { readWebBody } from "../body.ts";
import type { Exchange } from "../gate.ts";

/** `parsed` is the body, if an earlier parser has parsed it. */
export const exchangeOf = (raw: object, request: Request, parsed?: unknown): Exchange => ({
  raw,
  method: request.method,
  isReadAgain: true,
  fields: () => request.headers.keys(),
  header: (name) => request.headers.get(name) ?? undefined,
  body: (limits) => (request.bodyUsed ? { parsed } : readWebBody(request, limits)),
  async isEmpty(limits) {
    if (request.bodyUsed) return parsed === undefined;
    if (["GET", "HEAD"].includes(request.method)) return true;
    return typeof (await readWebBody(request, { ...limits, maxBodyBytes: 0 })) !== "string";
  },
});
