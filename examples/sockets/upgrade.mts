/** Checks upgrades in a listener of the HTTP server. */
import { createServer } from "node:http";
import express from "express";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/express";
import { principalOf, protectUpgrade } from "scopegate/node";
import { WebSocketServer } from "ws";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /stores/:store_id/events": ["stores:<store_id>:read"],
  },
});
const app = express();
app.use(protect(server));
app.get("/stores/:store_id", (req, res) => res.json({ store: req.params.store_id }));

const mayUpgrade = protectUpgrade(server);
const sockets = new WebSocketServer({ noServer: true });
const http = createServer(app);
http.on("upgrade", async (request, socket, head) => {
  if (!(await mayUpgrade(request, socket, head))) return; // answered and closed
  if (!/^\/stores\/[^/?]+\/events(\?|$)/.test(request.url ?? "")) {
    socket.destroy(); // has a rule, but isn't a WebSocket route
    return;
  }
  sockets.handleUpgrade(request, socket, head, (client) => {
    client.on("error", console.error); // without a listener, a frame that ws cannot read ends the process
    client.send(`hello ${principalOf(request)?.userId}`);
  });
});
http.listen(3000);
