import { describe, expect, it } from "vitest";
import { refuse } from "../../../src/core/policy/decision.ts";
import {
  FAULT,
  type RawResponse,
  renderResponse,
  toRawResponse,
} from "../../../src/core/response/raw-response.ts";
import { createRefusal } from "../../../src/core/response/refusal.ts";

const DATE = "Tue, 14 Nov 2023 22:13:20 GMT";

const textOf = (response: RawResponse, method = "GET"): string =>
  Buffer.from(renderResponse(response, method, DATE)).toString();

describe("toRawResponse", () => {
  it("keeps the status, the headers and the body of a refusal", () => {
    const refusal = createRefusal(refuse("credential_missing"), {
      realm: "agents",
      resourceMetadataUrl: undefined,
    });
    expect(toRawResponse(refusal)).toEqual({
      status: 401,
      title: "Unauthorized",
      headers: {
        "Content-Type": "application/problem+json",
        "Cache-Control": "no-store",
        "WWW-Authenticate": 'Bearer realm="agents"',
      },
      content: JSON.stringify(refusal.body),
    });
  });
});

describe("renderResponse", () => {
  const response = {
    status: 403,
    title: "Forbidden",
    headers: { "X-One": "1", "X-Two": "2" },
    content: "né",
  };
  const head = [
    "HTTP/1.1 403 Forbidden",
    "X-One: 1",
    "X-Two: 2",
    "Content-Length: 3",
    `Date: ${DATE}`,
    "Connection: close",
    "",
    "",
  ].join("\r\n");

  it("writes the response of HTTP/1.1, with the length of the content in bytes", () => {
    expect(textOf(response)).toBe(`${head}né`);
  });

  it("writes the same headers and no content for HEAD (RFC 9110 section 9.3.2)", () => {
    expect(textOf(response, "HEAD")).toBe(head);
  });

  it("writes each character of a header as one byte", () => {
    const bytes = renderResponse({ ...response, headers: { "X-One": "\u00e9" } }, "GET", DATE);
    expect(Buffer.from(bytes).toString("latin1")).toContain("X-One: \u00e9\r\n");
  });

  it("shows nothing but the status for a fault", () => {
    expect(textOf(FAULT)).toBe(
      `HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nDate: ${DATE}\r\nConnection: close\r\n\r\n`,
    );
  });
});
