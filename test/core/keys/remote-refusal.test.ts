/** The response to a client when the keys are unavailable. */
import { expect, it } from "vitest";
import { behave } from "../../support/fault-server.ts";
import { first, issuer, jwksUri, useKeyIssuer } from "../../support/key-issuer.ts";
import { createRemote } from "../../support/remote-keys.ts";

useKeyIssuer();

it("shows in Retry-After when the keys are fetched again: at least 1 second, at most the cooldown", async () => {
  issuer.answer("/jwks", behave.status(500));
  const { server, pass } = createRemote({ jwksUri, cooldownMs: 3_500 });
  const authorization = `Bearer ${await first.token({ scopes: ["agents:read"] })}`;
  const retryAfter = async () => {
    const decision = await server.check({ method: "GET", target: "/agents", authorization });
    return decision.allowed ? undefined : server.refuse(decision).headers["Retry-After"];
  };
  const seconds = [];
  // Each 0 is the moment of a fetch that fails.
  for (const passed of [0, 999, 1, 500, 1_500, 0, 3_499]) {
    pass(passed);
    seconds.push(await retryAfter());
  }
  expect(seconds).toEqual(["1", "1", "2", "2", "4", "4", "1"]);
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
