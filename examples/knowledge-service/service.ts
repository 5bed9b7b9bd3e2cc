import type { ResourceServer } from "scopegate";
import { audit, type AuditReport } from "scopegate/audit";
import { createResourceServer, type ResourceServerOptions } from "scopegate/complete";
import type { Application } from "./application.ts";
import { loadKnowledge } from "./knowledge.ts";
import { createOperations } from "./operations.ts";

/** Loads only the framework that runs. */
export const FRAMEWORKS = {
  express: () => import("./express.ts"),
  koa: () => import("./koa.ts"),
  fastify: () => import("./fastify.ts"),
  hono: () => import("./hono.ts"),
  fetch: () => import("./fetch.ts"),
  nest: () => import("./nest.ts"),
} as const;

export type Framework = keyof typeof FRAMEWORKS;

/** The running service, with its resource server and the audit of its routes. */
export interface Service {
  readonly url: string;
  readonly server: ResourceServer;
  readonly audit: AuditReport;
  readonly close: () => Promise<void>;
}

/**
 * Starts the service after its keys are fetched. Throws if a route has no rule. A rule without a route only
 * appears in the audit, because several services may share a table.
 */
export async function startService(
  framework: Framework,
  options: ResourceServerOptions,
  port: number,
): Promise<Service> {
  const server = createResourceServer(options);
  await server.ready();
  const { createApplication } = await FRAMEWORKS[framework]();
  const application: Application = await createApplication(server, createOperations(loadKnowledge()));
  const report = audit(server, await application.routes());
  if (report.findings.some(({ severity, kind }) => severity === "error" && kind !== "rule_unreached"))
    report.orThrow();
  const url = `http://127.0.0.1:${await application.listen(port)}`;
  return {
    url,
    server,
    audit: report,
    close: async () => {
      await application.close();
      await server.close();
    },
  };
}
