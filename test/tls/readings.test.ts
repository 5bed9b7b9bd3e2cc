/** Every small change of a certificate in a header field, and random fields of XFCC compared with another parser. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CertificateHeader } from "./setup.ts";
import { byteSequenceOf, ec, escapedPemOf, hexHashOf, rsa } from "./setup.ts";
import { readClientCertificate } from "../../src/capabilities/sender-constraint/client-certificate.ts";

type Format = CertificateHeader["format"];

/** The thumbprint of the certificate that a field means, if it means one. */
function thumbprintIn(format: Format, value: string): string | undefined {
  const found = readClientCertificate(
    { method: "GET", target: "/", headers: { "client-cert": value } },
    { kind: "header", header: "client-cert", format, needsSocket: false, isTrusted: () => true },
    { found: undefined },
  );
  return found.kind === "certificate" ? found.thumbprint : undefined;
}

/** Other control characters cannot be in a field. */
const CHARACTERS = Array.from('Aa0+/=-_:;,.%"\\ \t\u00e9');

/** Every text with one character replaced, inserted or removed. */
function* changesOf(value: string): Generator<string> {
  for (let index = 0; index <= value.length; index += 1) {
    const [before, after] = [value.slice(0, index), value.slice(index)];
    if (after !== "") yield before + after.slice(1);
    for (const character of CHARACTERS) {
      yield before + character + after;
      if (after !== "" && !after.startsWith(character)) yield before + character + after.slice(1);
    }
  }
}

const SEQUENCE = byteSequenceOf(ec);
const PEM = escapedPemOf(ec);
const XFCC = `By=spiffe://a;Hash=${hexHashOf(ec)};Subject="CN=client"`;

describe("a field with one changed character", () => {
  it("is never this certificate in rfc9440", () => {
    expect(thumbprintIn("rfc9440", SEQUENCE)).toBe(ec.thumbprint);
    const same = [...changesOf(SEQUENCE)].filter((value) => thumbprintIn("rfc9440", value) === ec.thumbprint);
    expect(same).toEqual([]);
  });

  it("is this certificate in pem-urlencoded only with the same text behind the encoding", () => {
    expect(thumbprintIn("pem-urlencoded", PEM)).toBe(ec.thumbprint);
    const same = [...changesOf(PEM)].filter(
      (value) => thumbprintIn("pem-urlencoded", value) === ec.thumbprint,
    );
    expect(same.filter((value) => decodeURIComponent(value) !== ec.pem)).toEqual([]);
  });

  it("is this certificate in xfcc only with another spelling outside of the hash", () => {
    const hash = `Hash=${hexHashOf(ec)};`;
    expect(thumbprintIn("xfcc", XFCC)).toBe(ec.thumbprint);
    const same = [...changesOf(XFCC)].filter((value) => thumbprintIn("xfcc", value) === ec.thumbprint);
    const withoutHash = same.filter((value) => !value.toLowerCase().includes(hash.toLowerCase()));
    expect(withoutHash).toEqual([]);
  });
});

/** A reader of XFCC that goes from character to character: the values of `Hash` of each element. */
function hashesOf(field: string): readonly (readonly string[])[] {
  const elements: string[][] = [[]];
  let pair = "";
  let isQuoted = false;
  const endPair = (): void => {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, equals === -1 ? undefined : equals);
    if (name.trim().toLowerCase() === "hash") elements.at(-1)?.push(pair.slice(equals + 1));
    pair = "";
  };
  for (let index = 0; index < field.length; index += 1) {
    const character = field[index] ?? "";
    if (isQuoted && character === "\\") {
      pair += character + (field[index + 1] ?? "");
      index += 1;
      continue;
    }
    if (character === '"') isQuoted = !isQuoted;
    if (!isQuoted && character === ";") endPair();
    else if (!isQuoted && character === ",") {
      endPair();
      elements.push([]);
    } else pair += character;
  }
  endPair();
  return elements;
}

describe("a random field of XFCC", () => {
  const PIECES = [
    `Hash=${hexHashOf(ec)}`,
    `Hash=${hexHashOf(rsa)}`,
    `hash=${hexHashOf(rsa)}`,
    hexHashOf(ec),
    ...["Hash=", "Subject=", 'Subject="CN=a,O=b"', "By=spiffe://a", "URI=", ";", ";", ";", ",", '"', "\\"],
    ...['\\"', "=", " ", "\u00e9"],
  ];

  it("means a certificate only if it has one element with one hash", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }), (pieces) => {
        const field = pieces.join("");
        const thumbprint = thumbprintIn("xfcc", field);
        if (thumbprint === undefined) return;
        accepted += 1;
        const hashes = hashesOf(field).map((list) =>
          list.map((hex) => Buffer.from(hex, "hex").toString("base64url")),
        );
        expect(hashes).toEqual([[thumbprint]]);
      }),
      { numRuns: 20_000, seed: 6749 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
