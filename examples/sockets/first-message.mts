/** Takes the token from the first message of a WebSocket. */
import { createServer } from "node:http";
import { createResourceServer } from "scopegate";
import { authenticateFirst } from "scopegate/node";
import { WebSocketServer } from "ws";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /live": ["events:read"] },
});
const http = createServer((_request, response) => {
  response.writeHead(404).end();
});
const sockets = new WebSocketServer({ server: http, path: "/live", maxPayload: 65_536 });
sockets.on("connection", async (socket) => {
  const principal = await authenticateFirst(socket, { server, path: "/live", timeoutMs: 5_000 });
  if (!principal) return; // closed
  socket.on("message", (data) => socket.send(data));
  socket.send(`hello ${principal.userId}`);
});
http.listen(3000);
