import { behind, eachSegment, eachSlash, inFront, lastSegment, repeat } from "./rewrite-path.ts";
import { type Spelling } from "./spelling.ts";

/** Variants of how a path starts, is split into segments and ends. */
export const STRUCTURE_SPELLINGS: readonly Spelling[] = [
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
      path + repeat("/x", 2000),
      path + repeat("a", 5000),
      path + repeat("%61", 1500),
      repeat("/x", 3000) + path,
      path + repeat("/", 4000),
      path + repeat(";", 3000),
      path + repeat("a", 20_000),
    ],
  },
];
