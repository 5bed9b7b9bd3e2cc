import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { audienceOf } from "../../src/token/issuers.ts";
import { createIssuer } from "../support/issuer.ts";

describe("the audience that a server accepts", () => {
  it("is told of the server, and of nothing else that looks like it", () => {
    const server = createResourceServer({
      audience: ["agents-prod", "agents-test"],
      verificationKeys: [createIssuer().publicPem],
    });
    expect(audienceOf(server)).toEqual(["agents-prod", "agents-test"]);
    expect(audienceOf({ ...server })).toEqual([]);
  });
});
