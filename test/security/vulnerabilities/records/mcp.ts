import type { Group } from "./vulnerability.ts";

export const MCP: Group = {
  title: "MCP servers",
  vulnerabilities: [
    {
      ids: ["CVE-2026-52870"],
      packageName: "mcp (Python SDK)",
      happened: "Any client could read and cancel the tasks of other clients.",
      here: "A task is known only to the caller who started it.",
      source: "https://github.com/advisories/GHSA-hvrp-rf83-w775",
    },
    {
      ids: ["CVE-2026-52869"],
      packageName: "mcp (Python SDK)",
      happened: "Requests for a session were served without a check of who had started it.",
      here: "A session is refused with 404 to everyone but its owner.",
      source: "https://github.com/advisories/GHSA-jpw9-pfvf-9f58",
    },
    {
      ids: ["CVE-2023-29019", "CVE-2022-25896"],
      packageName: "@fastify/passport, passport",
      happened: "The id of a session was kept when a user signed in, so an attacker could choose it before.",
      here: "A session that an attacker has started is refused to other callers, and keeps its owner.",
      source: "https://github.com/advisories/GHSA-4m3m-ppvx-xgw9",
    },
    {
      ids: ["CVE-2026-27896"],
      packageName: "MCP Go SDK",
      happened:
        "Keys of JSON were read in any letter case, so a guard and the server could read different calls.",
      here: "A message with a key that differs from `method`, `params` or `name` only in letter case is refused with 400.",
      source: "https://github.com/advisories/GHSA-wvj2-96wp-fq3f",
    },
    {
      ids: ["CVE-2026-25536"],
      packageName: "@modelcontextprotocol/sdk",
      happened: "A server that clients shared sent the response of one client to another.",
      here: "The caller that a tool sees is the caller of its own request, also if requests overlap.",
      source: "https://github.com/advisories/GHSA-345p-7cg4-v4c7",
    },
    {
      ids: ["CVE-2025-66414"],
      packageName: "@modelcontextprotocol/sdk",
      happened:
        "A website could reach a server on this machine by DNS rebinding, because `Host` was not checked.",
      here: "Without a token, a request with any `Host` is refused, unless its rule is public.",
      source: "https://github.com/advisories/GHSA-w48q-cv73-mx4w",
    },
    {
      ids: ["CVE-2025-69196"],
      packageName: "fastmcp",
      happened: "A token for one MCP server was accepted by another.",
      here: "A token for another MCP server is refused, and a server with `resource` must check the audience.",
      source: "https://github.com/advisories/GHSA-5h2m-4q8j-pqpj",
    },
    {
      ids: ["CVE-2026-0621"],
      packageName: "@modelcontextprotocol/sdk",
      happened: "A hostile URI took very long to compare with a template.",
      here: "A URI is compared with the rules in linear time.",
      source: "https://github.com/advisories/GHSA-8r9q-7v3j-jr4g",
    },
    {
      ids: ["CVE-2026-25223", "CVE-2026-33806", "CVE-2025-32442", "CVE-2022-41919"],
      packageName: "fastify",
      happened:
        "A `Content-Type` with a tab, a space or other letter case skipped the validation of the body.",
      here: "A body whose type is not exactly JSON is refused with 415, and no tool runs.",
      source: "https://github.com/advisories/GHSA-jx2c-rxcm-jvmq",
    },
    {
      ids: ["CVE-2026-54288", "CVE-2026-44456", "CVE-2025-59139"],
      packageName: "hono",
      happened: "The limit of the body trusted `Content-Length`, or did not count chunks.",
      here: "The bytes of a body are counted as they arrive, whatever its headers say.",
      source: "https://github.com/advisories/GHSA-rv63-4mwf-qqc2",
    },
    {
      ids: ["GHSA-4hxc-9384-m385"],
      packageName: "h3",
      happened: "A carriage return in a message began another event of a stream.",
      here: "A filtered list keeps line breaks in a name inside of its event.",
      source: "https://github.com/advisories/GHSA-4hxc-9384-m385",
    },
    {
      ids: ["CVE-2025-7339"],
      packageName: "on-headers",
      happened: "Headers that were passed to `writeHead` as an array were changed.",
      here: "A response whose list is filtered keeps the headers that were passed as an array.",
      source: "https://github.com/advisories/GHSA-76c9-3jph-rj3q",
    },
  ],
};
