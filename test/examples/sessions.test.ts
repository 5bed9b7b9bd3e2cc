import { describe, expect, it } from "vitest";
import { loadKnowledge } from "../../examples/knowledge-service/knowledge.ts";
import {
  createOperations,
  type OperationInput,
  type OperationOutput,
} from "../../examples/knowledge-service/operations.ts";
import { createServer, issuer } from "../support/resource-servers.ts";

const knowledge = loadKnowledge();

const ONE = "/sessions/:session_id";

/** Creates a service, and functions that call it as a user. */
function createService() {
  const operations = createOperations(knowledge);
  const as =
    (userId: string | undefined) =>
    (route: string, session_id = "", body?: unknown): OperationOutput => {
      const operation = operations.find(({ method, pattern }) => `${method} ${pattern}` === route);
      if (!operation) throw new Error(`No operation has the route ${route}.`);
      const base = { resourceIds: () => "all" as const, scopes: [], has: () => false };
      const caller = userId === undefined ? base : { ...base, userId };
      return operation.run({ caller, params: { session_id }, query: new URLSearchParams(), body });
    };
  return { as, ada: as("ada"), bob: as("bob") };
}

type Perform = ReturnType<typeof createService>["ada"];

const create = (perform: Perform, name: string) =>
  perform("POST /sessions", "", { name }).body as { session_id: string };

const names = (perform: Perform) =>
  (perform("GET /sessions").body as readonly { name: string }[]).map(({ name }) => name);

const ownedRoutes = [`GET ${ONE}`, `PATCH ${ONE}`, `DELETE ${ONE}`];

const badBodies = [
  ["no body", undefined],
  ["null", null],
  ["an array", ["notes"]],
  ["a string", "notes"],
  ["no name", {}],
  ["a name that is not a string", { name: 7 }],
  ["an empty name", { name: "" }],
  ["a name of 201 characters", { name: "n".repeat(201) }],
] as const;

describe("the session operations", () => {
  it("create a session for the caller", () => {
    expect(createService().ada("POST /sessions", "", { name: "notes", user_id: "bob" })).toEqual({
      status: 201,
      contentType: "application/json",
      body: {
        session_id: expect.stringMatching(/^[\da-f-]{36}$/) as string,
        name: "notes",
        user_id: "ada",
      },
    });
  });

  it("allow the owner to read, rename and delete a session", () => {
    const { ada } = createService();
    const session = create(ada, "notes");
    const { session_id } = session;
    const renamed = { ...session, name: "minutes" };
    expect(ada(`GET ${ONE}`, session_id)).toMatchObject({ status: 200, body: session });
    expect(ada(`PATCH ${ONE}`, session_id, { name: "minutes" })).toMatchObject({
      status: 200,
      body: renamed,
    });
    expect(ada(`GET ${ONE}`, session_id).body).toEqual(renamed);
    expect(ada(`DELETE ${ONE}`, session_id)).toEqual({ status: 204 });
    expect(ada(`GET ${ONE}`, session_id).status).toBe(404);
    expect(ada(`DELETE ${ONE}`, session_id).status).toBe(404);
  });

  it.each(["n".repeat(200), "\u{1F4DA}".repeat(200), "two\nlines"])("accept the name %j", (name) => {
    expect(createService().ada("POST /sessions", "", { name })).toMatchObject({
      status: 201,
      body: { name },
    });
  });

  it.each(badBodies)("neither create a session from %s nor rename one", (_, body) => {
    const { ada } = createService();
    const { session_id } = create(ada, "notes");
    for (const route of ["POST /sessions", `PATCH ${ONE}`])
      expect(ada(route, session_id, body)).toMatchObject({
        status: 400,
        contentType: "application/problem+json",
        body: { title: "Bad Request", detail: expect.stringContaining("`name`") as string },
      });
    expect(names(ada)).toEqual(["notes"]);
  });
});

describe("another user's session", () => {
  it("does not appear in the list", () => {
    const { ada, bob } = createService();
    create(ada, "of ada");
    create(bob, "of bob");
    expect(names(ada)).toEqual(["of ada"]);
    expect(names(bob)).toEqual(["of bob"]);
  });

  it.each(ownedRoutes)("causes the same 404 from %s as an unknown session", (route) => {
    const { ada, bob } = createService();
    const { session_id } = create(ada, "notes");
    for (const body of [{ name: "taken" }, undefined]) {
      const answer = bob(route, session_id, body);
      expect(answer).toMatchObject({ status: 404, contentType: "application/problem+json" });
      expect(answer).toEqual(bob(route, "unknown", body));
    }
    expect(names(ada)).toEqual(["notes"]);
  });
});

describe("a token without a user", () => {
  const routes = ["GET /sessions", "POST /sessions", ...ownedRoutes];

  it.each(routes.flatMap((route) => [undefined, ""].map((userId) => [route, userId] as const)))(
    "causes 403 from %s (user id %j)",
    (route, userId) => {
      const { as, ada } = createService();
      const { session_id } = create(ada, "notes");
      expect(as(userId)(route, session_id, { name: "taken" })).toEqual({
        status: 403,
        contentType: "application/problem+json",
        body: {
          type: "about:blank",
          title: "Forbidden",
          status: 403,
          detail: "Sessions belong to users, but the token has no user.",
        },
      });
      expect(names(ada)).toEqual(["notes"]);
    },
  );
});

describe("createOperations", () => {
  it("keeps separate sessions for each service", () => {
    const [one, other] = [createService(), createService()];
    create(one.ada, "notes");
    expect(names(other.ada)).toEqual([]);
    expect(one.ada("GET /public/stats").body).toMatchObject({ sessions: 1 });
    expect(other.ada("GET /public/stats").body).toMatchObject({ sessions: 0 });
  });
});

describe("a caller with the admin scope", () => {
  it("receives the sessions of every user, and a caller without a user id receives none", async () => {
    const operations = createOperations(knowledge);
    const run = (caller: OperationInput["caller"], route: string, body?: unknown) =>
      operations
        .find(({ method, pattern }) => `${method} ${pattern}` === route)
        ?.run({ caller, params: {}, query: new URLSearchParams(), body });
    const principalOf = async (claims: object) =>
      createServer().authenticate(await issuer.token({ ...claims }));
    run(await principalOf({ sub: "ada", scopes: ["sessions:write"] }), "POST /sessions", { name: "one" });
    const admin = await principalOf({ scopes: ["platform:admin"] });
    expect(run(admin, "GET /sessions")?.body).toMatchObject([{ name: "one", user_id: "ada" }]);
    const nobody = await principalOf({ sub: undefined, scopes: ["sessions:read"] });
    expect(run(nobody, "GET /sessions")?.status).toBe(403);
  });
});
