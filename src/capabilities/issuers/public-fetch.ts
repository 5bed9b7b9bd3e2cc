/** Fetches from public addresses only: the record of a tenant must not reach into the network (SSRF). */
import dns from "node:dns";
import { BlockList, isIP, type LookupFunction, type Socket } from "node:net";
import { FetchError, type KeyFetch } from "../../core/keys/fetch-json.ts";
import { httpRequest } from "../../core/keys/http-request.ts";

/** Addresses that aren't globally reachable, or that lead to others (IANA special-purpose registries). */
const SPECIAL: readonly (readonly [address: string, prefix: number, family: "ipv4" | "ipv6"])[] = [
  ["0.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  // AWS and others serve the secrets of a machine at the first address, Azure at the second one.
  ["169.254.0.0", 16, "ipv4"],
  ["168.63.129.16", 32, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.0.0.0", 24, "ipv4"],
  ["192.0.2.0", 24, "ipv4"],
  ["192.88.99.0", 24, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["198.18.0.0", 15, "ipv4"],
  ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  ["2001::", 23, "ipv6"],
  ["2001:db8::", 32, "ipv6"],
  ["2002::", 16, "ipv6"],
  ["3fff::", 20, "ipv6"],
];
const special = new BlockList();
for (const [address, prefix, family] of SPECIAL) special.addSubnet(address, prefix, family);
/**
 * All of IPv6 that is assigned to the Internet. IPv4 in IPv6, such as `::ffff:127.0.0.1`, is outside of it.
 */
const globalIpv6 = new BlockList();
globalIpv6.addSubnet("2000::", 3, "ipv6");

/** Returns whether an IP address belongs to a host on the Internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, "ipv4");
  // A zone, as in `fe80::1%eth0`, only exists for addresses of this link.
  if (family !== 6 || address.includes("%")) return false;
  return globalIpv6.check(address, "ipv6") && !special.check(address, "ipv6");
}

/** Resolves a name like `dns.lookup`, but fails if one of its addresses isn't public. */
export const lookUpPublic: LookupFunction = (hostname, options, callback) => {
  dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) {
      callback(error, "");
      return;
    }
    const [first] = addresses;
    if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
      callback(new PrivateAddressError(), "");
    else if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

class PrivateAddressError extends Error {
  readonly code = "PRIVATE_ADDRESS";
}

/** Ends a connection to another address than the lookup allows, before anything is sent. */
function watchSocket(socket: Socket): void {
  socket.once("connect", () => {
    if (!isPublicAddress(socket.remoteAddress ?? "")) socket.destroy(new PrivateAddressError());
  });
}

/** Sends the requests for a set, each redirect and each URL of discovery included. */
const fetchPublic: KeyFetch = async (url, init) =>
  httpRequest(url, { ...init, lookup: lookUpPublic, watchSocket });

/**
 * Returns a `fetch` that refuses URLs that aren't https, and private addresses. A `fetch` of the record sends
 * its requests in its own way, for example through a proxy, so only the URL can be checked for it.
 */
export const guardFetch =
  (fetch: KeyFetch = fetchPublic): KeyFetch =>
  async (url, init) => {
    const { protocol, hostname } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const isLocal = isIP(host) === 0 ? /(?:^|\.)localhost\.?$/.test(host) : !isPublicAddress(host);
    if (protocol !== "https:" || isLocal) throw new FetchError(url, NOT_PUBLIC);
    return fetch(url, init);
  };

const NOT_PUBLIC =
  "isn't fetched: records of `find` need https URLs at public addresses, unless issuersFrom has `allowPrivate: true`.";
