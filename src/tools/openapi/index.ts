export type { DocumentOptions, OpenApiDocument } from "./document.ts";
export {
  checkDocument,
  type DocumentFinding,
  type DocumentReport,
  fromDocument,
  type FromDocumentOptions,
} from "./read-document.ts";
export { parseDocument, renderDocument } from "./text.ts";
export { toSecurity } from "./to-security.ts";
