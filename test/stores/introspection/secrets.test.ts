/** Where a token must not appear. */
import { inspect } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import * as behave from "../../support/behaviours.ts";
import { active, CANARY, startAsking, TOKEN } from "./support.ts";

const TIMEOUT_MS = 1_500;

it("keeps the token and the secret out of decisions, warnings and responses", async () => {
  // Time passes only when a test says so: on a busy machine, a request may take longer than the limit.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  onTestFinished(() => {
    vi.useRealTimers();
    warn.mockRestore();
  });
  const logged: unknown[] = [];
  const onDecision = (...values: unknown[]) => void logged.push(values);
  const { endpoint, server, check } = await startAsking(
    { timeoutMs: TIMEOUT_MS },
    { server: { onDecision } },
  );
  const echo: behave.Behaviour = (request, response) =>
    behave.json({ error: TOKEN, error_description: request.headers }, { status: 400 })(request, response);
  const timeout: behave.Behaviour = () => void vi.advanceTimersByTime(TIMEOUT_MS);
  // Fewer than five failures in a row, and status 401 at the end: after both, no token is looked up.
  const behaviours = [
    timeout,
    behave.reset(),
    behave.text(TOKEN),
    behave.redirect(`/?token=${TOKEN}`),
    behave.json({ active: false }),
    echo,
    behave.json(active({ exp: 1 })),
    behave.status(401),
  ];
  for (const [index, behaviour] of behaviours.entries()) {
    endpoint.answer(behaviour);
    const decision = await check(`${TOKEN}-${index}`);
    if (decision.allowed) throw new Error("It was allowed.");
    expect(JSON.stringify(server.refuse(decision))).not.toContain(CANARY);
  }
  expect(endpoint.received).toHaveLength(behaviours.length);
  expect(logged).toHaveLength(behaviours.length);
  expect(inspect(logged, { depth: 8 })).not.toContain(CANARY);
  // Other tests of this process may cause warnings, too.
  expect(inspect(warn.mock.calls)).not.toContain(CANARY);
});
