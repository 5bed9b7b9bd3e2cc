import { describe, expect, it } from "vitest";
import type { Caller } from "../../examples/knowledge-service/operations.ts";
import { createService, everyone } from "./operations.ts";

const { perform, routes } = createService();

const notFound = { type: "about:blank", title: "Not Found", status: 404 };

describe.each([
  { kind: "agents", idName: "agent_id", ids: ["web", "data", "support"] },
  { kind: "teams", idName: "team_id", ids: ["research", "operations"] },
])("$kind", ({ kind, idName, ids }) => {
  const [first = ""] = ids;
  const runRoute = `POST /${kind}/:${idName}/runs`;
  const only = (...visible: string[]): Caller => ({
    ...everyone,
    resourceIds: (resource, action) =>
      resource === kind && action === "read" ? new Set(visible) : new Set<string>(ids),
  });

  it.each([
    ["all of them for a caller who may read all", everyone, ids],
    ["none for a caller who may read none", only(), []],
    ["one for a caller who may read that one", only(first), [first]],
    ["only those that exist", only("elsewhere", first), [first]],
    ["them in its own order, for grants in another order", only(...ids.toReversed()), ids],
  ])(`lists %s`, (_, caller, listed) => {
    const { status, body } = perform(`GET /${kind}`, { caller });
    expect(status).toBe(200);
    expect(body).toEqual(listed.map((id) => expect.objectContaining({ id }) as object));
  });

  it("returns one by its id", () => {
    expect(perform(`GET /${kind}/:${idName}`, { params: { [idName]: first } })).toEqual({
      status: 200,
      contentType: "application/json",
      body: {
        id: first,
        name: expect.any(String) as string,
        description: expect.any(String) as string,
      },
    });
  });

  it.each(["elsewhere", "", "constructor", first.toUpperCase()])(
    "returns 404 for the unknown id %j",
    (id) => {
      const input = { params: { [idName]: id }, body: { input: "hello" } };
      for (const route of [`GET /${kind}/:${idName}`, runRoute]) {
        expect(perform(route, input)).toMatchObject({
          status: 404,
          contentType: "application/problem+json",
          body: notFound,
        });
      }
    },
  );

  it("returns a run with the id of the caller", () => {
    const input = { params: { [idName]: first }, body: { input: "hello" } };
    const { status, body } = perform(runRoute, input);
    expect(status).toBe(201);
    expect(body).toEqual({
      run_id: expect.stringMatching(/^[\da-f-]{36}$/) as string,
      [idName]: first,
      input: "hello",
      output: expect.stringContaining("hello") as string,
      user_id: "ada",
    });
    expect(perform(runRoute, input).body).not.toHaveProperty("run_id", (body as { run_id: string }).run_id);
  });

  it("returns a run without a user id if the caller has none", () => {
    const caller: Caller = { resourceIds: () => "all" };
    const input = { caller, params: { [idName]: first }, body: { input: "" } };
    expect(perform(runRoute, input)).toMatchObject({ status: 201, body: { user_id: null } });
  });

  it.each([undefined, null, "hello", [], ["hello"], {}, { input: 1 }, { input: null }, { Input: "hello" }])(
    "returns 400 for a run with the body %j",
    (body) => {
      expect(perform(runRoute, { params: { [idName]: first }, body })).toMatchObject({
        status: 400,
        contentType: "application/problem+json",
        body: { status: 400, detail: expect.stringContaining("`input`") as string },
      });
    },
  );

  it("throws if the route parameter is missing", () => {
    expect(() => perform(`GET /${kind}/:${idName}`)).toThrow(idName);
  });
});

describe("the operations", () => {
  const openRoutes = ["GET /public/stats", "GET /health"];
  const resourceRoutes = ["agent", "team"].flatMap((kind) => [
    `GET /${kind}s`,
    `GET /${kind}s/:${kind}_id`,
    `POST /${kind}s/:${kind}_id/runs`,
  ]);
  const sessionRoutes = ["GET", "PATCH", "DELETE"].map((method) => `${method} /sessions/:session_id`);
  const guardedRoutes = [
    ...["GET /sessions", "POST /sessions", "GET /knowledge/config", "POST /custom/endpoint"],
    ...resourceRoutes,
    ...sessionRoutes,
  ];

  it("include exactly these routes", () => {
    expect([...routes].sort()).toEqual([...guardedRoutes, ...openRoutes].sort());
  });

  it.each(guardedRoutes)("throw for %s without a caller", (route) => {
    const params = { agent_id: "web", team_id: "research", session_id: "x" };
    const input = { caller: undefined, params, body: { input: "hello", name: "x" } };
    expect(() => perform(route, input)).toThrow("needs an authenticated caller");
  });

  it.each([
    ["GET /public/stats", { agents: 3, teams: 2, sessions: 0 }],
    ["GET /health", { status: "ok" }],
  ])("return a response for %s without a caller", (route, body) => {
    expect(perform(route, { caller: undefined })).toEqual({
      status: 200,
      contentType: "application/json",
      body,
    });
  });

  it.each([{ any: ["thing"] }, "text", null])("return the body %j of POST /custom/endpoint", (body) => {
    expect(perform("POST /custom/endpoint", { body })).toMatchObject({
      status: 201,
      body: { received: body },
    });
  });

  it("return a body that looks like a problem with status 201", () => {
    const body = { type: "about:blank", status: 404 };
    expect(perform("POST /custom/endpoint", { body })).toMatchObject({ status: 201 });
  });
});
