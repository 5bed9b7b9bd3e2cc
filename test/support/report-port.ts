/**
 * Preloaded into a documented server. Replaces its port with a free one, and sends that to the parent
 * process.
 */
import { type AddressInfo, type ListenOptions, Server } from "node:net";

type Listen = (this: Server, where: number | ListenOptions, ...rest: unknown[]) => Server;

const prototype = Server.prototype as unknown as { listen: Listen };
const { listen } = prototype;

prototype.listen = function (where, ...rest) {
  this.once("listening", () => process.send?.((this.address() as AddressInfo).port));
  return listen.call(this, typeof where === "number" ? 0 : { ...where, port: 0 }, ...rest);
};
