import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";

/** No certificate could ever be found, so every token that is bound to one would be refused. */
export function assertNoSocket(server: ResourceServer, functionName: string): void {
  if (pipelineOf(server).rules.keyProofs?.socketUse === "required")
    throw new TypeError(
      `${functionName} can't read the certificate of a client: a request of the Fetch standard has no socket. Write senderConstraint({ mtls: { from: { header, format, trusted: () => true } } }) if only a proxy can reach the server, or use scopegate/node.`,
    );
}
