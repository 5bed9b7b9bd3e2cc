/** The hostile requests that need no network, and the middleware of Hono, with requests in memory. */
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { protectMcp } from "scopegate/mcp";
import { ALLOWED, FORBIDDEN } from "./support/corpus/hostile.ts";
import { CORPUS } from "./support/corpus/index.ts";
import { post, server, URL_OF } from "./support/memory.ts";
import { type Raw } from "./support/send.ts";
import { tokenOf, type User } from "./support/tools.ts";

describe("protectMcp in memory", () => {
  const kinds = ["names and arguments", "JSON", "batches", "headers"].map(
    (kind) => [kind, CORPUS[kind] ?? []] as const,
  );
  it.each(kinds)("refuses hostile %s, or passes on what calls no tool", async (_, cases) => {
    const gate = protectMcp(server, { maxBodyBytes: 1_048_576 });
    for (const { name, status, body, sender = "runner", headers: given = {} } of cases) {
      const headers = new Headers({ authorization: `Bearer ${await tokenOf(sender as User)}` });
      const fields: NonNullable<Raw["headers"]> = { "content-type": "application/json", ...given };
      for (const [field, values] of Object.entries(fields))
        for (const value of values === undefined ? [] : [values].flat()) headers.append(field, value);
      const access = await gate(new Request(URL_OF, { method: "POST", headers, body: body as string }));
      // The official SDK would answer what passes.
      expect(status, name).toContain(access instanceof Response ? access.status : 202);
    }
  });
});

describe("protectMcp in front of Hono's own code", () => {
  const app = new Hono<{ Variables: { parsedBody: unknown } }>();
  app.use(async (c, next) => {
    if (c.req.header("x-parsed") !== undefined) c.set("parsedBody", await c.req.json());
    await next();
  });
  app.use(protectMcp(server));
  app.post("/mcp", async (c) =>
    c.json(c.req.header("x-parsed") === undefined ? await c.req.json() : c.get("parsedBody")),
  );

  it("keeps the body readable", async () => {
    const response = await app.request(await post(JSON.stringify(ALLOWED)));
    expect(await response.json()).toEqual(ALLOWED);
  });

  it("checks a body that a parser in front has read", async () => {
    const parsed = { "x-parsed": "1" };
    const response = await app.request(await post(JSON.stringify(ALLOWED), parsed));
    expect(await response.json()).toEqual(ALLOWED);
    expect((await app.request(await post(JSON.stringify(FORBIDDEN), parsed))).status).toBe(403);
    for (const body of ["[]", "5", "null"])
      expect((await app.request(await post(body, parsed))).status).toBe(400);
    // The shape of an answer of this library.
    const forged = JSON.stringify({ kind: "invalid", status: 200, code: 0, message: "x" });
    expect((await app.request(await post(forged, parsed))).status).toBe(400);
  });
});
