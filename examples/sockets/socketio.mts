/** Checks every request and namespace of Socket.IO. */
import { createServer } from "node:http";
import { createResourceServer } from "scopegate";
import { untilExpiry } from "scopegate/connections";
import { principalOf, protect } from "scopegate/socketio";
import { Server } from "socket.io";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /socket.io": ["chat:read"], // every request, and the main namespace
    "GET /socket.io/rooms/:room": ["rooms:<room>:read"], // the namespaces /rooms/...
  },
});
const http = createServer();
const io = new Server(http);
protect(server)(io); // directly after `new Server`

io.on("connection", (socket) => {
  const principal = principalOf(socket);
  if (!principal) return;
  const stop = untilExpiry(principal, {
    server,
    onEnd: ({ reason }) => {
      socket.emit("access_ended", { reason });
      socket.disconnect(true);
    },
  });
  socket.on("disconnect", stop);
  socket.on("say", (text) => {
    if (principal.has("chat:write")) io.emit("said", text);
  });
});
io.of(/^\/rooms\/[\w-]+$/).on("connection", (socket) => socket.emit("room", socket.nsp.name));
http.listen(3000);
