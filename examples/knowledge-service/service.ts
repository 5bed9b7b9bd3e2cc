import {
  type AuditReport,
  createResourceServer,
  type ResourceServer,
  type ResourceServerOptions,
} from "scopegate";
import { type Application } from "./application.ts";
import { createApplication as createExpress } from "./express.ts";
import { createApplication as createFastify } from "./fastify.ts";
import { loadKnowledge } from "./knowledge.ts";
import { createApplication as createKoa } from "./koa.ts";
import { createOperations } from "./operations.ts";

export const FRAMEWORKS = { express: createExpress, koa: createKoa, fastify: createFastify } as const;

export type Framework = keyof typeof FRAMEWORKS;

/** The running service: its address, the resource server that guards it, what its audit found, and how to stop it. */
export interface Service {
  readonly url: string;
  readonly server: ResourceServer;
  readonly audit: AuditReport;
  readonly close: () => Promise<void>;
}

/**
 * Starts the service; it serves no request before its keys are ready, and none when one of its routes has no rule. Rules that
 * no route reaches are left to the reader of the audit: a table may be shared by several services.
 */
export async function startService(
  framework: Framework,
  options: ResourceServerOptions,
  port: number,
): Promise<Service> {
  const server = createResourceServer(options);
  await server.ready();
  const application: Application = FRAMEWORKS[framework](server, createOperations(loadKnowledge()));
  const audit = server.audit(await application.routes());
  if (audit.findings.some(({ severity, kind }) => severity === "error" && kind !== "rule_unreached"))
    audit.orThrow();
  const url = `http://127.0.0.1:${await application.listen(port)}`;
  return {
    url,
    server,
    audit,
    close: async () => {
      await application.close();
      await server.close();
    },
  };
}
