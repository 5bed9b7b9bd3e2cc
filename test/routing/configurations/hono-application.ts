import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type Context, type Handler, Hono, type MiddlewareHandler } from "hono";
import { listen } from "../../support/http.ts";
import { type Configuration, type Kit } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { nameOf, STANDARD_ROUTES, type StandardRoute, withoutNames } from "../routes.ts";
import { type Target } from "../targets.ts";

/** What `build` of a configuration receives. */
export interface HonoKit extends Kit {
  /** A handler that records its call and responds. */
  readonly handler: (name: string) => Handler;
  /** A handler that records its call and calls `next`. */
  readonly passing: (name: string) => MiddlewareHandler;
}

export interface HonoSetup {
  readonly name: string;
  readonly prefix?: string;
  readonly isOpen?: true;
  readonly targets?: readonly Target[];
  readonly options?: ConstructorParameters<typeof Hono>[0];
  /** Creates the application of a preset. */
  readonly create?: () => Hono;
  /** Whether `build` adds the guard. Otherwise, the guard is in front of everything. */
  readonly placesGuard?: true;
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
    const respond = getRequestListener(app.fetch);
    return listen(createServer((incoming, outgoing) => void respond(incoming, outgoing)));
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
