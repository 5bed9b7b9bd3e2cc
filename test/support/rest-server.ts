/** A server of the REST protocol of Upstash, which passes each command to a Redis server. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Redis } from "ioredis";
import { listen } from "./http.ts";

export interface RestServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

interface RestResult {
  readonly result?: unknown;
  readonly error?: string;
}

/** Starts it in front of the Redis server at this port. Requests need the token. */
export async function startRestServer(redisPort: number, token: string): Promise<RestServer> {
  const redis = new Redis({ port: redisPort, retryStrategy: () => 50, maxRetriesPerRequest: 0 });
  redis.on("error", () => undefined);
  const reply = async (command: unknown, encode: (value: unknown) => unknown): Promise<RestResult> => {
    try {
      const [name = "", ...values] = (command as readonly unknown[]).map(String);
      return { result: encode(await redis.call(name, ...values)) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${token}`) {
      send(401, { error: "WRONGPASS invalid or missing auth token" });
      return;
    }
    const encode = request.headers["upstash-encoding"] === "base64" ? toBase64 : (value: unknown) => value;
    const body = JSON.parse(Buffer.concat(chunks).toString()) as readonly unknown[];
    const isPipeline = request.url === "/pipeline";
    const commands = isPipeline ? body : [body];
    const results = await Promise.all(commands.map((command) => reply(command, encode)));
    if (isPipeline) send(200, results);
    else send(results[0]?.error === undefined ? 200 : 400, results[0]);
  };
  const http = createServer((request, response) => void respond(request, response));
  const { port, close } = await listen(http);
  return {
    port,
    async close() {
      redis.disconnect();
      await close();
    },
  };
}

/** All strings except `OK` are encoded, also in arrays. */
function toBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBase64);
  return typeof value === "string" && value !== "OK" ? Buffer.from(value).toString("base64") : value;
}
