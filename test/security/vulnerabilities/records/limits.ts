import type { Group } from "./vulnerability.ts";

export const LIMITS: Group = {
  title: "API keys, sizes and time",
  vulnerabilities: [
    {
      ids: ["CVE-2022-31142"],
      packageName: "@fastify/bearer-auth",
      happened: "The time of a comparison showed how much of a key was right.",
      here: "The hashes of API keys are compared in constant time.",
      source: "https://github.com/advisories/GHSA-376v-xgjx-7mfr",
    },
    {
      ids: ["CVE-2024-45296", "CVE-2024-52798", "CVE-2026-4867", "CVE-2026-4923", "CVE-2026-4926"],
      packageName: "path-to-regexp",
      happened:
        "Patterns with several parameters or optional groups became regular expressions that took very long.",
      here: "Patterns aren't compiled to regular expressions, and a pattern with too many alternatives is a configuration error.",
      source: "https://github.com/advisories/GHSA-9wv6-86v2-598j",
    },
    {
      ids: ["CVE-2026-22036"],
      packageName: "undici",
      happened: "A response with many content encodings took much time and memory to decode.",
      here: "By default, key sets are requested without undici, and at most one compression is undone.",
      source: "https://github.com/advisories/GHSA-g9mf-h72j-4rw9",
    },
    {
      ids: ["CVE-2026-33532", "CVE-2023-2251"],
      packageName: "yaml",
      happened: "Nested or malformed YAML ended in an exception that callers did not expect.",
      here: "An OpenAPI document that cannot be read is rejected with one error.",
      source: "https://github.com/advisories/GHSA-48c2-rrv3-qjmp",
    },
    {
      ids: ["CVE-2025-13466", "CVE-2025-15284"],
      packageName: "body-parser, qs",
      happened: "Bodies with very many parameters took much time and memory to parse.",
      here: "With `protect` before the parser, a refused request is not parsed.",
      source: "https://github.com/advisories/GHSA-wqch-xfxh-vrr4",
    },
    {
      ids: ["CVE-2021-32640", "CVE-2024-37890"],
      packageName: "ws",
      happened:
        "A long `Sec-WebSocket-Protocol` took very long to read, and very many headers crashed the server.",
      here: "Without a valid token, such a request is refused before `ws` reads it.",
      source: "https://github.com/advisories/GHSA-3h5v-q93c-6h6q",
    },
    {
      ids: ["CVE-2022-21676", "CVE-2024-38355", "CVE-2023-32695", "CVE-2022-2421"],
      packageName: "engine.io, socket.io, socket.io-parser",
      happened: "Malformed handshakes and packets crashed the server.",
      here: "Without a valid token, a handshake is refused, malformed or not, and the server continues.",
      source: "https://github.com/advisories/GHSA-273r-mgr4-v34f",
    },
    {
      ids: ["GHSA-f23p-vx2j-j53r", "CVE-2026-71850"],
      packageName: "hono",
      happened: "Output that was rendered for one request was kept, and returned to others.",
      here: "The metadata of a server depends only on its options, not on the request.",
      source: "https://github.com/advisories/GHSA-f23p-vx2j-j53r",
    },
  ],
};
