/** A way to write a path that some router, proxy or parser may read as the same path or as another one. */
interface Spelling {
  readonly name: string;
  /** Returns spellings of a path that starts with a slash, is plain ASCII and has no query. */
  readonly write: (path: string) => readonly string[];
}

/** The name of the unchanged spelling. */
export const CANONICAL = "canonical";

/** One path for each slash, with that slash replaced. */
const eachSlash = (path: string, written: string): string[] =>
  [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index) + written + path.slice(index + 1));

/** One path for each segment, with that segment changed. */
const eachSegment = (path: string, change: (segment: string) => string): string[] => {
  const segments = path.slice(1).split("/");
  return segments.map((segment, index) => `/${segments.with(index, change(segment)).join("/")}`);
};

const lastSegment = (path: string, change: (segment: string) => string): string =>
  path.slice(0, path.lastIndexOf("/") + 1) + change(path.slice(path.lastIndexOf("/") + 1));

const percent = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const swapCase = (text: string): string =>
  text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();

/** Percent-encoded letters that case folding turns into ASCII letters. */
const FOLDED: Readonly<Record<string, string>> = { k: "%E2%84%AA", s: "%C5%BF", i: "%C4%B0" };

const behind =
  (...tails: readonly string[]) =>
  (path: string): string[] =>
    tails.map((tail) => path + tail);

const inFront =
  (...heads: readonly string[]) =>
  (path: string): string[] =>
    heads.map((head) => head + path);

/** Variants of how a path starts, is split into segments and ends. */
const STRUCTURE_SPELLINGS: readonly Spelling[] = [
  { name: "query", write: behind("?", "?x=1", "?/../health", "?x=1?y", "?x=%ff", "?a=b;c") },
  { name: "trailing slash", write: behind("/", "/?x=1") },
  {
    name: "doubled slash",
    write: (path) => [...eachSlash(path, "//"), ...behind("//", "///")(path), `//${path}`],
  },
  {
    name: "dot segment",
    write: (path) => [
      ...eachSlash(path, "/./"),
      ...eachSlash(path, "/x/../"),
      ...behind("/.", "/..", "/../", "/x/..")(path),
      ...inFront("/..", "/health/..", "/files/public/..", "/files/public/../..")(path),
      `${path}/../../health`,
    ],
  },
  {
    name: "encoded dot segment",
    write: (path) => [
      ...eachSlash(path, "/%2e/"),
      ...eachSlash(path, "/x/%2E%2e/"),
      ...eachSlash(path, "/x/.%2e/"),
      ...inFront("/health/%2e%2e", "/files/public/%2e%2e/%2e%2e", "/%252e%252e")(path),
      ...behind("/%2e", "/%2e%2e")(path),
    ],
  },
  {
    name: "encoded slash",
    write: (path) => [
      ...eachSlash(path, "%2f"),
      ...eachSlash(path, "/%2F"),
      ...eachSlash(path, "%252f"),
      ...inFront("/health%2f..", "/files/public/..%2f..")(path),
      ...behind("%2f", "%2F..%2F")(path),
    ],
  },
  {
    name: "backslash",
    write: (path) => [
      ...eachSlash(path, "\\"),
      ...eachSlash(path, "/\\"),
      ...eachSlash(path, "%5c"),
      ...behind("\\", "%5C", "\\..\\health")(path),
      ...inFront("/health\\..", "/files/public/..\\..")(path),
    ],
  },
  {
    name: "raw #",
    write: (path) => [...behind("#", "#x", "#/../health", "?x#y")(path), ...inFront("/health#", "/#")(path)],
  },
  {
    name: "absolute form",
    write: (path) => [
      ...inFront("http://service.example", "http://other.example", "HTTP://service.example:80")(path),
      ...inFront("https://service.example", "http://127.0.0.1", "http://[::1]:3000")(path),
      `http://service.example${path}?x=1`,
    ],
  },
  {
    name: "odd absolute form",
    write: (path) => [
      ...inFront(
        "http://user@service.example",
        "http://user:pass@x",
        "http://",
        "http:/",
        "http:",
        "ftp://x",
      )(path),
      ...inFront(
        "http://a@b@c",
        "http://x:99999",
        "http://x%2f",
        "http://x\\",
        "http://x#",
        "//service.example",
      )(path),
      ...inFront("http://x?", "http://x;", "http://-", "http:\\\\x", "ws://x", "http://x y")(path),
      `http://service.example/${path}`,
      path.slice(1),
      `*${path}`,
    ],
  },
  { name: "empty parameter", write: (path) => [lastSegment(path, () => ""), ...eachSegment(path, () => "")] },
  { name: "more segments", write: behind("/x", "/health", "/me", "/runs") },
  {
    name: "long path",
    write: (path) => [
      path + "/x".repeat(2000),
      path + "a".repeat(5000),
      path + "%61".repeat(1500),
      "/x".repeat(3000) + path,
      path + "/".repeat(4000),
      path + ";".repeat(3000),
      path + "a".repeat(20_000),
    ],
  },
];

/** Variants that write the characters of a path differently. */
const CHARACTER_SPELLINGS: readonly Spelling[] = [
  {
    name: "letter case",
    write: (path) => [
      path.toUpperCase(),
      capitalize(path.slice(1)).replace(/^/, "/"),
      ...eachSegment(path, swapCase),
      ...eachSegment(path, capitalize),
    ],
  },
  {
    name: "encoded letters",
    write: (path) => [
      ...eachSegment(path, (text) => text.replace(/[a-z]/, percent)),
      ...eachSegment(path, (text) => text.replace(/[a-z]$/, (char) => percent(char).toUpperCase())),
      ...eachSegment(path, (text) => text.replaceAll(/[a-z]/gi, percent)),
      lastSegment(path, (text) => text.replace(/[a-z]/i, (char) => percent(swapCase(char)))),
    ],
  },
  {
    name: "letters encoded twice",
    write: (path) =>
      eachSegment(path, (text) => text.replace(/[a-z]/, (char) => `%25${percent(char).slice(1)}`)),
  },
  {
    name: "NUL or control character",
    write: (path) => [
      ...behind("%00", "%00.html", "%0a", "%0d%0a", "%09", "%7f", "\u0000", "\t", "\u0001")(path),
      lastSegment(path, (text) => `%00${text}`),
    ],
  },
  {
    name: "semicolon parameter",
    write: (path) => [
      ...behind(";", ";v=1", ";/health", ";/../health", ";?x=1", "/;v=1", "%3bv=1")(path),
      ...eachSegment(path, (text) => `${text};v=1`),
      ...eachSegment(path, (text) => `;v=1${text}`),
      ...inFront("/;v=1", "/health;/..", "/;")(path),
    ],
  },
  {
    name: "invalid percent-encoding",
    write: (path) => [
      ...behind("%", "%zz", "%2", "%ff", "%c0%af", "%E0%80%AE", "%u0061")(path),
      ...eachSegment(path, (text) => `%${text}`),
    ],
  },
  {
    name: "unicode folding",
    write: (path) =>
      Object.entries(FOLDED).flatMap(([letter, folded]) =>
        path.toLowerCase().includes(letter) ? [path.replace(new RegExp(letter, "i"), folded)] : [],
      ),
  },
  { name: "encoded unicode", write: behind("%C3%A9", "%EF%BC%8F", "%E2%80%AE", "%EF%BB%BF", "%C2%A0") },
  { name: "raw non-ASCII", write: behind("\u00e9", "\u00ff", "\u00c3\u00a9") },
  {
    name: "space",
    write: (path) => [...behind("%20", "+", " ", "/%20")(path), lastSegment(path, (text) => `%20${text}`)],
  },
  {
    name: "other character",
    write: behind(...Array.from("!$&'\"()*,:=@[]^`{|}~")),
  },
  { name: "extension", write: behind(".json", ".", "..", ".html") },
  {
    name: "several at once",
    write: (path) => [
      `http://service.example${path.toUpperCase()}/`,
      `http://service.example${path};v=1`,
      `${path.toUpperCase()}%20`,
      `${path.toUpperCase()}/`,
      `${path}/;v=1/`,
      lastSegment(path, (text) => `%2e/${capitalize(text)}`),
    ],
  },
];

export const SPELLINGS: readonly Spelling[] = [...STRUCTURE_SPELLINGS, ...CHARACTER_SPELLINGS];
