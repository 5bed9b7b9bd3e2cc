/** A user's program with handlers of the Fetch standard. It needs no framework. */
import type { Principal } from "scopegate";
import { type Access, principalOf, protect, requireScopes, withScopes } from "scopegate/fetch";
import { type Headers, printAnswers, read, server, start } from "./callers.js";

interface Environment {
  readonly region: string;
}

const mayRead = requireScopes("agents:read");
const worker = {
  fetch: withScopes(server, (request, { principal }, environment: Environment) => {
    const caller: Principal | undefined = principalOf(request);
    const name = principal === caller ? (caller?.userId ?? "nobody") : "another";
    return mayRead(request) ?? new Response(`web in ${environment.region} for ${name}`);
  }),
};

const guard = protect(server);
async function serve(request: Request): Promise<Response> {
  const result: Access | Response = await guard(request);
  if (!("decision" in result)) return result;
  return new Response(`${String(result.decision.allowed)} for ${result.principal?.userId ?? "nobody"}`);
}

start(async () => {
  const request = (headers: Headers): Request => new Request("http://localhost/agents/web", { headers });
  await printAnswers(async (headers) => read(await worker.fetch(request(headers), { region: "here" })));
  await printAnswers(async (headers) => read(await serve(request(headers))));
});
