/** Preloaded into the gateway: it listens on loopback only, and sends its port to the parent process. */
import { type AddressInfo, Server } from "node:net";

type Listen = (this: Server, ...parameters: unknown[]) => Server;
const prototype = Server.prototype as unknown as { listen: Listen };
const { listen } = prototype;

prototype.listen = function () {
  this.once("listening", () => process.send?.((this.address() as AddressInfo).port));
  return listen.call(this, 0, "127.0.0.1");
};
