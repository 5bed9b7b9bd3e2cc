/** Limits how often each caller may call a tool. */
import type { Request, RequestHandler } from "express";
import { principalOf } from "scopegate/express";

/** Creates the middleware between `protectMcp(server)` and the MCP server, with the calls for each tool. */
export function limitTools(limits: Readonly<Record<string, number>>, windowSeconds = 60): RequestHandler {
  const counts = new Map<string, number>();
  setInterval(() => counts.clear(), windowSeconds * 1_000).unref();
  return (req, res, next) => {
    for (const tool of toolsOf(req)) {
      const limit = Object.hasOwn(limits, tool) ? limits[tool] : undefined;
      if (limit === undefined) continue;
      const key = JSON.stringify([tool, callerOf(req)]);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count <= limit) continue;
      res.status(429).set("Retry-After", String(windowSeconds)).json({ title: "Too Many Requests" });
      return;
    }
    next();
  };
}

/** The tools that a request calls. `protectMcp` has checked the body, which can be a batch. */
const toolsOf = (req: Request): readonly string[] =>
  [req.body as unknown].flat().flatMap((message) => {
    const { method, params } = Object(message) as { method?: string; params?: { name: string } };
    return method === "tools/call" && params ? [params.name] : [];
  });

/** Guests share a limit for each address. */
function callerOf(req: Request): readonly unknown[] {
  const { issuer, userId, claims } = principalOf(req) ?? {};
  return issuer === undefined ? [req.ip] : [issuer, userId ?? claims?.["client_id"]];
}
