import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { audienceOf } from "../../src/token/issuers.ts";
import { createIssuer } from "../support/issuer.ts";

describe("audienceOf", () => {
  it("returns the accepted audiences of a server, and nothing for other objects", () => {
    const server = createResourceServer({
      audience: ["agents-prod", "agents-test"],
      verificationKeys: [createIssuer().publicPem],
    });
    expect(audienceOf(server)).toEqual(["agents-prod", "agents-test"]);
    expect(audienceOf({ ...server })).toEqual([]);
  });
});
