import type { ResourceServer } from "../../../core/server.ts";
import { proceed } from "../../hono/context.ts";
import { type HonoContext, protect } from "../../hono/index.ts";
import { shareVerdicts } from "../../shared/guard.ts";
import { withBody } from "../body.ts";
import { type Gate, isPassed } from "../gate.ts";
import { exchangeOf, finishResponse } from "./web-exchange.ts";

type Context = Omit<HonoContext, "req" | "res"> & {
  readonly req: Omit<HonoContext["req"], "raw"> & { raw: Request };
  get res(): Response;
  set res(response: Response | undefined);
  get(name: string): unknown;
  set(name: string, value: unknown): void;
};

/** Creates a middleware of Hono: the body is `c.get("parsedBody")`, and the caller `c.get("auth")`. */
export function createFrameworkGate(server: ResourceServer, gate: Gate) {
  const guard = protect(server);
  return (context: Context, next: () => Promise<void>) =>
    guard(context, async () => {
      const { req } = context;
      const outcome = await gate(exchangeOf(context, req.raw, context.get("parsedBody")));
      if (!isPassed(outcome)) return void (context.res = proceed(context, outcome, next) as Response);
      const { authInfo, body, bytes, watch } = outcome;
      context.set("auth", authInfo);
      context.set("parsedBody", body);
      if (bytes) {
        // Later code that doesn't use `parsedBody` can still read the body.
        req.raw = withBody(req.raw, bytes);
        shareVerdicts(context, req.raw);
      }
      await next();
      const finished = await finishResponse(context.res, watch);
      if (finished === context.res) return;
      // Hono adds the headers of the response that is replaced.
      context.res = undefined;
      context.res = finished;
    });
}
