/** The options `refusalBody` and `unmappedRoutes: "not_found"`, in every application. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/http.ts";
import { applications, type Running } from "./applications.ts";
import { issuer, start } from "./service.ts";

describe.each(applications)("$name", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await start(application, {
      unmappedRoutes: "not_found",
      realm: "agents",
      refusalBody: ({ status, detail }, { reason }) =>
        reason === "route_unmapped"
          ? { contentType: "text/html; charset=utf-8", body: "<h1>Nothing here: é</h1>" }
          : { contentType: "application/json", body: { error: { status, message: detail, reason } } },
    });
  });
  afterAll(() => running.close());

  it("sends the body of refusalBody, with the status and the challenge of the refusal", async () => {
    const missing = await ask(running.port, { path: "/agents" });
    expect(missing.status).toBe(401);
    expect(missing.headers["www-authenticate"]).toBe('Bearer realm="agents"');
    expect(missing.headers["content-type"]).toBe("application/json");
    expect(missing.headers["cache-control"]).toBe("no-store");
    const message = "The request carries no bearer token.";
    expect(missing.body).toEqual({ error: { status: 401, message, reason: "credential_missing" } });

    const token = await issuer.token({ scopes: ["other:read"] });
    const lacking = await ask(running.port, { path: "/agents", token });
    expect(lacking.status).toBe(403);
    expect(lacking.headers["www-authenticate"]).toContain('scope="agents:read"');
    expect(lacking.body).toMatchObject({ error: { reason: "scope_insufficient" } });
  });

  it("sends a string as it is, and 404 for a route without a rule", async () => {
    const answer = await ask(running.port, { path: "/unmapped", token: await issuer.token() });
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.headers["www-authenticate"]).toBeUndefined();
    expect(answer.text).toBe("<h1>Nothing here: é</h1>");
    expect(running.ran).not.toContain("GET /unmapped");
  });

  it("sends the body for the scopes that one route adds", async () => {
    const answer = await ask(running.port, { path: "/extra/7", token: await issuer.token() });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ error: { reason: "scope_insufficient" } });
  });
});
