import { networkInterfaces } from "node:os";

/** Whether this machine has the loopback address of IPv6. */
export const HAS_IPV6 = Object.values(networkInterfaces())
  .flat()
  .some((address) => address?.address === "::1");
