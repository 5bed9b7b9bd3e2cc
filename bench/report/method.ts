/** The section of the report that explains the measurements. */
export const METHOD = `## How it is measured

- The figures are CPU time (user and system, all threads of the process), not wall time. Other programs on the machine
  change it less.
- Rounds are interleaved: each round measures every library in turn, and another library goes first in each round. A figure is
  the median of the rounds, and a ratio is the median of the ratios of all rounds. \`bench/results\` has the lower and the upper
  quartile of each figure.
- The built package is measured. Every benchmark runs in its own process, and so does every algorithm and every table of
  routes.
- All libraries verify the same token, which has twelve claims and eight scopes.
- Verifications that use the threads of WebCrypto run 64 at a time, as in a server, unless the row says one at a time.
- Peers check signature, algorithm, issuer and audience with a key that is imported once. express-jwt, koa-jwt, passport-jwt
  and @nestjs/passport verify with jsonwebtoken. scopegate also checks the scopes of the route. Both caches hold 10,000 tokens, and the load \`10,000 tokens\` sends them in random order.

### Requests in process

The benchmark \`requests\` measures a whole request without sockets. Each server runs in its own process and receives the
requests over 32 streams in memory (\`server.emit("connection", stream)\`), so that the kernel has no part in the figure. The client
runs in the same process, so its CPU time is included, for all servers alike.

- The reference is the floor: a hand-written guard that reads the \`Authorization\` header, hashes the token with SHA-256, looks
  the hash up in a \`Map\` and calls the next handler. It is the least that a server with a token cache can do.
- A round of one server takes about 20 ms. All servers start three times and run 30 rounds each time. The fastest fifth of the 90
  rounds counts, because other programs on the machine only make a round slower. This leaves out rounds with a long garbage
  collection, rounds in which cached tokens expire, and processes whose heap retains garbage.
- The young generation of the heap has a fixed size (\`--min-semi-space-size=16\`). By default V8 enlarges it in some
  processes and not in others, which changes the cost of a request by a third.
- Every answer is checked for its status and body. Every cached token is sent once before the first round.

### Servers, over loopback

The benchmark \`servers\` shows latency and what authentication adds to a server without it. autocannon sends the requests from
another process, and the status of every answer is checked.

- The CPU time of the server is read before and after 2,000 requests over 32 connections. The process that sends never
  sleeps meanwhile, because the kernel charges the server for waking it up.
- The latency is that of requests that are sent one after the other.
- Before each round with \`10,000 tokens\`, servers with a cache receive 12,000 requests with these tokens.
`;
