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

function readObject(file: string): Record<string, unknown> {
  const json: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof json === "object" && json !== null && !Array.isArray(json))
    return json as Record<string, unknown>;
  throw new TypeError(
    `${file} must hold a JSON object, such as { "service_id": "...", "verification_keys": [...] }.`,
  );
}
