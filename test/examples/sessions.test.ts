import { describe, expect, it } from "vitest";
import type { OperationOutput } from "../../examples/knowledge-service/operations.ts";
import { createService, everyone } from "./operations.ts";

const ONE = "/sessions/:session_id";

/** Creates a service, and functions that call it as a user with a session. */
function createSessions() {
  const { perform } = createService();
  const as =
    (userId: string | undefined, sessionId = `s-${String(userId)}`) =>
    (route: string, session_id = sessionId, body?: unknown): OperationOutput => {
      const caller = {
        resourceIds: everyone.resourceIds,
        sessionId,
        ...(userId === undefined ? {} : { userId }),
      };
      return perform(route, { caller, params: { session_id }, body });
    };
  return { as, perform, ada: as("ada"), bob: as("bob") };
}

type Perform = ReturnType<typeof createSessions>["ada"];

const create = (perform: Perform, name: string) => perform("POST /sessions", undefined, { name }).body;

const names = (perform: Perform) =>
  (perform("GET /sessions").body as readonly { name: string }[]).map(({ name }) => name);

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
  it("start the session of the token", () => {
    expect(createSessions().ada("POST /sessions", undefined, { name: "notes", session_id: "s-bob" })).toEqual(
      {
        status: 201,
        contentType: "application/json",
        body: { session_id: "s-ada", name: "notes", user_id: "ada" },
      },
    );
  });

  it("read, rename and delete a session", () => {
    const { ada } = createSessions();
    const session = create(ada, "notes");
    const renamed = { session_id: "s-ada", name: "minutes", user_id: "ada" };
    expect(ada(`GET ${ONE}`)).toMatchObject({ status: 200, body: session });
    expect(ada(`PATCH ${ONE}`, undefined, { name: "minutes" })).toMatchObject({ status: 200, body: renamed });
    expect(ada(`GET ${ONE}`).body).toEqual(renamed);
    expect(ada(`DELETE ${ONE}`)).toEqual({ status: 204 });
    expect(ada(`GET ${ONE}`).status).toBe(404);
    expect(ada(`DELETE ${ONE}`).status).toBe(404);
  });

  it("list only the sessions of the user", () => {
    const { ada, bob } = createSessions();
    create(ada, "of ada");
    create(bob, "of bob");
    expect(names(ada)).toEqual(["of ada"]);
    expect(names(bob)).toEqual(["of bob"]);
  });

  it.each(["n".repeat(200), "\u{1F4DA}".repeat(200), "two\nlines"])("accept the name %j", (name) => {
    expect(createSessions().ada("POST /sessions", undefined, { name })).toMatchObject({
      status: 201,
      body: { name },
    });
  });

  it.each(badBodies)("neither start a session from %s nor rename one", (_, body) => {
    const { ada } = createSessions();
    create(ada, "notes");
    for (const route of ["POST /sessions", `PATCH ${ONE}`])
      expect(ada(route, undefined, body)).toMatchObject({
        status: 400,
        contentType: "application/problem+json",
        body: { title: "Bad Request", detail: expect.stringContaining("`name`") as string },
      });
    expect(names(ada)).toEqual(["notes"]);
  });

  it.each([undefined, ""])("refuse a token with the user %j", (userId) => {
    const nobody = createSessions().as(userId);
    for (const route of ["POST /sessions", "GET /sessions"])
      expect(nobody(route, undefined, { name: "notes" })).toMatchObject({
        status: 403,
        contentType: "application/problem+json",
        body: { detail: "Sessions belong to users, but the token has no user." },
      });
  });
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
