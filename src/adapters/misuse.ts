/** Mistakes in the use of an adapter that would leave an application open, found at boot. */
import { suggest } from "../errors.ts";
import { type ResourceServer } from "../resource-server.ts";

/**
 * Fails at boot for anything but a resource server. A framework that is handed `protect` itself calls it with its own
 * objects, and would go on without a guard.
 */
export function assertResourceServer(server: unknown, caller = "protect"): asserts server is ResourceServer {
  const isServer = typeof server === "object" && server !== null && "check" in server && "refuse" in server;
  if (!isServer)
    throw new TypeError(`${caller} takes a resource server: write ${caller}(createResourceServer({ ... })).`);
}

/** Fails at boot for a misspelt option: the guard would read paths in another way than its router. */
export function assertOptions(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(
    `protect received unknown option \`${unknown}\`. ${suggest(unknown, known, "It takes none of that name.")}`,
  );
}
