/** Guards the upgrades of a library that listens for them itself. */
import { createServer } from "node:http";
import { createResourceServer } from "scopegate";
import { guardUpgrades, principalOf, protect } from "scopegate/node";
import { WebSocketServer } from "ws";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /stores/:store_id/events": ["stores:<store_id>:read"] },
});
const guard = protect(server);
const http = createServer(async (request, response) => {
  if (await guard(request, response)) response.end("{}");
});
guardUpgrades(http, server);
new WebSocketServer({ server: http }).on("connection", (socket, request) => {
  socket.on("error", console.error); // without a listener, a frame that ws cannot read ends the process
  socket.send(`hello ${principalOf(request)?.userId}`);
});
http.listen(3000);
