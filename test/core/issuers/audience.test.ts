import { describe, expect, it } from "vitest";
import { issuersOf } from "../../../src/tools/shared/issuers.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createResourceServer } from "../../support/server.ts";

describe("issuersOf", () => {
  it("returns the issuers of a server, with the accepted audiences, and nothing for other objects", () => {
    const server = createResourceServer({
      audience: ["agents-prod", "agents-test"],
      verificationKeys: [createIssuer().publicPem],
    });
    expect(issuersOf(server).map(({ token }) => token.audience)).toEqual([["agents-prod", "agents-test"]]);
    expect(issuersOf({ ...server })).toEqual([]);
  });
});
