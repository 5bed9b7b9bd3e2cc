/** URIs of resources in every spelling, for reading and both kinds of subscriptions. */
import type { Colleague } from "../company.ts";
import { type Hostile, message, probe, refusal } from "./hostile.ts";

/** Resources that `clerk` may read, as they are written here. */
const OPEN = [
  ...["docs://handbook", "payroll://may", "tenant://acme/1", "notes://list?team=a&author=ann"],
  "file:///public/a",
];
/** Resources that `clerk` may not read. */
const SECRET = [
  ...["docs://salaries", "https://docs.example/salaries", "payroll://june", "tenant://globex/1"],
  ...["notes://list?team=a&author=bob", "file:///private/a", "file:///etc/passwd"],
];

const hex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

/** Divides a URI behind its scheme. */
function divide(uri: string): readonly [scheme: string, slashes: string, rest: string] {
  const [scheme = ""] = /^\w+:/.exec(uri) ?? [];
  const [slashes = ""] = /^\/*/.exec(uri.slice(scheme.length)) ?? [];
  return [scheme, slashes, uri.slice(scheme.length + slashes.length)];
}

/** Changes the part behind the scheme. */
const behind =
  (change: (rest: string) => string) =>
  (uri: string): string => {
    const [scheme, slashes, rest] = divide(uri);
    return scheme + slashes + change(rest);
  };
/** Changes what is behind the last slash. */
const last =
  (change: (segment: string) => string) =>
  (uri: string): string => {
    const start = uri.lastIndexOf("/") + 1;
    return uri.slice(0, start) + change(uri.slice(start));
  };
const beforeLast = (inserted: string) => last((segment) => inserted + segment);
/** Changes the last slash. */
const lastSlash =
  (slash: string) =>
  (uri: string): string => {
    const at = uri.lastIndexOf("/");
    return uri.slice(0, at) + slash + uri.slice(at + 1);
  };

const SPELLINGS: Readonly<Record<string, (uri: string) => string>> = {
  "as it is": (uri) => uri,
  "with a scheme in capitals": (uri) => uri.replace(/^\w+/, (scheme) => scheme.toUpperCase()),
  "with a scheme in mixed case": (uri) => uri.replace(/^\w/, (letter) => letter.toUpperCase()),
  "in capitals": (uri) => uri.toUpperCase(),
  "with a rest in capitals": behind((rest) => rest.toUpperCase()),
  "with an escaped first letter": behind((rest) => hex(rest.charAt(0)) + rest.slice(1)),
  "with an escaped last letter": (uri) => uri.slice(0, -1) + hex(uri.slice(-1)),
  "with all letters escaped": behind((rest) => rest.replace(/\w+/g, hex)),
  "with all letters escaped, in capitals": behind((rest) =>
    rest.replace(/\w+/g, (word) => hex(word).toUpperCase()),
  ),
  "escaped twice": behind((rest) => rest.replace(/\w+/g, (word) => hex(word).replaceAll("%", "%25"))),
  "with escaped slashes": behind((rest) => rest.replaceAll("/", "%2f")),
  "with slashes that are escaped twice": behind((rest) => rest.replaceAll("/", "%252F")),
  "with an escaped scheme": (uri) => uri.replace(/^\w/, hex),
  "with half an escape": (uri) => `${uri}%`,
  "with an escape of a byte that is no UTF-8": (uri) => `${uri}%ff`,
  "with an overlong escape": beforeLast("%c0%af"),
  "behind a dot segment": beforeLast("./"),
  "behind two dots": beforeLast("x/../"),
  "behind escaped dots": beforeLast("x/%2e%2e/"),
  "behind half escaped dots": beforeLast("x/.%2E/"),
  "behind an escaped dot": beforeLast("%2e/"),
  "behind dots that are escaped twice": beforeLast("x/%252e%252e/"),
  "behind many dots": beforeLast("../../../../"),
  "behind dots and an escaped slash": beforeLast("x/..%2f"),
  "behind three dots": beforeLast(".../"),
  "behind an empty segment": beforeLast("/"),
  "behind two empty segments": beforeLast("//"),
  "with a slash at the end": (uri) => `${uri}/`,
  "with dots at the end": (uri) => `${uri}/x/..`,
  "with a dot at the end": (uri) => `${uri}/.`,
  "with a tab": (uri) => uri.replace(/.$/, "\t$&"),
  "with a line feed": (uri) => uri.replace(/.$/, "\n$&"),
  "with a carriage return": (uri) => uri.replace(/.$/, "\r$&"),
  "with a tab in its scheme": (uri) => uri.replace(/^./, "$&\t"),
  "with a tab in its slashes": (uri) => uri.replace("//", "/\t/"),
  "behind a space": (uri) => ` ${uri}`,
  "in front of a space": (uri) => `${uri} `,
  "behind a NUL": (uri) => `\u0000${uri}`,
  "in front of a NUL": (uri) => `${uri}\u0000`,
  "in front of a line feed": (uri) => `${uri}\n`,
  "with a NUL": (uri) => uri.replace(/.$/, "\u0000$&"),
  "with an escaped NUL": (uri) => `${uri}%00`,
  "behind a no-break space": (uri) => `\u00A0${uri}`,
  "behind a byte order mark": (uri) => `\uFEFF${uri}`,
  "with backslashes": (uri) => uri.replaceAll("/", "\\"),
  "with one backslash": lastSlash("\\"),
  "with an escaped backslash": lastSlash("%5c"),
  "with a comma": (uri) => `${uri},x`,
  "behind a comma": beforeLast("x,"),
  "with an escaped comma": (uri) => `${uri}%2cx`,
  "with a query": (uri) => `${uri}?x`,
  "with an empty query": (uri) => `${uri}?`,
  "with another parameter": (uri) => `${uri}&author=bob&team=b`,
  "with a fragment": (uri) => `${uri}#x`,
  "with an empty fragment": (uri) => `${uri}#`,
  "with an escaped fragment": (uri) => `${uri}%23`,
  "with a path parameter": (uri) => `${uri};x=1`,
  "with a user": behind((rest) => `user@${rest}`),
  "with a user and a password": behind((rest) => `user:password@${rest}`),
  "with an empty user": behind((rest) => `@${rest}`),
  "with a port": (uri) => uri.replace(/^(\w+:\/\/[^/?]*)/, "$1:443"),
  "with another port": (uri) => uri.replace(/^(\w+:\/\/[^/?]*)/, "$1:0"),
  "with an empty port": (uri) => uri.replace(/^(\w+:\/\/[^/?]*)/, "$1:"),
  "with a dot behind its host": (uri) => uri.replace(/^(\w+:\/\/[^/?]*)/, "$1."),
  "with a local host": (uri) => uri.replace("///", "//localhost/"),
  "with a local host in capitals": (uri) => uri.replace("///", "//LOCALHOST/"),
  "with another host": (uri) => uri.replace("///", "//other/"),
  "without a host": (uri) => uri.replace("//", ""),
  "with one slash": (uri) => uri.replace(/\/\/+/, "/"),
  "with five slashes": (uri) => uri.replace("//", "/////"),
  "with a drive": behind((rest) => `C|/../${rest}`),
  "without a scheme": (uri) => uri.replace(/^\w+:/, ""),
  "without its slashes": (uri) => uri.replace(/^\w+:\/*/, ""),
  "with two schemes": (uri) => `x:${uri}`,
  "with a fullwidth letter": behind((rest) =>
    rest.replace(/[a-z]/, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)),
  ),
  "with fullwidth dots": (uri) => uri.replaceAll(".", "\uFF0E"),
  "with an ideographic full stop": (uri) => uri.replaceAll(".", "\u3002"),
  "with a fullwidth slash": lastSlash("\uFF0F"),
  "with a soft hyphen": behind((rest) => `${rest.charAt(0)}\u00AD${rest.slice(1)}`),
  "with a zero width joiner": behind((rest) => `${rest.charAt(0)}\u200D${rest.slice(1)}`),
  "with a letter that folds to s": behind((rest) => rest.replace("s", "\u017F")),
  "with a combining accent": behind((rest) => rest.replace("a", "a\u0301")),
  "with a Cyrillic letter": behind((rest) => rest.replace("a", "\u0430")),
  "with half a surrogate": (uri) => `${uri}\uD800`,
  "with a star": last(() => "*"),
  "as a template": last(() => "{path}"),
  "as a template of everything": last(() => "{+path}"),
  "as the text of a template": last(() => "<month>"),
  "with an empty last segment": last(() => ""),
  "with a prototype": last(() => "__proto__"),
  "with a constructor": last(() => "constructor"),
  "of 8192 characters": (uri) => uri.padEnd(8192, "a"),
  "of 8192 characters with segments": (uri) => uri.padEnd(8192, "/a"),
  "of 8192 commas": (uri) => uri.padEnd(8192, ","),
  "of 8192 escapes": (uri) => uri.padEnd(8190, "%61"),
  "behind 1000 dot segments": beforeLast("x/../".repeat(1000)),
};

interface Way {
  readonly name: string;
  readonly write: (uri: string) => object;
  readonly caller: Colleague;
  readonly targets: readonly string[];
  readonly headers?: Hostile["headers"];
}

const MODERN = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};

/** Notifications of the revision 2026-07-28. */
const listen = (notifications: unknown) => message("subscriptions/listen", { notifications, _meta: META });

/** A refused subscription to these resources, or with these notifications. */
const subscription = (
  status: number,
  uris: unknown,
  notifications: unknown = { resourceSubscriptions: uris },
) => refusal("subscriptions", status, listen(notifications), { headers: MODERN });

/** Every caller may read it. */
const ONE = "docs://handbook";

const read = (uri: string) => message("resources/read", { uri });

const WAYS: readonly Way[] = [
  { name: "reads", write: read, caller: "clerk", targets: [...OPEN, ...SECRET] },
  // The director may read nearly all of them: this shows that the server finds them.
  { name: "reads", write: read, caller: "director", targets: SECRET },
  {
    name: "subscribes to",
    write: (uri) => message("resources/subscribe", { uri }),
    caller: "clerk",
    targets: SECRET,
  },
  {
    name: "listens to docs://handbook and",
    write: (uri) => listen({ resourceSubscriptions: [ONE, uri] }),
    caller: "clerk",
    targets: SECRET,
    headers: MODERN,
  },
];

const LONG = ["docs://", "payroll://", "file:///", "https://docs.example/"].map((start) =>
  start.padEnd(8193, "a"),
);

const NO_URIS: readonly unknown[] = [
  ...["", null, 0, 1, true, [], ["docs://handbook"], {}, { href: "docs://handbook" }],
];

/** A URI that the gate cannot find a rule for. */
const UNKNOWN = [
  ...["x", "/", "//", "///private/a", "../private/a", ":", "://", "docs:", "docs:/", "docs://", "https://"],
  "*",
  ...["docs://handbook docs://salaries", "docs://handbook\u2028docs://salaries", "https://docs.example"],
  "data:,x",
  ...["http://docs.example/salaries", "https://[::1]/salaries", "https://docs.example:x/salaries", "{+path}"],
  ...["{month}", "file", "javascript:alert(1)", "docs://__proto__", "__proto__", "constructor"],
  "notes://list",
  ...["notes://list?author=ann&team=a", "notes://list?team=&author=ann", "notes://list?team=a&author="],
];

export const URI_CASES: readonly Hostile[] = [
  ...WAYS.flatMap(({ name: way, write, caller, targets, headers }) =>
    targets.flatMap((target) =>
      Object.entries(SPELLINGS).flatMap(([spelling, change]) => {
        const uri = change(target);
        // A spelling that changes nothing is a case once.
        if (uri === target && spelling !== "as it is") return [];
        return probe(`${caller} ${way} ${target} ${spelling}`, caller, write(uri), headers && { headers });
      }),
    ),
  ),
  ...["resources/read", "resources/subscribe", "resources/unsubscribe"].flatMap((method) => [
    ...LONG.map((uri) => refusal("a URI that is too long", 400, message(method, { uri }))),
    ...NO_URIS.map((uri) => refusal("no URI", 400, message(method, { uri }))),
    ...UNKNOWN.map((uri) => refusal("an unknown URI", 403, message(method, { uri }))),
  ]),
  ...[...LONG, ...NO_URIS].map((uri) => subscription(400, [ONE, uri])),
  ...[...OPEN, ...SECRET].map((uri) => probe(`an outsider reads ${uri}`, "outsider", read(uri))),
  ...[ONE, { 0: ONE }, 1, true].map((uris) => subscription(400, uris)),
  ...[[], ONE, 1, true].map((notifications) => subscription(400, undefined, notifications)),
  subscription(400, Array<string>(101).fill(ONE)),
  ...[0, 1, 50, 99].map((at) => subscription(403, Array<string>(100).fill(ONE).with(at, "docs://salaries"))),
  // A file system, or a handler that decodes them, reads these paths as that of a narrower rule.
  ...[
    ...["etc//passwd", "/etc/passwd", "/private/a", "//private/a"],
    ...["private%2Fa", "x/..%2fprivate/a", "etc%2Fpasswd", "%2fetc/passwd"],
  ].map((path) => refusal(`reads file:///${path}`, 403, read(`file:///${path}`))),
];
