import { hasPipeline, pipelineOf } from "../../core/port.ts";
import type { IssuerConfiguration } from "../../core/token/issuer-directory.ts";

/** Returns the issuers of a server; none for another object. */
export const issuersOf = (server: object): readonly IssuerConfiguration[] =>
  hasPipeline(server) ? pipelineOf(server).rules.issuers.configurations : [];
