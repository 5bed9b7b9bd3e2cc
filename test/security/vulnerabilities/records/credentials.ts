import type { Group } from "./vulnerability.ts";

export const CREDENTIALS: Group = {
  title: "Credentials and headers",
  vulnerabilities: [
    {
      ids: ["CVE-2026-47673"],
      packageName: "hono",
      happened: "A token was accepted with any scheme.",
      here: "Only `Bearer`, or `DPoP` with a proof, is accepted.",
      source: "https://github.com/advisories/GHSA-f577-qrjj-4474",
    },
    {
      ids: ["GHSA-xmf8-cvqr-rfgj", "CVE-2026-73418"],
      packageName: "@auth/core, next-auth",
      happened: "A malformed `Authorization` header threw an uncaught exception.",
      here: "Malformed headers return 400 or 401.",
      source: "https://github.com/advisories/GHSA-xmf8-cvqr-rfgj",
    },
    {
      ids: ["GHSA-8fpg-xm3f-6cx3", "CVE-2026-73421"],
      packageName: "@auth/core, next-auth",
      happened: "A configuration error looked like a caller who had signed in.",
      here: "Configuration errors throw at startup, and later errors refuse the request.",
      source: "https://github.com/advisories/GHSA-8fpg-xm3f-6cx3",
    },
    {
      ids: ["CVE-2026-39410"],
      packageName: "hono",
      happened: "A no-break space before a cookie's name was removed, so it replaced a protected cookie.",
      here: "Cookie names are compared byte by byte.",
      source: "https://github.com/advisories/GHSA-r5rp-j6wh-rvv4",
    },
    {
      ids: ["CVE-2024-22206"],
      packageName: "@clerk/nextjs",
      happened: "A flaw in `auth()` and `getAuth()` let callers act as others.",
      here: "`principalOf` returns only the verified caller, whatever else is on the request.",
      source: "https://github.com/advisories/GHSA-q6w5-jg5q-47vg",
    },
    {
      ids: ["CVE-2025-29927"],
      packageName: "next",
      happened: "The header `x-middleware-subrequest` skipped the middleware.",
      here: "No header except the credential changes a decision.",
      source: "https://github.com/advisories/GHSA-f82v-jwr5-mffw",
    },
    {
      ids: ["CVE-2024-51479"],
      packageName: "next",
      happened: "Middleware that compared the path could be bypassed directly below the root.",
      here: "The query doesn't choose the rule.",
      source: "https://github.com/advisories/GHSA-7gfc-8cq8-jh5f",
    },
    {
      ids: ["CVE-2026-27959", "CVE-2026-3635", "CVE-2026-16732", "CVE-2025-61925"],
      packageName: "koa, fastify, astro",
      happened: "`Host` or `X-Forwarded-*` from anyone chose the host or protocol.",
      here: "DPoP proofs are compared with the configured `origins`.",
      source: "https://github.com/advisories/GHSA-7gcc-r8m5-44qm",
    },
    {
      ids: ["GHSA-8j4g-w8fx-2239", "CVE-2026-69207", "CVE-2026-54290"],
      packageName: "hono",
      happened: "CORS middleware took very long, and allowed credentials from every origin.",
      here: "A preflight for a protected route runs no handler, and gets no CORS headers.",
      source: "https://github.com/advisories/GHSA-8j4g-w8fx-2239",
    },
    {
      ids: ["CVE-2025-68130"],
      packageName: "@trpc/server",
      happened: "A form field could change `Object.prototype`.",
      here: "Properties on `Object.prototype` add no scope, credential or option.",
      source: "https://github.com/advisories/GHSA-43p4-m455-4f4j",
    },
    {
      ids: ["CVE-2026-44457", "GHSA-p77w-8qqv-26rm"],
      packageName: "hono",
      happened: "The cache ignored `Vary: Authorization` and `Vary: Cookie`.",
      here: "With `protect` before the cache, a caller without a token is refused; the other order is a documented limit.",
      source: "https://github.com/advisories/GHSA-p77w-8qqv-26rm",
    },
  ],
};
