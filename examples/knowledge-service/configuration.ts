import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseConfiguration, type ResourceServerOptions } from "scopegate/complete";
import { ADMIN_SCOPE, createPolicy } from "./policy.ts";

/** The configuration that is part of the example. It accepts tokens of the development issuer. */
export const shippedConfiguration = fileURLToPath(new URL("service.json", import.meta.url));

/**
 * Reads options from a JSON file for `parseConfiguration`. The file may also contain `verification_key_file`,
 * the path of a PEM relative to the file. Its `scope_mappings` are added to the policy of the service.
 */
export function loadConfiguration(file: string): ResourceServerOptions {
  const { verification_key_file: writtenFile, ...json } = readObject(file);
  const keyFile = file === shippedConfiguration ? "development/public.pem" : writtenFile;
  const keys =
    typeof keyFile === "string" ? [readFileSync(resolve(dirname(file), keyFile), "utf8")] : undefined;
  const { issuers = [] } = json as { readonly issuers?: readonly { readonly issuer: string }[] };
  const policy = createPolicy(issuers.map(({ issuer }) => issuer));
  const base = { default_scope_mappings: policy, admin_scope: ADMIN_SCOPE };
  return parseConfiguration({ ...base, ...(keys && { verification_keys: keys }), ...json });
}

/** An issuer that is given on the command line instead of in a configuration file. */
export interface DiscoveredIssuer {
  readonly issuer: string;
  /** The expected `aud`. Default: the id of the service. */
  readonly audience: string | undefined;
}

/**
 * Returns options for an issuer with discovery, whose access tokens have their scopes in `scope` (RFC 9068).
 */
export function configurationFor({ issuer, audience }: DiscoveredIssuer): ResourceServerOptions {
  const { service_id: serviceId } = readObject(shippedConfiguration);
  return {
    defaultScopeMappings: createPolicy(),
    adminScope: ADMIN_SCOPE,
    issuer,
    keys: { discovery: true },
    audience: audience ?? String(serviceId),
    scopesClaim: "scope",
    onKeyEvent: ({ type, source, message }) =>
      console.log(["Keys", type, `source=${source}`, message].filter(Boolean).join(" ")),
  };
}

function readObject(file: string): Record<string, unknown> {
  const json: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof json === "object" && json !== null && !Array.isArray(json))
    return json as Record<string, unknown>;
  throw new TypeError(
    `${file} must contain a JSON object, such as { "service_id": "...", "verification_keys": [...] }.`,
  );
}
