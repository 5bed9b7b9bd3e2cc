/** What the programs of users share: the resource server, and three callers whose responses are printed. */
import { createHmac } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createResourceServer } from "scopegate/complete";

export const secret = "a secret of a user, at least 32 bytes long";
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function sign(claims: object): string {
  const content = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url(claims)}`;
  return `${content}.${createHmac("sha256", secret).update(content).digest("base64url")}`;
}

export const server = createResourceServer({
  serviceId: "strangers",
  verificationKeys: [secret],
  algorithm: "HS256",
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /trpc/whoami": [],
    "GET /trpc/note.count": ["agents:read"],
    "GET /socket.io": ["agents:read"],
    "* /mcp": [],
    "MCP tools/list": [],
    "MCP tools/call run_agent": ["agents:<agent_id>:read"],
  },
});

export type Headers = Readonly<Record<string, string>>;

/** Prints the responses to a caller without a token, to one with all scopes, and to one with another scope. */
export async function printAnswers(call: (headers: Headers) => Promise<string>): Promise<void> {
  const reader = sign({ aud: "strangers", sub: "reader", scopes: ["agents:read"] });
  const other = sign({ aud: "strangers", sub: "other", scopes: ["agents:web:read"] });
  const answers = [await call({})];
  for (const token of [reader, other]) answers.push(await call({ authorization: `Bearer ${token}` }));
  console.log(answers.join(", "));
}

export const read = async (answer: Response): Promise<string> =>
  `${String(answer.status)} ${answer.ok ? await answer.text() : ""}`.trim();

/** The address of a server, as soon as it listens. */
export async function addressOf(serving: Server): Promise<string> {
  if (!serving.listening) await new Promise((resolve) => serving.once("listening", resolve));
  return `http://localhost:${String((serving.address() as AddressInfo).port)}`;
}

/** Runs the program, so that a fault is its exit. */
export function start(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
}
