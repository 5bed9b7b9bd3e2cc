import type { Group } from "./vulnerability.ts";

export const LIMITS: Group = {
  title: "API keys, sizes and time",
  vulnerabilities: [
    {
      ids: ["CVE-2022-31142"],
      packageName: "@fastify/bearer-auth",
      happened: "Comparison times revealed parts of a key.",
      here: "API key hashes are compared in constant time.",
      source: "https://github.com/advisories/GHSA-376v-xgjx-7mfr",
    },
    {
      ids: ["CVE-2024-45296", "CVE-2024-52798", "CVE-2026-4867", "CVE-2026-4923", "CVE-2026-4926"],
      packageName: "path-to-regexp",
      happened: "Some patterns became slow regular expressions.",
      here: "No pattern runs as a regular expression.",
      testedBy: ["security/linear.test.ts", "reads each segment a bounded number of times"],
      source: "https://github.com/advisories/GHSA-9wv6-86v2-598j",
    },
    {
      ids: ["CVE-2026-22036"],
      packageName: "undici",
      happened: "Many content encodings took much time and memory.",
      here: "By default, key sets are requested without undici, and compressed at most once.",
      source: "https://github.com/advisories/GHSA-g9mf-h72j-4rw9",
    },
    {
      ids: ["CVE-2026-33532", "CVE-2023-2251"],
      packageName: "yaml",
      happened: "Malformed YAML threw an unexpected exception.",
      here: "Unreadable OpenAPI documents return one error.",
      source: "https://github.com/advisories/GHSA-48c2-rrv3-qjmp",
    },
    {
      ids: ["CVE-2025-13466", "CVE-2025-15284"],
      packageName: "body-parser, qs",
      happened: "Bodies with many parameters took much time and memory.",
      here: "With `protect` first, refused requests aren't parsed.",
      source: "https://github.com/advisories/GHSA-wqch-xfxh-vrr4",
    },
    {
      ids: ["CVE-2021-32640", "CVE-2024-37890"],
      packageName: "ws",
      happened: "Long or many headers slowed or crashed servers.",
      here: "Without a valid token, `ws` reads nothing.",
      source: "https://github.com/advisories/GHSA-3h5v-q93c-6h6q",
    },
    {
      ids: ["CVE-2022-21676", "CVE-2024-38355", "CVE-2023-32695", "CVE-2022-2421"],
      packageName: "engine.io, socket.io, socket.io-parser",
      happened: "Malformed handshakes and packets crashed servers.",
      here: "Without a valid token, handshakes are refused.",
      source: "https://github.com/advisories/GHSA-273r-mgr4-v34f",
    },
    {
      ids: ["GHSA-f23p-vx2j-j53r", "CVE-2026-71850"],
      packageName: "hono",
      happened: "One request's output was returned to others.",
      here: "Metadata depends only on the server's options.",
      source: "https://github.com/advisories/GHSA-f23p-vx2j-j53r",
    },
  ],
};
