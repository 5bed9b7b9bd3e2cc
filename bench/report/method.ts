/** How the figures of the report were made. */
export const METHOD = `## Method

- CPU time of the process (user and system, all threads), not wall time: whatever else the machine does meets all alike.
- Rounds are interleaved: each measures every library in turn. A figure is the median of the rounds, with the lower and the
  upper quartile in brackets, then its ratio to the reference of the group. A budget is a ratio of one and the same run.
- The built package is measured. Every benchmark, and of these every algorithm and every table of routes, runs in a process
  of its own.
- One token for all: twelve claims, eight scopes.
- Of verifications that wait for WebCrypto's threads 64 are on their way together, as in a server, unless it says one at a time.
- Servers run in processes of their own for each load, in production mode, with the same route and handler. autocannon sends from another
  process over loopback, and every answer is checked for its status. CPU time is asked of the server before and after 2,000
  requests over 32 connections; the process that sends does not sleep meanwhile, since the kernel charges its waking to the
  server. The figure of a server without authentication is all that it uses (\`us\`), that of the others what they add to it
  (\`us+\`). p50 and p99 are of requests one after the other, below saturation.
- Peers check signature, algorithm, issuer and audience with a key that is imported once; scopegate decides by the scopes of the
  route as well. Both caches hold 10,000 tokens. \`10,000 tokens\` come in random order, after 12,000 requests of the same kind
  for those that remember.
`;
