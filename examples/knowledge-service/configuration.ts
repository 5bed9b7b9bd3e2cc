import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseConfiguration, type ResourceServerOptions } from "scopegate";
import { policy } from "./policy.ts";

/** The configuration that ships with the service; its tokens come from the development issuer. */
export const shippedConfiguration = fileURLToPath(new URL("service.json", import.meta.url));

/**
 * Reads a JSON file with the interface's own names. Beside those the service knows `verification_key_file`: a PEM, its
 * path counted from the file that names it. The file's `scope_mappings` come on top of the service's policy.
 */
export function loadConfiguration(file: string): ResourceServerOptions {
  const { verification_key_file: keyFile, ...json } = readObject(file);
  const keys =
    typeof keyFile === "string" ? [readFileSync(resolve(dirname(file), keyFile), "utf8")] : undefined;
  const options = parseConfiguration(keys ? { verification_keys: keys, ...json } : json);
  return { defaultScopeMappings: policy, ...options };
}

/** An issuer that the service is told of when it starts, instead of those of a file. */
export interface DiscoveredIssuer {
  readonly issuer: string;
  /** The `aud` that it gives to the service; by default the service's own id. */
  readonly audience: string | undefined;
}

/** The service with the keys of an issuer that is discovered, whose access tokens follow RFC 9068: scopes are in `scope`. */
export function configurationFor({ issuer, audience }: DiscoveredIssuer): ResourceServerOptions {
  const { service_id: serviceId } = readObject(shippedConfiguration);
  return {
    defaultScopeMappings: policy,
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
    `${file} must hold a JSON object, such as { "service_id": "...", "verification_keys": [...] }.`,
  );
}
