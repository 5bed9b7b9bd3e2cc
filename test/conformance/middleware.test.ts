/** What middleware around `protect` sees and keeps. */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Decision } from "scopegate";
import { askWith, statusWith } from "../support/frameworks.ts";
import { applications, type Middleware, type Running } from "./applications.ts";
import { routes, start } from "./service.ts";

describe.each(applications.filter(({ hasMiddleware }) => hasMiddleware))(
  "$name behind other middleware",
  (application) => {
    let running: Running;
    let before: Middleware;
    beforeAll(async () => {
      const setup = { before: (...passing: Parameters<Middleware>) => before(...passing) };
      running = await start(application, {}, setup);
    });
    afterAll(() => running.close());

    it.each<[string, readonly string[] | undefined, number, string | undefined]>([
      ["/public/stats", undefined, 200, undefined],
      ["/public/stats", ["agents:read"], 200, undefined],
      ["/optional", undefined, 200, undefined],
      ["/optional", ["other:read"], 200, "user-1"],
      ["/agents", ["agents:read"], 200, "user-1"],
      ["/agents", ["other:read"], 403, undefined],
      ["/agents", undefined, 401, undefined],
    ])(
      "returns only the caller that the guard has allowed: %s with %j returns %i for %s",
      async (path, scopes, status, userId) => {
        const callers: unknown[] = [];
        let finished: Promise<unknown> | undefined;
        before = ({ response, principal }, proceed) => {
          callers.push(principal()?.userId);
          finished = once(response, "finish").then(() => callers.push(principal()?.userId));
          proceed();
        };
        expect(await statusWith(running.port, path, scopes)).toBe(status);
        await finished;
        expect(callers).toEqual([undefined, userId]);
      },
    );

    it.each([
      ["one challenge", 'Basic realm="x"', 'Basic realm="x", Bearer'],
      ["several challenges", ["Negotiate", 'Basic realm="x"'], 'Negotiate, Basic realm="x", Bearer'],
    ])("keeps %s of other middleware in a refusal", async (_kind, challenges, expected) => {
      before = ({ setHeader }, proceed) => {
        setHeader("www-authenticate", challenges);
        proceed();
      };
      const { status, headers } = await askWith(running.port, "/agents");
      expect([status, headers["www-authenticate"]]).toEqual([401, expected]);
    });

    // The guard without a framework returns a promise.
    const isSynchronous = application.name !== "Node without a framework";

    it.runIf(isSynchronous)("continues in the same tick when the token is remembered", async () => {
      const order: unknown[] = [];
      before = (_passing, proceed) => {
        order.length = 0;
        running.ran.length = 0;
        proceed();
        order.push(...running.ran, "after proceed()");
      };
      for (const expected of [["after proceed()"], ["GET /agents/:agent_id", "after proceed()"]]) {
        expect(await statusWith(running.port, "/agents/web", ["agents:web:read"])).toBe(200);
        expect(order).toEqual(expected);
      }
    });
  },
);

describe.each(applications)("$name", (application) => {
  it("fails a request at requireScopes without protect", async () => {
    const running = await application.start({ server: undefined, routes });
    const answer = await askWith(running.port, "/extra/5", ["extra:5:use"]);
    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ fault: expect.stringContaining("protect") as string });
    expect(running.ran).toEqual([]);
    await running.close();
  });

  it("passes to onDecision the object that handlers receive, and leaves the prototypes of Node.js as they are", async () => {
    const sources: unknown[] = [];
    const onDecision = (...[, , event]: [Decision, unknown, { readonly source?: object }]) =>
      void sources.push(event.source);
    const running = await start(
      application,
      { onDecision },
      {
        routes: [{ method: "GET", path: "/optional", handle: ({ source }) => void sources.push(source) }],
      },
    );
    expect(await statusWith(running.port, "/optional")).toBe(200);
    await running.close();
    expect(sources).toHaveLength(2);
    expect(sources[0]).toBeDefined();
    expect(sources[0]).toBe(sources[1]);
    for (const name of ["route", "router", "matched", "app"])
      expect(name in IncomingMessage.prototype, name).toBe(false);
    expect(Object.getOwnPropertySymbols(IncomingMessage.prototype).map(String)).not.toContain(
      "Symbol(scopegate)",
    );
  });
});
