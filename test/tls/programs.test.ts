/** The program of the page for Node.js, and the options of the page for Envoy with header values as Envoy writes them. */
import { createServer } from "node:http";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AddressInfo, Server } from "node:net";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { principalOf, protect } from "scopegate/node";
import { ROOT } from "../documentation/markdown.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ask, listen } from "../support/http.ts";
import { replaceOnce } from "../support/proxies.ts";
import { askTls } from "../support/tls-client.ts";
import type { TestCertificate } from "../support/x509.ts";
import { blockWith, importBlock, issuer, removeBlocksAfterwards, serverOf } from "./pages.ts";
import { certificates, closeAfterwards, closing, ec, escapedPemOf, hexHashOf, rsa } from "./setup.ts";

closeAfterwards();
removeBlocksAfterwards();
const folder = temporaryFolder("program");

/** The servers of the page require `exp`. */
const tokenFor = (certificate: TestCertificate): Promise<string> =>
  issuer.token({
    scopes: ["stores:berlin:read"],
    exp: Math.floor(Date.now() / 1000) + 60,
    cnf: { "x5t#S256": certificate.thumbprint },
  });

describe("the program for Node.js", () => {
  it("responds to clients with the certificate of their token, and refuses connections without one", async () => {
    const { server, authority } = certificates;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "server.pem"), server.pem);
    writeFileSync(join(folder, "server.key"), server.keyPem, { mode: 0o600 });
    writeFileSync(join(folder, "clients.pem"), authority.pem);
    const code = readFileSync(join(ROOT, "examples/complete/mtls.mts"), "utf8").replaceAll(
      "/etc/api.example",
      folder,
    );
    const listening = new Promise<Server>((resolve) => {
      Reflect.set(globalThis, "started", resolve);
    });
    const program = replaceOnce(
      code,
      ".listen(443);",
      '.listen(0, "127.0.0.1", function () { Reflect.get(globalThis, "started")(this); });',
    );
    await importBlock("server.mts", program);
    const http = await listening;
    Reflect.deleteProperty(globalThis, "started");
    const { port } = http.address() as AddressInfo;
    closing({ port, close: () => new Promise((resolve) => http.close(() => resolve())) });
    const client = { port, authority };
    const token = await tokenFor(ec);
    const answer = await askTls({ ...client, certificate: ec, token });
    expect([answer.status, answer.body]).toEqual([200, { store: "berlin", binding: "mtls" }]);
    expect(await askTls({ ...client, certificate: rsa, token })).toMatchObject({
      status: 401,
      body: { code: "proof_rejected" },
    });
    await expect(askTls({ ...client, token })).rejects.toThrow();
  });
});

describe("the options for Envoy", () => {
  const HEADER = "X-Forwarded-Client-Cert";

  it("accept the header that the page shows, with the hash of the client", async () => {
    const server = await serverOf("xfcc");
    const isAllowed = protect(server);
    const http = createServer((request, response) => {
      void isAllowed(request, response).then((allowed) => {
        if (allowed) response.end(principalOf(request)?.binding);
      });
    });
    const { port } = closing(await listen(http));
    const shown = blockWith("text", "By=spiffe://").trim();
    const [, hash = ""] = /Hash=([\da-f]{64});/.exec(shown) ?? [];
    const token = await tokenFor(ec);
    const statusFor = async (...values: readonly string[]): Promise<number> => {
      const headers = values.map((value) => [HEADER, value] as const);
      return (await ask(port, { path: "/stores/berlin", token, headers })).status;
    };
    const own = replaceOnce(shown, hash, hexHashOf(ec));
    expect(await statusFor(shown)).toBe(401);
    expect(await statusFor(own)).toBe(200);
    expect(
      await statusFor(`${own};Cert="${escapedPemOf(ec)}";Chain="${escapedPemOf(ec)}";DNS=client.example`),
    ).toBe(200);
    // `APPEND_FORWARD` with the element of a client.
    expect(await statusFor(`${own},${shown}`)).toBe(401);
    expect(await statusFor(own, shown)).toBe(401);
  });

  it("belong to a configuration that replaces the header of the client", () => {
    const configuration = parse(blockWith("yaml", "forward_client_cert_details")) as object;
    expect(configuration).toMatchObject({ forward_client_cert_details: "SANITIZE_SET" });
  });
});
