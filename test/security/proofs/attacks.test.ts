/** Requests that RFC 9449 says must be refused, each between two honest requests that are allowed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Running } from "../../conformance/applications.ts";
import { ATTACKS } from "./attacks/index.ts";
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  boundTo,
  EDWARDS_CALLER,
  partsOf,
  proofOf,
  RSA_CALLER,
  type Sent,
  sent,
  sentBy,
  type ServerName,
} from "./forge.ts";
import { expectRefusal } from "./responses.ts";
import { checkDirectly, HOSTS, openHost, outcomeOf, sendTo, SERVICES } from "./service.ts";

const opened = new Map<string, Running>();
const portOf = (host: string, name: ServerName): number => opened.get(`${host} ${name}`)?.port ?? 0;

beforeAll(async () => {
  for (const host of HOSTS)
    for (const [name, { server }] of Object.entries(SERVICES))
      opened.set(`${host.name} ${name}`, await openHost(host, server));
});
afterAll(async () => {
  for (const { close } of opened.values()) await close();
});

/** The request of an honest caller, with a nonce where the server requires one. */
async function honest(name: ServerName): Promise<Sent> {
  if (name !== "nonce") return sentBy();
  const { received } = await checkDirectly(SERVICES[name].server, sentBy());
  return sentBy({ claims: { nonce: received?.fields.get("dpop-nonce")?.[0] } });
}

async function expectAllowed(host: string, name: ServerName, request?: Sent): Promise<void> {
  const { status, body } = await sendTo(portOf(host, name), request ?? (await honest(name)));
  expect([status, body], "an honest request").toEqual([200, '{"done":true}']);
}

async function sendOver(host: string, { expected, server = "plain", earlier, send }: Attack): Promise<void> {
  const { takeRefusals } = SERVICES[server];
  await expectAllowed(host, server);
  const before = earlier?.() ?? [];
  for (const request of before) await expectAllowed(host, server, request);
  takeRefusals();
  const request = send(before);
  const received = await sendTo(portOf(host, server), request);
  expectRefusal(expected, request, received);
  expect(takeRefusals().map(outcomeOf), host).toEqual([expected]);
  await expectAllowed(host, server);
}

async function checkOne({
  expected,
  server: name = "plain",
  earlier,
  send,
  pollution,
}: Attack): Promise<void> {
  const { server } = SERVICES[name];
  const expectAllowedDirectly = async (request: Sent) =>
    expect(outcomeOf((await checkDirectly(server, request)).decision)).toBe("allowed");
  const before = earlier?.() ?? [];
  for (const request of before) await expectAllowedDirectly(request);
  const request = send(before);
  const { decision, received } = await checkDirectly(server, request, pollution);
  expect(outcomeOf(decision)).toBe(expected);
  if (received) expectRefusal(expected, request, received);
  await expectAllowedDirectly(await honest(name));
}

describe.each(Object.entries(ATTACKS))("the %s of a request", (group, attacks) => {
  it.each(attacks.map((row) => [row.expected, row.name, row] as const))(
    "refuses, as %s: %s",
    async (_expected, _name, row) => {
      await checkOne(row);
      // Only the fields of a request depend on how a host passes them on.
      if (group === "fields") for (const { name } of HOSTS) await sendOver(name, row);
    },
  );

  it("names every attack differently", () => {
    const names = attacks.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

describe("every change of one character of a proof", () => {
  const { server } = SERVICES.plain;
  const outcomes = async (proofs: readonly string[]): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    for (const proof of proofs)
      found.add(outcomeOf((await checkDirectly(server, sent(ALICE_TOKEN, proof))).decision));
    return found;
  };
  const places = (proof: string) => Array.from(proof, (_, index) => index);

  it.each([ALICE, RSA_CALLER, EDWARDS_CALLER])("refuses it with $alg", async (caller) => {
    const token = boundTo(caller.jwk);
    const proof = proofOf({ caller, token });
    const without = places(proof).map((index) => proof.slice(0, index) + proof.slice(index + 1));
    const twice = places(proof).map((index) => proof.slice(0, index) + proof.slice(index - 1));
    const other = places(proof).map(
      (index) => proof.slice(0, index) + (proof[index] === "A" ? "B" : "A") + proof.slice(index + 1),
    );
    const found = new Set<string>();
    for (const changed of [...without, ...twice.slice(1), ...other])
      found.add(outcomeOf((await checkDirectly(server, sent(token, changed))).decision));
    expect([...found]).not.toContain("allowed");
    expect(outcomeOf((await checkDirectly(server, sent(token, proof))).decision)).toBe("allowed");
  });

  it("refuses it with every shorter proof, and with every other part of another proof", async () => {
    const proof = proofOf();
    expect(await outcomes(places(proof).map((index) => proof.slice(0, index)))).not.toContain("allowed");
    const [first, second] = [partsOf(proof), partsOf(proofOf({ header: { extra: 1 } }))];
    const mixed = [0, 1, 2].map((place) =>
      first.map((part, index) => (index === place ? second[index] : part)).join("."),
    );
    expect(await outcomes(mixed)).toEqual(new Set(["signature"]));
  });
});
