import "reflect-metadata";
import express from "express";
import type { FastifyInstance } from "fastify";
import {
  Controller,
  Get,
  HttpException,
  type INestApplication,
  Module,
  Param,
  Post,
  Sse,
  UseGuards,
} from "@nestjs/common";
import { Test } from "@nestjs/testing";
import { of } from "rxjs";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { Principal } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import * as forExpress from "scopegate/express";
import {
  CurrentPrincipal,
  protect,
  Public,
  RequireScopes,
  requireScopes,
  ScopegateModule,
} from "scopegate/nest";
import { serve as serveListener } from "../support/frameworks.ts";
import { haveSameClass } from "../support/hidden-class.ts";
import { type Asked, ask } from "../support/http.ts";
import {
  createApplication,
  createController,
  createModule,
  listenOn,
  type NestResponse,
  type NestRoute,
  type Platform,
  PLATFORMS,
} from "../support/nest.ts";
import { createServer as createResourceServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const ran: string[] = [];

const createServer = (options: Partial<ResourceServerOptions> = {}) =>
  createResourceServer({
    scopeMappings: {
      "GET /agents": ["agents:read"],
      "GET /agents/:agent_id": ["agents:<agent_id>:read"],
      "POST /agents/:agent_id/runs": [],
      "GET /events": ["events:read"],
      "GET /health": "public",
      "GET /signed-in": [],
    },
    ...options,
  });

@Controller("agents")
class Agents {
  @Get()
  list(@CurrentPrincipal() caller: Principal) {
    ran.push("list");
    return { caller: caller.userId };
  }

  @Get(":agent_id")
  one(@Param("agent_id") id: string) {
    ran.push("one");
    return { id };
  }

  @Post(":agent_id/runs")
  @RequireScopes("agents:<agent_id>:run")
  @RequireScopes("runs:start")
  run() {
    ran.push("run");
    return {};
  }

  @Get("without/rule")
  unmapped() {
    ran.push("unmapped");
  }
}

@Controller()
class Rest {
  @Get("health")
  @Public()
  health(@CurrentPrincipal() caller: Principal | undefined) {
    return { anonymous: caller === undefined };
  }

  @Sse("events")
  events() {
    ran.push("events");
    return of({ data: "one" });
  }
}

afterEach(() => void ran.splice(0));

/** Listens until the end of the test, and returns the port. */
async function serve(app: INestApplication): Promise<number> {
  const { port, close } = await listenOn(app);
  onTestFinished(close);
  return port;
}

const signedInRoute = (...decorators: readonly MethodDecorator[]): NestRoute => ({
  method: "GET",
  path: "/signed-in",
  decorators,
  handle: (_request, response) => {
    ran.push("signed-in");
    response.send("{}");
  },
});

/** A controller with one handler. */
const signedIn = (platform: Platform, ...decorators: readonly MethodDecorator[]) =>
  createController(platform, [signedInRoute(...decorators)]);

interface Setup {
  readonly controllers?: readonly (new () => object)[];
  readonly server?: ReturnType<typeof createServer>;
  readonly prepare?: (app: INestApplication) => unknown;
}

async function start(platform: Platform, { controllers = [Agents, Rest], server, prepare }: Setup = {}) {
  const imports = [ScopegateModule.forRoot(server ?? createServer())];
  const app = await createApplication(platform, createModule({ imports, controllers: [...controllers] }));
  await prepare?.(app);
  const port = await serve(app);
  const call = async (path: string, scopes?: readonly string[], more: Partial<Asked> = {}) =>
    ask(port, { path, ...(scopes && { token: await issuer.token({ scopes }) }), ...more });
  return { app, call };
}

const json = { method: "POST", body: {} };

describe.each(PLATFORMS)("NestJS on %s", (platform) => {
  it("passes the caller to @CurrentPrincipal(), and requires the scopes of every decorator", async () => {
    const { call } = await start(platform);
    expect(await call("/agents", ["agents:read"])).toMatchObject({ status: 200, body: { caller: "user-1" } });
    expect((await call("/health", undefined, { token: "broken" })).body).toEqual({ anonymous: true });
    // NestJS runs no guard where it has no handler.
    expect((await call("/nowhere")).status).toBe(404);
    ran.length = 0;
    for (const scopes of [["agents:web:run"], ["runs:start"], ["runs:start", "agents:api:run"]])
      expect((await call("/agents/web/runs", scopes, json)).status).toBe(403);
    expect((await call("/events", [])).status).toBe(403);
    expect(ran).toEqual([]);
    expect((await call("/agents/web/runs", ["runs:start", "agents:web:run"], json)).status).toBe(201);
    expect((await call("/events", ["events:read"])).text).toContain("data: one");
  });

  it("compares the parameters of a rule with those of the handler", async () => {
    // As middleware of the platform may do, such as a function of app.param.
    let written: Record<string, string> = {};
    const write = (request: { params: object }, _response: unknown, next: () => void) => {
      Object.assign(request.params, written);
      next();
    };
    const { call } = await start(platform, {
      prepare: (app) => {
        const instance = app.getHttpAdapter().getInstance() as FastifyInstance & express.Express;
        if (platform === "Fastify") instance.addHook("preHandler", write as never);
        else instance.param("agent_id", write as never);
      },
    });
    expect((await call("/agents/a+b", ["agents:a+b:read"])).body).toEqual({ id: "a+b" });
    written = { agent_id: "a b" };
    expect(await call("/agents/a+b", ["agents:a+b:read"])).toMatchObject({
      status: 400,
      body: { code: "request_ambiguous" },
    });
    // The rule for this handler uses no parameter.
    const scopes = ["agents:a+b:run", "agents:a b:run", "agents:run", "runs:start"];
    expect((await call("/agents/a+b/runs", scopes, json)).status).toBe(201);
  });

  it("lets all requests share a hidden class of V8, and all responses", async () => {
    const seen: [request: object, response: object][] = [];
    const handle: NestRoute["handle"] = (request, response) => {
      seen.push([request, response]);
      response.send("{}");
    };
    const route = { method: "GET", path: "/signed-in", handle };
    const { call } = await start(platform, { controllers: [createController(platform, [route])] });
    for (let turn = 0; turn < 3; turn += 1) expect((await call("/signed-in", [])).status).toBe(200);
    const [, second = [], third = []] = seen;
    expect(second.map((one, index) => haveSameClass(one, third[index] ?? {}))).toEqual([true, true]);
  });

  it("passes no refusal to the exception filters of the application", async () => {
    const errors: unknown[] = [];
    const { call } = await start(platform, {
      controllers: [signedIn(platform, RequireScopes("own:use"))],
      prepare: (app) => app.useGlobalFilters({ catch: (error) => void errors.push(error) }),
    });
    expect((await call("/signed-in")).status).toBe(401);
    expect((await call("/signed-in", [])).status).toBe(403);
    expect(errors).toEqual([]);
  });

  it("does not start if the table does not make a handler with @Public() public", async () => {
    const Own = signedIn(platform, Public());
    await expect(start(platform, { controllers: [Own] })).rejects.toThrow(
      'Write "GET /signed-in": "public" in scopeMappings, or remove @Public()',
    );
  });

  it("fails a request with a token at a handler with @Public() if no module has checked the handler at boot", async () => {
    const Own = signedIn(platform, Public());
    const app = await createApplication(platform, createModule({ controllers: [Own] }));
    app.useGlobalGuards(protect(createServer()));
    const port = await serve(app);
    expect((await ask(port, { path: "/signed-in" })).status).toBe(401);
    const token = await issuer.token({ scopes: [] });
    expect((await ask(port, { path: "/signed-in", token })).status).toBe(500);
    expect(ran).toEqual([]);
  });

  it("lists the routes of the controllers with prefix and version for the audit", async () => {
    const server = createServer();
    const { app } = await start(platform, {
      server,
      controllers: [Agents],
      prepare: (own) => own.setGlobalPrefix("v1"),
    });
    expect(routesOf(app)).toContainEqual({ method: "GET", pattern: "/v1/agents/:agent_id" });
    expect(audit(server, routesOf(app)).findings).toContainEqual(
      expect.objectContaining({ kind: "route_unmapped" }),
    );
  });

  it.each(["onModuleInit", ...(platform === "Express" ? ["configure"] : [])])(
    "marks a route that the method %s of a module registers at the HTTP adapter, because no guard runs for it",
    async (hook) => {
      const server = createServer({ scopeMappings: { "GET /agents": ["agents:read"], "GET /metrics": [] } });
      const root = createModule({ imports: [ScopegateModule.forRoot(server)], controllers: [Agents] });
      const metrics = (_request: unknown, response: NestResponse) => void response.send("open");
      let app: INestApplication | undefined = undefined as INestApplication | undefined;
      const register = () => void app?.getHttpAdapter().get("/metrics", metrics as never);
      Object.defineProperty(root.prototype, hook, { value: register });
      app = await createApplication(platform, root);
      expect((await ask(await serve(app), { path: "/metrics" })).status).toBe(200);
      const unguarded = audit(server, routesOf(app)).findings.filter(
        ({ kind }) => kind === "route_unguarded",
      );
      expect(unguarded.map(({ message }) => message)).toEqual([
        "`GET /metrics` is registered at the HTTP adapter: NestJS runs no guard for it.",
      ]);
    },
  );

  it.runIf(platform === "Express").each([
    ["that NestJS adds after protect", true, ["cors_after_guard"]],
    ["in front of protect", false, []],
  ])("reports CORS middleware %s: %s", async (_, isLate, kinds) => {
    const server = createServer();
    const root = createModule({ imports: [ScopegateModule.forRoot(server)], controllers: [Agents] });
    const app = await createApplication(platform, root, isLate ? { cors: true } : {});
    if (!isLate) app.enableCors();
    app.use(forExpress.protect(server));
    await serve(app);
    const findings = audit(server, routesOf(app)).findings.filter(({ kind }) => kind === "cors_after_guard");
    expect(findings.map(({ kind }) => kind)).toEqual(kinds);
    for (const { hint } of findings) expect(hint).toMatch(/^Call app\.enableCors\(\) before/);
  });

  it("does not list routes of an application without the module", async () => {
    const app = await createApplication(platform, createModule({}));
    expect(() => routesOf(app)).toThrow("import ScopegateModule");
  });

  it("calls onDecision once for a request, also behind protect of the platform", async () => {
    const decisions: unknown[] = [];
    const server = createServer({ onDecision: (decision) => decisions.push(decision.allowed) });
    const { call } = await start(platform, { server });
    await call("/agents", ["agents:read"]);
    expect(decisions).toEqual([true]);
    if (platform === "Fastify") return;
    const both = await start(platform, { server, prepare: (app) => app.use(forExpress.protect(server)) });
    await both.call("/agents", ["agents:read"]);
    expect(decisions).toEqual([true, true]);
    expect((await both.call("/nowhere")).status).toBe(403);
  });

  it("guards a single controller, and fails @CurrentPrincipal() in any other", async () => {
    const controllers = [Agents, signedIn(platform, UseGuards(protect(createServer())))];
    const port = await serve(await createApplication(platform, createModule({ controllers })));
    expect((await ask(port, { path: "/signed-in" })).status).toBe(401);
    expect((await ask(port, { path: "/agents" })).status).toBe(500);
    expect(ran).toEqual([]);
  });
});

it("creates the resource server from other providers", async () => {
  class Configuration {
    readonly audience = "agents-prod";
  }
  @Module({ providers: [Configuration], exports: [Configuration] })
  class ConfigurationModule extends Object {}
  const imported = ScopegateModule.forRootAsync({
    imports: [ConfigurationModule],
    inject: [Configuration],
    useFactory: (configuration: Configuration) =>
      Promise.resolve(createServer({ serviceId: configuration.audience })),
  });
  @Module({ imports: [imported], controllers: [Agents] })
  class Root extends Object {}
  const module = await Test.createTestingModule({ imports: [Root] }).compile();
  const app = module.createNestApplication();
  const port = await serve(app);
  expect((await ask(port, { path: "/agents" })).status).toBe(401);
  const token = await issuer.token({ scopes: ["agents:read"] });
  expect((await ask(port, { path: "/agents", token })).status).toBe(200);
});

it("does not start without a resource server", async () => {
  const imported = ScopegateModule.forRootAsync({ useFactory: () => ({}) as never });
  await expect(createApplication("Express", createModule({ imports: [imported] }))).rejects.toThrow(
    "takes the resource server",
  );
});

it("injects its server without the metadata that bundlers omit", () => {
  expect(Reflect.getMetadata("design:paramtypes", ScopegateModule)).toBeUndefined();
});

const contextOf = (type: string, ...given: readonly unknown[]) =>
  ({
    getType: () => type,
    getArgs: () => given,
    getHandler: () => contextOf,
  }) as unknown as Parameters<ReturnType<typeof protect>["canActivate"]>[0];

describe("a handler that no HTTP request reaches", () => {
  it.each(["rpc", "ws"])("throws an error that names the fix in a context of type %s", (type) => {
    const guard = protect(createServer());
    expect(() => guard.canActivate(contextOf(type, {}, {}))).toThrow(`a handler of type \`${type}\``);
  });

  it("throws for a GraphQL resolver without a request, or with a request that no guard has allowed", () => {
    const guard = protect(createServer());
    const request = { headers: {} };
    expect(() => guard.canActivate(contextOf("graphql", {}, {}, {}, {}))).toThrow(
      "needs the request as `req`",
    );
    expect(() => guard.canActivate(contextOf("graphql", {}, {}, { req: request }, {}))).toThrow(
      "No guard has allowed the HTTP request of this GraphQL resolver",
    );
  });

  it("requires the rule for the path that GraphQL is mounted at, because GraphQL handles every path below it", async () => {
    const server = createServer({
      scopeMappings: { "POST /graphql": ["graph:use"], "POST /*path": [], "POST /graphql/hook": "public" },
    });
    const app = express();
    app.use(forExpress.protect(server));
    app.use("/graphql", (req, res, next) => {
      const allowed = protect(server).canActivate(contextOf("graphql", {}, {}, { req }, {}));
      Promise.resolve(allowed).then(
        (isAllowed) => res.json({ isAllowed }),
        (error: unknown) => (error instanceof HttpException ? res.json(error.getResponse()) : next(error)),
      );
    });
    const port = await serveListener(app);
    const token = await issuer.token({ scopes: ["graph:use"] });
    const asked = async (path: string, token?: string) =>
      (await ask(port, { path, method: "POST", token })).body;
    expect(await asked("/graphql", token)).toEqual({ isAllowed: true });
    const weak = await issuer.token({ scopes: [] });
    for (const path of ["/graphql/hook", "/graphql/deep/er"])
      expect(await asked(path, weak)).toMatchObject({ status: 400, message: expect.any(String) as string });
  });
});

describe.each(PLATFORMS)("@RequireScopes and inheritance on %s", (platform) => {
  const server = createServer({ scopeMappings: { "GET /{*path}": [] } });

  class Base {
    @Get("inherited")
    @RequireScopes("base:read")
    inherited() {
      return { ran: "inherited" };
    }

    @Get("overridden")
    @RequireScopes("base:read")
    overridden() {
      return { ran: "overridden" };
    }
  }

  it("keeps the scopes of a method of a base class and of a mixin, in addition to those of the subclass", async () => {
    const mixin = () => {
      @RequireScopes("mixin:read")
      class Mixed extends Base {}
      return Mixed;
    };
    @Controller()
    @requireScopes("derived:read")
    class Derived extends mixin() {}
    const { call } = await start(platform, { controllers: [Derived], server });
    expect((await call("/inherited", ["mixin:read", "derived:read"])).status).toBe(403);
    expect((await call("/inherited", ["base:read", "derived:read"])).status).toBe(403);
    expect((await call("/inherited", ["base:read", "mixin:read"])).status).toBe(403);
    expect((await call("/inherited", ["base:read", "mixin:read", "derived:read"])).status).toBe(200);
  });

  it("requires only the rule for an overriding method without the decorator, as documented", async () => {
    @Controller()
    class Derived extends Base {
      @Get("overridden")
      override overridden() {
        return { ran: "derived" };
      }
    }
    const { call } = await start(platform, { controllers: [Derived], server });
    expect((await call("/overridden")).status).toBe(401);
    expect((await call("/overridden", [])).status).toBe(200);
  });
});
