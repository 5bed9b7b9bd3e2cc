import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { protect } from "scopegate/node";
import { receive, server } from "./events.js";

async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > 65_536) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const guard = protect(server);

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!(await guard(request, response))) return;
  const { status, headers, body } = await receive(await readText(request));
  response.writeHead(status, headers).end(body);
}

createServer((request, response) => {
  respond(request, response).catch((error: unknown) => {
    console.error(error); // such as a connection that the client closed
    response.destroy();
  });
}).listen(3000);
