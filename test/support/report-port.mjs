/** Preloaded into a documented server: lets the system choose its port, and tells the parent which. */
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (options, ...rest) {
  this.once("listening", () => process.send?.(this.address().port));
  return listen.call(this, typeof options === "object" ? { ...options, port: 0 } : 0, ...rest);
};
