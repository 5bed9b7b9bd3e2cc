/** A decision, a principal and a table are read; a refusal is looked at before it is answered. */
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
