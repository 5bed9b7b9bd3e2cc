/** Decisions and principals are read-only, and `refuse` does not accept an allowed decision. */
import { createResourceServer, type Decision, type Principal } from "scopegate";

declare const decision: Decision;
declare const principal: Principal;
const server = createResourceServer({});

decision.allowed = true; // TS2540
principal.scopes.push("platform:admin"); // TS2339
principal.claims = {}; // TS2540
server.refuse(decision); // TS2379
const userId: string = principal.userId; // TS2322
console.log(userId);
