import { createServer } from "node:http";
import { type Context, type Handler, Hono, type MiddlewareHandler } from "hono";
import { listenerOf } from "../../support/hosts.ts";
import { listen } from "../../support/http.ts";
import type { Configuration, Kit, Setup } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { nameOf, STANDARD_ROUTES, type StandardRoute, withoutNames } from "../routes.ts";

/** What `build` of a configuration receives. */
export interface HonoKit extends Kit {
  /** A handler that records its call and responds. */
  readonly handler: (name: string) => Handler;
  /** A handler that records its call and calls `next`. */
  readonly passing: (name: string) => MiddlewareHandler;
}

export interface HonoSetup extends Setup {
  readonly options?: ConstructorParameters<typeof Hono>[0];
  /** Creates the application of a preset. */
  readonly create?: () => Hono;
  readonly build: (app: Hono, kit: HonoKit) => void;
}

/** Adds the standard routes in Hono's syntax. */
export function addStandardRoutes(
  app: Pick<Hono, "on">,
  { handler }: HonoKit,
  sort: (routes: readonly StandardRoute[]) => readonly StandardRoute[] = (routes) => routes,
): void {
  for (const route of sort(STANDARD_ROUTES))
    app.on(route.method, withoutNames(route.path), handler(nameOf(route)));
}

export const toConfiguration = ({
  name,
  options,
  create,
  placesGuard,
  build,
  ...rest
}: HonoSetup): Configuration => ({
  ...rest,
  name: `Hono, ${name}`,
  start: (kit) => {
    const app: Hono = create?.() ?? new Hono(options);
    app.onError((_error, context) => context.text("fault", 500));
    if (!placesGuard) app.use(kit.guard.hono());
    build(app, { ...kit, ...createHandlers(kit) });
    return listen(createServer(listenerOf(app.fetch)));
  },
});

function createHandlers({ recorder }: Kit): Pick<HonoKit, "handler" | "passing"> {
  const record = (name: string, context: Context) => {
    const params = { ...context.req.param(), ...readWildcard(name, context) };
    recorder.record(context.req.header(PROBE_HEADER), name, context.req.method, params);
  };
  return {
    handler: (name) => (context) => {
      record(name, context);
      return context.body("{}");
    },
    passing: (name) => async (context, next) => {
      record(name, context);
      await next();
    },
  };
}

/** Hono has no parameter for a wildcard: a handler reads the path. */
function readWildcard(name: string, context: Context): Readonly<Record<string, string>> {
  const [, fixed = "", wildcard] = /^\w+ (\/\S*?\/)\*(\w+)$/.exec(name) ?? [];
  if (wildcard === undefined) return {};
  const at = context.req.path.indexOf(fixed);
  const rest = at < 0 ? "" : context.req.path.slice(at + fixed.length);
  try {
    return { [wildcard]: decodeURIComponent(rest) };
  } catch {
    return { [wildcard]: rest };
  }
}
