/** The same requirements for every host: what is passed on, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ALLOWED, call, FORBIDDEN } from "./support/corpus/hostile.ts";
import { INITIALIZE } from "./support/corpus/sessions.ts";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { type Raw, send } from "./support/send.ts";
import { createMcpResourceServer, LINES, RESOURCE, tokenOf, type User } from "./support/tools.ts";

const METADATA = "https://api.example/.well-known/oauth-protected-resource/mcp";
const HOSTS_AND_LINES = HOSTS.flatMap((host) => LINES.map((line) => ({ ...host, line })));

describe.each(HOSTS_AND_LINES)("an MCP server of version $line on $name", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createMcpResourceServer(), { maxBodyBytes: 1000, bodyTimeoutMs: 100 });
  });
  afterAll(() => open.close());

  const ask = async (user: User | undefined, body: object | undefined, more: Raw = {}) => {
    const before = open.backend.executions.length;
    const raw = { ...(body && { body: JSON.stringify(body) }), ...more };
    const received = await send(open.port, raw, user && (await tokenOf(user)));
    return { ...received, ran: open.backend.executions.slice(before) };
  };

  it("passes the body and the caller on", async () => {
    const answer = await ask("runner", call("run_agent", { agent_id: "web" }));
    expect(answer).toMatchObject({ status: 200, ran: [{ user: "runner", call: "run_agent web" }] });
    expect(answer.body).toContain("run_agent web; may run web: true");
    expect((await ask("reader", ALLOWED)).body).toContain("may run web: false");
  });

  it("names every scope of a refused call, and those of the token that the table uses", async () => {
    const { status, head, ran } = await ask("runner", [ALLOWED, FORBIDDEN]);
    expect({ status, ran }).toEqual({ status: 403, ran: [] });
    const challenge = /^www-authenticate: (.*)$/im.exec(head)?.[1] ?? "";
    expect(challenge).toContain('error="insufficient_scope"');
    expect(challenge).toContain('scope="docs:read agents:api:run agents:web:run"');
    expect(challenge).toContain(`resource_metadata="${METADATA}"`);
  });

  it("refuses a caller without a token, whatever its Host, and refers it to the metadata", async () => {
    for (const name of ["127.0.0.1", "evil.example", `evil.example:${open.port}`]) {
      const headers = { host: name, origin: "http://evil.example" };
      const { status, head, ran } = await ask(undefined, ALLOWED, { headers });
      expect({ status, ran }, name).toEqual({ status: 401, ran: [] });
      expect(head, name).toContain(`resource_metadata="${METADATA}"`);
    }
    const { body } = await ask(undefined, undefined, { method: "GET", path: new URL(METADATA).pathname });
    expect(JSON.parse(body)).toMatchObject({ resource: RESOURCE, scopes_supported: ["docs:read"] });
  });

  it("responds to a body that is too large or too slow, and closes the connection", async () => {
    const keptAlive = { connection: undefined };
    const large = await ask("runner", call("search", { q: "x".repeat(1000) }), { headers: keptAlive });
    expect(large).toMatchObject({ status: 413 });
    expect(large.head).toMatch(/^connection: close$/im);
    const slow = await ask("runner", undefined, {
      headers: { ...keptAlive, "content-type": "application/json", "content-length": "10" },
    });
    expect(slow.status).toBe(408);
    expect(slow.head).toMatch(/^connection: close$/im);
  });

  it("keeps a session for the caller that started it", async () => {
    const { head, status } = await ask("reader", INITIALIZE);
    expect(status).toBe(200);
    const session = /^mcp-session-id: (\S+)/im.exec(head)?.[1] ?? "none";
    const headers = { "mcp-session-id": session };
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect(await ask("reader", initialized, { headers })).toMatchObject({ status: 202 });
    expect(await ask("reader", ALLOWED, { headers })).toMatchObject({
      status: 200,
      ran: [{ user: "reader" }],
    });
    expect(await ask("runner", ALLOWED, { headers })).toMatchObject({ status: 404, ran: [] });
    expect(await ask("runner", undefined, { method: "DELETE", headers })).toMatchObject({ status: 404 });
    const stream = await ask("reader", undefined, { method: "GET", headers });
    expect(stream.head).toMatch(/^HTTP\/1\.1 200 .*text\/event-stream/is);
    expect(await ask("reader", undefined, { method: "DELETE", headers })).toMatchObject({ status: 200 });
    expect(await ask("reader", ALLOWED, { headers })).toMatchObject({ status: 404, ran: [] });
  });

  it("responds to an invalid message with an error that has the id of the message", async () => {
    const { status, body } = await ask("runner", call(["search"], {}, { id: "seven" }));
    expect(status).toBe(400);
    expect(JSON.parse(body)).toEqual({
      jsonrpc: "2.0",
      id: "seven",
      error: { code: -32602, message: expect.stringContaining("name") as string },
    });
  });
});
