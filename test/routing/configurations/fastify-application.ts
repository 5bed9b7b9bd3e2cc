import fastifyExpress from "@fastify/express";
import fastifyExpress3 from "@fastify/express3";
import fastifyMiddie from "@fastify/middie";
import fastifyMiddie8 from "@fastify/middie8";
import fastify5, { type FastifyInstance, type FastifyPluginCallback, type RouteHandlerMethod } from "fastify";
import fastify4 from "fastify4";
import { listenFastify } from "../../support/hosts.ts";
import type { Configuration, Kit, Setup } from "../configuration.ts";
import { PROBE_HEADER } from "../recorder.ts";
import { compact } from "../../../src/core/runtime/compact.ts";
import { nameOf, STANDARD_ROUTES, withoutNames } from "../routes.ts";

/** What `build` of a configuration receives. */
export interface FastifyKit extends Kit {
  readonly handler: (name: string) => RouteHandlerMethod;
  /** @fastify/express and @fastify/middie for this version of Fastify. */
  readonly express: FastifyPluginCallback;
  readonly middie: FastifyPluginCallback;
}

/** The router options. The two versions expect them in different places. */
export interface RouterOptions {
  readonly caseSensitive?: boolean;
  readonly ignoreTrailingSlash?: boolean;
  readonly ignoreDuplicateSlashes?: boolean;
  readonly useSemicolonDelimiter?: boolean;
  readonly maxParamLength?: number;
}

export const LENIENT: RouterOptions = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  useSemicolonDelimiter: true,
};

export interface FastifySetup extends Setup {
  readonly router?: RouterOptions;
  readonly rewriteUrl?: (request: { readonly url?: string | undefined }) => string;
  readonly build: (app: FastifyInstance, kit: FastifyKit) => void | Promise<void>;
}

/** Returns one configuration per major version. */
export const forEachFastify = (setup: FastifySetup): readonly Configuration[] => {
  const { router = {}, rewriteUrl } = setup;
  const rewrite = compact({ rewriteUrl });
  const create4 = fastify4 as unknown as (options: object) => FastifyInstance;
  const plugins4 = {
    express: fastifyExpress3 as unknown as FastifyPluginCallback,
    middie: fastifyMiddie8 as unknown as FastifyPluginCallback,
  };
  const plugins5 = { express: fastifyExpress as unknown as FastifyPluginCallback, middie: fastifyMiddie };
  return [
    toConfiguration("Fastify 4", () => create4({ ...router, ...rewrite }), plugins4, setup),
    toConfiguration("Fastify 5", () => fastify5({ routerOptions: router, ...rewrite }), plugins5, setup),
  ];
};

/** Adds the standard routes to an instance. */
export function addStandardRoutes(instance: FastifyInstance, { handler }: FastifyKit): void {
  for (const route of STANDARD_ROUTES) {
    const url = withoutNames(route.path);
    if (route.method === "ALL") instance.all(url, handler(nameOf(route)));
    else instance.route({ method: route.method, url, handler: handler(nameOf(route)) });
  }
}

function toConfiguration(
  version: string,
  create: () => FastifyInstance,
  plugins: Pick<FastifyKit, "express" | "middie">,
  { name, placesGuard, build, router: _router, rewriteUrl: _rewriteUrl, ...rest }: FastifySetup,
): Configuration {
  return {
    ...rest,
    name: `${version}, ${name}`,
    start: async (kit) => {
      const app = create();
      if (!placesGuard) await app.register(kit.guard.fastify());
      await build(app, { ...kit, ...plugins, handler: createHandler(kit) });
      return listenFastify(app);
    },
  };
}

const createHandler =
  ({ recorder }: Kit): FastifyKit["handler"] =>
  (name) =>
  (request, reply) => {
    const params = request.params as Readonly<Record<string, unknown>>;
    recorder.record(request.headers[PROBE_HEADER], name, request.method, params);
    return reply.send({});
  };
