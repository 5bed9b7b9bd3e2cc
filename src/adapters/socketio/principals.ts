import type { Principal } from "../../core/token/principal.ts";

/** The callers of sockets, each in its namespace. */
const principals = new WeakMap<object, Principal>();

export const rememberPrincipal = (socket: object, principal: Principal): void =>
  void principals.set(socket, principal);

export const findPrincipal = (socket: object): Principal | undefined => principals.get(socket);
