import { describe, expect, it } from "vitest";
import type { OperationOutput } from "../../examples/knowledge-service/operations.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import { createService, everyone } from "./operations.ts";

const ONE = "/sessions/:session_id";

/** Creates a service, and functions that call it as a user. */
function createSessions() {
  const { perform } = createService();
  const { userId: _, ...nobody } = everyone;
  const as =
    (userId: string | undefined) =>
    (route: string, session_id = "", body?: unknown): OperationOutput => {
      const caller = userId === undefined ? nobody : { ...nobody, userId };
      return perform(route, { caller, params: { session_id }, body });
    };
  return { as, perform, ada: as("ada"), bob: as("bob") };
}

type Perform = ReturnType<typeof createSessions>["ada"];

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
    expect(createSessions().ada("POST /sessions", "", { name: "notes", user_id: "bob" })).toEqual({
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
    const { ada } = createSessions();
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
    expect(createSessions().ada("POST /sessions", "", { name })).toMatchObject({
      status: 201,
      body: { name },
    });
  });

  it.each(badBodies)("neither create a session from %s nor rename one", (_, body) => {
    const { ada } = createSessions();
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
    const { ada, bob } = createSessions();
    create(ada, "of ada");
    create(bob, "of bob");
    expect(names(ada)).toEqual(["of ada"]);
    expect(names(bob)).toEqual(["of bob"]);
  });

  it.each(ownedRoutes)("causes the same 404 from %s as an unknown session", (route) => {
    const { ada, bob } = createSessions();
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
      const { as, ada } = createSessions();
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
    const [one, other] = [createSessions(), createSessions()];
    create(one.ada, "notes");
    expect(names(other.ada)).toEqual([]);
    expect(one.ada("GET /public/stats").body).toMatchObject({ sessions: 1 });
    expect(other.ada("GET /public/stats").body).toMatchObject({ sessions: 0 });
  });
});

describe("a caller with the admin scope", () => {
  it("receives the sessions of every user, and a caller without a user id receives none", async () => {
    const { ada, perform } = createSessions();
    create(ada, "notes");
    const list = async (claims: object) =>
      perform("GET /sessions", {
        caller: await createServer().authenticate(await issuer.token({ ...claims })),
      });
    const admin = await list({ scopes: ["platform:admin"] });
    expect(admin.body).toMatchObject([{ name: "notes", user_id: "ada" }]);
    expect(await list({ sub: undefined, scopes: ["sessions:read"] })).toMatchObject({ status: 403 });
  });
});
