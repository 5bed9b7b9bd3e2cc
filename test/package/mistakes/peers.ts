/** The entries whose types need a package that is not installed in every project. */
import { createResourceServer, type Principal } from "scopegate";
import * as forNest from "scopegate/nest";
import { startTelemetry } from "scopegate/otel";

declare const principal: Principal;
const server = createResourceServer({});

// @ts-expect-error -- a server is required
forNest.ScopegateModule.forRoot();
// @ts-expect-error -- options are not a server
forNest.ScopegateModule.forRoot({ serviceId: "agents-prod" });
// @ts-expect-error -- the factory returns a resource server
forNest.ScopegateModule.forRootAsync({ useFactory: () => "server" });
// @ts-expect-error -- scopes are arguments
forNest.RequireScopes(["agents:read"]);
// @ts-expect-error -- a caller is not a server
forNest.protect(principal);

// @ts-expect-error -- a server is required
startTelemetry();
// @ts-expect-error -- several servers have names
startTelemetry([server]);
// @ts-expect-error -- a meter is not a meter provider
startTelemetry(server, { meter: {} });
