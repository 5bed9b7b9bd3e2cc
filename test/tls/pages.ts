/** The configurations that `docs/guides/client-certificates.md` shows: the tests run these, and no others. */
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { pageOf, ROOT, tableOf } from "../documentation/markdown.ts";
import { createIssuer } from "../support/issuer.ts";
import { type ProxyName, replaceOnce } from "../support/proxies.ts";

const page = pageOf("docs/guides/client-certificates.md");

/** Returns the only block of the page in this language that contains the text. */
export function blockWith(language: string, text: string): string {
  const found = page.blocks.filter((block) => block.language === language && block.code.includes(text));
  const [block, ...others] = found;
  if (!block || others.length > 0) throw new Error(`${page.path} has ${found.length} blocks with ${text}.`);
  return block.code;
}

/** Replaces where each proxy listens, and where it connects to. */
const CONFIGURATIONS: Readonly<
  Record<ProxyName, (code: string, port: number, upstream: Upstream) => string>
> = {
  nginx: (code, port, { nginx }) =>
    replaceOnce(
      replaceOnce(code, "listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`),
      "http://127.0.0.1:3000;",
      `${nginx};`,
    ),
  HAProxy: (code, port, { haproxy }) =>
    replaceOnce(
      replaceOnce(code, "bind :443 ssl", `bind 127.0.0.1:${port} ssl`),
      "first 127.0.0.1:3000",
      `first ${haproxy}`,
    ),
  Caddy: (code, port, { caddy }) =>
    replaceOnce(
      replaceOnce(code, "api.example {\n", `https://api.example:${port} {\n  bind 127.0.0.1\n`),
      "reverse_proxy 127.0.0.1:3000",
      `reverse_proxy ${caddy}`,
    ),
};

/** How each proxy writes the address of the service. */
interface Upstream {
  readonly nginx: string;
  readonly haproxy: string;
  readonly caddy: string;
}

export const upstreamOnPort = (port: number): Upstream => ({
  nginx: `http://127.0.0.1:${port}`,
  haproxy: `127.0.0.1:${port}`,
  caddy: `127.0.0.1:${port}`,
});

export const upstreamOnSocket = (path: string): Upstream => ({
  nginx: `http://unix:${path}`,
  haproxy: `unix@${path}`,
  caddy: `unix/${path}`,
});

/** What only the configuration of this proxy contains. */
const SIGNS: Readonly<Record<ProxyName, string>> = {
  nginx: "proxy_set_header",
  HAProxy: "ssl_c_der",
  Caddy: "client_auth",
};

/** The configuration of a proxy in the page, with other addresses. */
export const configurationOf =
  (name: ProxyName, upstream: Upstream, change = (code: string): string => code) =>
  (port: number): string =>
    CONFIGURATIONS[name](change(blockWith("text", SIGNS[name])), port, upstream);

/** Inside the project, so that the programs find the packages that they import; one for each file of tests. */
const FOLDER = join(ROOT, "test/.snippets", `client-certificates-${randomUUID()}`);

/** Signs the tokens of the service that the page protects. */
export const issuer = createIssuer({ audience: "orders" });

/** Writes a program of the page to a file, and imports it with the key of the issuer. */
export async function importBlock(name: string, code: string): Promise<unknown> {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, name);
  writeFileSync(file, code);
  vi.stubEnv("JWT_PUBLIC_KEY", issuer.publicPem);
  try {
    return await import(pathToFileURL(file).href);
  } finally {
    vi.unstubAllEnvs();
  }
}

/** The server of the page for a format, with the header of this format. */
export async function serverOf(format: string): Promise<ResourceServer> {
  const row = tableOf(page.text, "TLS ends at").find(([, , name]) => name === `\`"${format}"\``);
  const [, header = ""] = /`([\w-]+)`/.exec(row?.[1] ?? "") ?? [];
  const code = blockWith("ts", "trusted: [")
    .replace('header: "client-cert"', `header: "${header}"`)
    .replace('"pem-urlencoded"', `"${format}"`);
  const { server } = (await importBlock(`${format}.ts`, code)) as { readonly server: ResourceServer };
  return server;
}

/** Call it once in each file. */
export function removeBlocksAfterwards(): void {
  afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));
}
