/** Requests in another guise: what a guard found of one is not lost, and is nobody else's. */
import { createServer } from "node:http";
import express5, { type Request, type RequestHandler } from "express";
import express4 from "express4";
import { afterEach, describe, expect, it } from "vitest";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import * as forNode from "scopegate/node";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const guardFor = (scopeMappings: ScopeMappings) =>
  protect(
    createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], scopeMappings }),
  );

const policy: ScopeMappings = { "GET /x": [], "GET /:page": ["page:read"] };

const tell: RequestHandler = (request, response) => void response.json(principalOf(request)?.scopes ?? null);
const pass: RequestHandler = (_request, _response, next) => {
  next();
};

const derive = (request: Request): Request => Object.create(request) as Request;
const wrap = (request: Request): Request => new Proxy(request, {});
const deriveWrapped = (request: Request): Request => derive(wrap(request));
const wrapDerived = (request: Request): Request => wrap(derive(request));

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("%s", (_, express) => {
  async function statusesOf(app: ReturnType<typeof express>): Promise<readonly unknown[]> {
    const { port, close } = await listen(createServer(app));
    closing.push(close);
    const statuses: unknown[] = [];
    for (const scopes of [[], ["page:read"]]) {
      const { status, body } = await ask(port, { path: "/x", token: await issuer.token({ scopes }) });
      statuses.push(status === 200 ? body : status);
    }
    return statuses;
  }

  const ASKED = [403, ["page:read"]];

  it.each([
    ["derived", derive],
    ["wrapped in a proxy", wrap],
    ["derived from a proxy", deriveWrapped],
    ["a proxy of a derived one", wrapDerived],
  ])("asks the route of a request that is %s, and of the first one after it", async (_guise, disguise) => {
    const inner = express.Router();
    const app = express().use(guardFor(policy), (request, response, next) => {
      inner(disguise(request), response, next);
    });
    inner.get("/:page", tell);
    expect(await statusesOf(app)).toEqual(ASKED);
    inner.stack.length = 0;
    inner.get("/x", pass);
    expect(await statusesOf(app.get("/:page", tell))).toEqual(ASKED);
  });

  it("asks the route of a request whose guard was given a proxy of it", async () => {
    const guard = guardFor(policy);
    const app = express().use((request, response, next) => {
      guard(wrap(request), response, next);
    });
    expect(await statusesOf(app.get("/:page", tell))).toEqual(ASKED);
  });

  it("asks the route of a request that was given the members of one that was derived from it", async () => {
    const app = express().use(guardFor(policy), (request, _response, next) => {
      const other = derive(request);
      other.route = undefined;
      Object.assign(request, other);
      next();
    });
    expect(await statusesOf(app.get("/:page", tell))).toEqual(ASKED);
  });

  it("asks the route of a derived request by a guard that came later", async () => {
    const others = new WeakMap<Request, Request>();
    const inner = express.Router().get("/x", pass);
    const otherOf = (request: Request): Request => {
      const other = others.get(request) ?? derive(request);
      others.set(request, other);
      return other;
    };
    const behind: RequestHandler = (request, response, next) => void inner(otherOf(request), response, next);
    const app = express().use(guardFor({ "GET /x": [] }), behind, guardFor(policy), (request, response) => {
      express.Router().get("/:page", tell)(otherOf(request), response, () => response.end("none"));
    });
    expect(await statusesOf(app)).toEqual(ASKED);
  });
});

describe("a copy of a request", () => {
  it("has the caller of the request until it is guarded itself, which changes nothing of the other one", async () => {
    const guard = forNode.protect(
      createResourceServer({
        serviceId: "agents-prod",
        verificationKeys: [issuer.publicPem],
        scopeMappings: policy,
      }),
    );
    const response = {
      statusCode: 200,
      headersSent: false,
      setHeader: () => undefined,
      end: () => undefined,
    };
    const requestOf = async (scope: string) => ({
      method: "GET",
      url: "/x",
      headers: { authorization: `Bearer ${await issuer.token({ scopes: [scope] })}` },
    });
    const first = await requestOf("first:read");
    await guard(first, response);
    const second = { ...first, headers: (await requestOf("second:read")).headers };
    const scopesOf = (request: object) => forNode.principalOf(request)?.scopes;
    expect(scopesOf(second)).toEqual(["first:read"]);
    await guard(second, response);
    expect([scopesOf(first), scopesOf(second)]).toEqual([["first:read"], ["second:read"]]);
  });
});
