import { describe, expect, it } from "vitest";
import { metadataUrlOf } from "../../../src/capabilities/resource/resolve.ts";
import { renderMetadata } from "../../../src/core/response/resource-metadata.ts";

describe("metadataUrlOf", () => {
  it.each([
    ["https://agents.example", "https://agents.example/.well-known/oauth-protected-resource"],
    ["https://agents.example/", "https://agents.example/.well-known/oauth-protected-resource"],
    ["https://agents.example/mcp", "https://agents.example/.well-known/oauth-protected-resource/mcp"],
    [
      "https://agents.example:8443/a/?b=1",
      "https://agents.example:8443/.well-known/oauth-protected-resource/a/?b=1",
    ],
  ])("inserts the well-known path before the path of %s (RFC 9728 section 3.1)", (id, url) => {
    expect(metadataUrlOf(id)).toBe(url);
  });
});

describe("renderMetadata", () => {
  it("returns the document as public JSON that every origin may read", () => {
    const metadata = { resource: "https://agents.example" };
    expect(
      renderMetadata({ id: "https://agents.example", metadataUrl: "https://a.example", metadata }),
    ).toEqual({
      status: 200,
      headers: {
        "Content-Type": "application/json",
        "Cache-Control": "public, max-age=3600",
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
        "Access-Control-Allow-Headers": "*",
      },
      body: metadata,
    });
  });
});
