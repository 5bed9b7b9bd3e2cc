/** A resource identifier with parameters: `https://api.example/t/:org/mcp` has a resource for each value. */
import { orUndefined } from "../../core/errors.ts";
import { readPath, segmentsOf } from "../../core/request.ts";

const PARAMETER = /^:[A-Za-z_]\w*$/;

export class ResourceTemplate {
  readonly #origin: string;
  readonly #segments: readonly string[];

  constructor(id: string) {
    const { origin, pathname } = new URL(id);
    this.#origin = origin;
    this.#segments = pathname.slice(1).split("/");
  }

  /** Returns whether a value of `aud` is one of the resources. */
  includes(audience: string): boolean {
    if (!audience.startsWith(`${this.#origin}/`)) return false;
    return this.find(audience.slice(this.#origin.length))?.id === audience;
  }

  /** Finds the resource of a request: its path, or the beginning of it, is the path of the resource. */
  find(target: string): { readonly id: string; readonly path: string } | undefined {
    const path = readPath(target);
    const segments = path ? segmentsOf(path).slice(0, this.#segments.length) : [];
    // Exactly as they are written: the resource of another spelling would be another one.
    const isSame = this.#segments.every((expected, index) => matches(segments[index], expected));
    const resourcePath = `/${segments.join("/")}`;
    return isSame ? { id: this.#origin + resourcePath, path: resourcePath } : undefined;
  }
}

/** Creates the template of an identifier; `undefined` if it has no parameters, or isn't a URL. */
export function createTemplate(id: unknown): ResourceTemplate | undefined {
  const url = orUndefined(() => new URL(String(id)));
  return url?.pathname.includes("/:") ? new ResourceTemplate(url.href) : undefined;
}

/** Returns whether the parameters are whole segments with different names, and nothing else is a pattern. */
export function isReadableTemplate(id: string): boolean {
  const url = orUndefined(() => new URL(id));
  if (!url?.pathname.includes("/:")) return true;
  const segments = url.pathname.slice(1).split("/");
  const parameters = segments.filter((segment) => segment.startsWith(":"));
  const isDistinct = new Set(parameters).size === parameters.length;
  return (
    isDistinct && url.search === "" && segments.every((each) => PARAMETER.test(each) || isCanonical(each))
  );
}

const matches = (segment: string | undefined, expected: string): boolean =>
  segment !== undefined && (PARAMETER.test(expected) ? isCanonical(segment) : segment === expected);

/** Returns whether a segment isn't empty, and has percent-encoding only where a URL needs it. */
function isCanonical(segment: string): boolean {
  const decoded = orUndefined(() => decodeURIComponent(segment));
  if (decoded === undefined || decoded === "" || segment.startsWith(":")) return false;
  return encodeURIComponent(decoded).replace(/%(?:24|26|2B|2C|3A|3D|40)/g, decodeURIComponent) === segment;
}
