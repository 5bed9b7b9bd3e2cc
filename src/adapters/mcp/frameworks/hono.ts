import type { ResourceServer } from "../../../core/resource-server.ts";
import { proceed } from "../../hono/context.ts";
import { type HonoContext, protect } from "../../hono/index.ts";
import { type Gate, isPassed } from "../gate.ts";
import { checkCall } from "./web-exchange.ts";

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
      const outcome = await checkCall(gate, context, req.raw, context.get("parsedBody"));
      if (!isPassed(outcome)) return void (context.res = proceed(context, outcome, next) as Response);
      context.set("auth", outcome.authInfo);
      context.set("parsedBody", outcome.body);
      req.raw = outcome.request;
      await next();
      const finished = await outcome.respond(context.res);
      if (finished === context.res) return;
      // Hono adds the headers of the response that is replaced.
      context.res = undefined;
      context.res = finished;
    });
}
