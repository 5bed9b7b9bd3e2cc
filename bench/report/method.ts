/** What the summary says about its figures. */
export const SUMMARY = `The table shows the CPU time of one request in microseconds, in all threads, less that of the same server without authentication. Small
differences are noise. Negative: with Node.js 20, the guard makes Express faster. All libraries verify the same token: its signature, algorithm, issuer and audience. scopegate also checks the scopes of the route.

[All results](../../bench/RESULTS.md) say how they were measured. To measure again, run \`npm ci\` and \`npm run bench:page\` in a clone.
`;

/** The section of the report that explains the measurements. */
export const METHOD = `## How it is measured

- The figures are CPU time of all threads (user and system), which other programs change less than wall-clock time.
- Each round measures every library in turn, starting with another one. A figure is the median of the rounds (for whole requests, of
  the fastest fifth), and a ratio the median of the ratios of all rounds. \`bench/results\` has the quartiles.
- Every benchmark and table, and every library that verifies tokens, runs in a process of its own, with the built package.
- All libraries verify the same token with twelve claims and eight scopes. They check signature, algorithm, issuer and audience with a
  key that is imported once. scopegate also checks the scopes of the route. express-jwt, koa-jwt and @nestjs/passport verify with
  jsonwebtoken. Caches hold 10,000 tokens, and \`10,000 tokens\` sends them in random order.
- Verifications in the threads of WebCrypto run 64 at a time, as in a server.

**A whole request** is sent over 32 streams in memory, so the kernel has no part in the figure. The client runs in the same process, and
its time is included. Each server starts three times and runs 30 rounds of about 20 ms. The fastest fifth counts, because other programs
only make a round slower. The heap's young generation has a fixed size (\`--min-semi-space-size=16\`). The status and the body of
every response are checked.

**Servers over loopback** receive 2,000 requests over 32 connections from autocannon in another process. The latency is measured
separately, with one request at a time. Before rounds with \`10,000 tokens\`, servers with a cache receive 12,000 requests with these tokens.
`;
