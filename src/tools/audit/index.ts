export type { ListedRoute, UnguardedPlace } from "../../core/policy/listed-route.ts";
export { audit } from "./audit.ts";
export type { AuditOptions } from "./catch-all.ts";
export {
  type AuditedRoute,
  AuditError,
  type AuditFinding,
  type AuditRemark,
  type AuditReport,
} from "./report.ts";
export type { NextRoutesOptions } from "./routes/next.ts";
export type { RoutesOptions } from "./routes/registration.ts";
export { routesOf } from "./routes/routes-of.ts";
export type { FastifyRoutesInstance } from "./routes/fastify.ts";
export type { TrpcRouter, TrpcRoutesOptions } from "./routes/trpc.ts";
