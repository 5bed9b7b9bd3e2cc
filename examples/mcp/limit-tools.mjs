/** Limits how often each caller may call a tool. */
import { principalOf } from "scopegate/express";

/** Creates the middleware between `protectMcp(server)` and the MCP server, with the calls for each tool. */
export function limitTools(limits, windowSeconds = 60) {
  const counts = new Map();
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
const toolsOf = (req) =>
  [req.body].flat().flatMap((message) => {
    const { method, params } = Object(message);
    return method === "tools/call" && params ? [params.name] : [];
  });

/** Guests share a limit for each address. */
function callerOf(req) {
  const { issuer, userId, claims } = principalOf(req) ?? {};
  return issuer === undefined ? [req.ip] : [issuer, userId ?? claims?.["client_id"]];
}
