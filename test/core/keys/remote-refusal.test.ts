/** The response to a client when the keys are unavailable. */
import { createServer as createHttpServer } from "node:http";
import { describe, expect, it } from "vitest";
import { protect } from "scopegate/node";
import { behave } from "../../support/fault-server.ts";
import { ask, listen } from "../../support/http.ts";
import { first, issuer, jwksUri, useKeyIssuer } from "../../support/key-issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE, setOf, STALE } from "../../support/remote-keys.ts";

useKeyIssuer();

describe("a service in an outage longer than staleMs", () => {
  it("returns 503 with Retry-After, without a challenge, the issuer or the cause", async () => {
    issuer.answer("/canary-jwks", behave.json(setOf(first)));
    const { server, pass, events, whenEmitted } = createRemote({ jwksUri: `${issuer.url}/canary-jwks` });
    const guard = protect(server);
    const service = createHttpServer(
      (request, response) => void guard(request, response).then((may) => may && response.end("[]")),
    );
    const { port, close } = await listen(service);
    const token = await first.token({ scopes: ["agents:read"] });
    const get = () => ask(port, { path: "/agents", token });

    expect((await get()).status).toBe(200);
    await issuer.stop();
    pass(MAX_AGE);
    expect((await get()).status).toBe(200);
    pass(STALE);
    const { status, headers, body, text } = await get();
    expect(status).toBe(503);
    expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    expect(headers).not.toHaveProperty("www-authenticate");
    expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(body).toMatchObject({ status: 503, code: "keys_unavailable" });
    const shown = text + JSON.stringify(headers);
    for (const inside of ["canary", "127.0.0.1", "ECONNREFUSED", "jwks", "fetch", "stale"])
      expect(shown).not.toContain(inside);
    expect(JSON.stringify(events)).toContain("ECONNREFUSED");

    await issuer.start();
    pass(COOLDOWN);
    expect((await get()).status).toBe(200);
    await whenEmitted("fetched", 2);
    await close();
  });
});

it("shows in Retry-After when the keys are fetched again: at least 1 second, at most the cooldown", async () => {
  issuer.answer("/jwks", behave.status(500));
  const { server, pass } = createRemote({ jwksUri, cooldownMs: 3_500 });
  const authorization = `Bearer ${await first.token({ scopes: ["agents:read"] })}`;
  const retryAfter = async () => {
    const decision = await server.check({ method: "GET", target: "/agents", authorization });
    return decision.allowed ? undefined : server.refuse(decision).headers["Retry-After"];
  };
  const told = [];
  // Each 0 is the moment of a fetch that fails.
  for (const passed of [0, 999, 1, 500, 1_500, 0, 3_499]) {
    pass(passed);
    told.push(await retryAfter());
  }
  expect(told).toEqual(["1", "1", "2", "2", "4", "4", "1"]);
});

it("passes the cause to onDecision for logging", async () => {
  const decisions: unknown[] = [];
  const onDecision = (decision: unknown) => void decisions.push(decision);
  issuer.answer("/jwks", behave.status(404));
  const { server } = createRemote({ jwksUri }, { onDecision });
  await server.check({
    method: "GET",
    target: "/agents",
    authorization: `Bearer ${await first.token({ scopes: ["agents:read"] })}`,
  });
  const message = `${jwksUri} returned status 404.`;
  expect(decisions).toMatchObject([{ reason: "keys_unavailable", cause: { name: "FetchError", message } }]);
});
