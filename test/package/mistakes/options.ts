/** Options with wrong names or values must not compile. */
import { createResourceServer, hasScopes } from "scopegate";

createResourceServer({ scopeMapping: {} }); // TS2561
createResourceServer({ algorithm: "none" }); // TS2322
createResourceServer({ verifyAudience: "false" }); // TS2322
createResourceServer({ scopeMappings: { "GET /agents": "agents:read" } }); // TS2322
createResourceServer({ tokenSources: [{ query: "access_token" }] }); // TS2353
hasScopes("agents:read", "agents:read"); // TS2345
