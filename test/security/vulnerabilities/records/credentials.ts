import type { Group } from "./vulnerability.ts";

export const CREDENTIALS: Group = {
  title: "Credentials and headers",
  vulnerabilities: [
    {
      ids: ["CVE-2026-47673"],
      packageName: "hono",
      happened: "Tokens passed with any scheme.",
      here: "Only `Bearer`, or `DPoP` with a proof, passes.",
      source: "https://github.com/advisories/GHSA-f577-qrjj-4474",
    },
    {
      ids: ["GHSA-xmf8-cvqr-rfgj", "CVE-2026-73418"],
      packageName: "@auth/core, next-auth",
      happened: "Malformed headers threw an uncaught exception.",
      here: "They return 400 or 401.",
      source: "https://github.com/advisories/GHSA-xmf8-cvqr-rfgj",
    },
    {
      ids: ["GHSA-8fpg-xm3f-6cx3", "CVE-2026-73421"],
      packageName: "@auth/core, next-auth",
      happened: "Configuration errors looked like signed-in callers.",
      here: "They throw at startup, or refuse the request.",
      source: "https://github.com/advisories/GHSA-8fpg-xm3f-6cx3",
    },
    {
      ids: ["CVE-2026-39410"],
      packageName: "hono",
      happened: "A no-break space let a cookie replace a protected one.",
      here: "Cookie names are compared byte by byte.",
      source: "https://github.com/advisories/GHSA-r5rp-j6wh-rvv4",
    },
    {
      ids: ["CVE-2024-22206"],
      packageName: "@clerk/nextjs",
      happened: "`auth()` and `getAuth()` let callers act as others.",
      here: "`principalOf` returns only the verified caller.",
      source: "https://github.com/advisories/GHSA-q6w5-jg5q-47vg",
    },
    {
      ids: ["CVE-2025-29927"],
      packageName: "next",
      happened: "`x-middleware-subrequest` skipped the middleware.",
      here: "This header changes nothing.",
      source: "https://github.com/advisories/GHSA-f82v-jwr5-mffw",
    },
    {
      ids: ["CVE-2024-51479"],
      packageName: "next",
      happened: "Middleware that compared paths could be bypassed.",
      here: "The query doesn't choose the rule.",
      source: "https://github.com/advisories/GHSA-7gfc-8cq8-jh5f",
    },
    {
      ids: ["CVE-2026-27959", "CVE-2026-3635", "CVE-2026-16732", "CVE-2025-61925"],
      packageName: "koa, fastify, astro",
      happened: "`Host` or `X-Forwarded-*` chose the host or protocol.",
      here: "DPoP proofs are compared with `origins`.",
      source: "https://github.com/advisories/GHSA-7gcc-r8m5-44qm",
    },
    {
      ids: ["GHSA-8j4g-w8fx-2239", "CVE-2026-69207", "CVE-2026-54290"],
      packageName: "hono",
      happened: "CORS middleware was slow, and allowed credentials from every origin.",
      here: "A protected route's preflight runs no handler, without CORS headers.",
      source: "https://github.com/advisories/GHSA-8j4g-w8fx-2239",
    },
    {
      ids: ["CVE-2025-68130"],
      packageName: "@trpc/server",
      happened: "A form field changed `Object.prototype`.",
      here: "Its properties add no scope, credential or option.",
      source: "https://github.com/advisories/GHSA-43p4-m455-4f4j",
    },
    {
      ids: ["CVE-2026-44457", "GHSA-p77w-8qqv-26rm"],
      packageName: "hono",
      happened: "The cache ignored `Vary: Authorization` and `Vary: Cookie`.",
      here: "With `protect` first, callers without a token are refused; the other order is a documented limit.",
      source: "https://github.com/advisories/GHSA-p77w-8qqv-26rm",
    },
  ],
};
