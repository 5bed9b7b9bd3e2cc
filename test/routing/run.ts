import { type Configuration, type Guard, protecting } from "./configuration.ts";
import { expressConfigurations } from "./configurations/express.ts";
import { expressMethodConfigurations } from "./configurations/express-method.ts";
import { expressMountConfigurations } from "./configurations/express-mounts.ts";
import { expressOrderConfigurations } from "./configurations/express-order.ts";
import { fastifyConfigurations } from "./configurations/fastify.ts";
import { fastifyExpressConfigurations } from "./configurations/fastify-express.ts";
import { honoConfigurations } from "./configurations/hono.ts";
import { honoOrderConfigurations } from "./configurations/hono-order.ts";
import { koaConfigurations } from "./configurations/koa.ts";
import { koaOrderConfigurations } from "./configurations/koa-order.ts";
import { runConfiguration, type Summary } from "./harness.ts";
import { nestConfigurations } from "./configurations/nest.ts";
import { TABLE } from "./policy.ts";
import type { Scale } from "./probes.ts";
import { createRoutingServer } from "./tokens.ts";

export const configurations: readonly Configuration[] = [
  ...expressConfigurations,
  ...expressMountConfigurations,
  ...expressOrderConfigurations,
  ...expressMethodConfigurations,
  ...koaConfigurations,
  ...koaOrderConfigurations,
  ...fastifyConfigurations,
  ...fastifyExpressConfigurations,
  ...honoConfigurations,
  ...honoOrderConfigurations,
  ...nestConfigurations,
];

/** The guard under test for a configuration. */
export const guardFor = ({ prefix = "" }: Configuration): Guard =>
  protecting(createRoutingServer(TABLE, prefix));

/** Runs every configuration, one after the other. */
export async function runRouting({ scale }: { readonly scale: Scale }): Promise<readonly Summary[]> {
  const summaries: Summary[] = [];
  for (const configuration of configurations) {
    summaries.push(await runConfiguration(configuration, guardFor(configuration), scale));
  }
  return summaries;
}
