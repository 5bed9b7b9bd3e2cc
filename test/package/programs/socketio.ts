/** A user's program with Socket.IO and its client. */
import { createServer } from "node:http";
import { Server } from "socket.io";
import { io as connect } from "socket.io-client";
import { principalOf, protect } from "scopegate/socketio";
import { addressOf, type Headers, printAnswers, server, start } from "./callers.js";

interface Events {
  readonly welcome: (text: string) => void;
}

const http = createServer();
const io = new Server<Record<string, never>, Events>(http);
protect(server)(io);
io.on("connection", (socket) => {
  socket.emit("welcome", `hello ${principalOf(socket)?.userId ?? "nobody"}`);
});

/** Returns the message of the server, or the status of its refusal. */
async function greet(url: string, extraHeaders: Headers): Promise<string> {
  const client = connect(url, { extraHeaders, reconnection: false, forceNew: true });
  try {
    return await new Promise<string>((resolve) => {
      client.on("welcome", resolve);
      client.on("connect_error", (error: Error & { description?: unknown }) => {
        resolve(String(error.description));
      });
    });
  } finally {
    client.close();
  }
}

start(async () => {
  const url = await addressOf(http.listen(0));
  await printAnswers((headers) => greet(url, headers));
  await io.close();
});
