/**
 * The tables of the service's interface, written out once more: independent of the example service, which is
 * compared with them. Rows and the items within them are in listed order.
 */

const reader = (id: string, name: string, chunkers: string) =>
  [id, name, chunkers.split(" ").map((kind) => `${kind}Chunker`)] as const;

export const readers = [
  reader("website", "WebsiteReader", "Agentic Document Recursive Semantic FixedSize"),
  reader("crawler_service", "CrawlerServiceReader", "Semantic FixedSize Agentic Document Recursive"),
  reader("video_site", "VideoSiteReader", "Recursive Agentic Document Semantic FixedSize"),
  reader("web_search", "WebSearchReader", "Agentic Document Recursive Semantic FixedSize"),
  reader("preprint_archive", "PreprintArchiveReader", "FixedSize Agentic Document Recursive Semantic"),
  reader("csv", "CsvReader", "Row FixedSize Agentic Document Recursive"),
  reader("docx", "DocxReader", "Document FixedSize Semantic Agentic Recursive"),
  reader("cloud_storage", "CloudStorageReader", "FixedSize Agentic Document Recursive Semantic"),
  reader("json", "JsonReader", "FixedSize Agentic Document Recursive Semantic"),
  reader("markdown", "MarkdownReader", "Markdown Document Agentic Recursive Semantic FixedSize"),
  reader("pdf", "PdfReader", "Document FixedSize Agentic Semantic Recursive"),
  reader("text", "TextReader", "Code FixedSize Agentic Document Recursive Semantic"),
];

export const readersForType: readonly (readonly [key: string, readerIds: readonly string[]])[] = [
  ["url", ["url", "website", "crawler_service", "video_site", "web_search", "cloud_storage"]],
  ["video_site", ["video_site"]],
  ["text", ["web_search"]],
  ["topic", ["preprint_archive"]],
  ["file", ["csv", "cloud_storage"]],
  [".csv", ["csv", "field_labeled_csv"]],
  [".xlsx", ["spreadsheet"]],
  [".xls", ["spreadsheet"]],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ["spreadsheet"]],
  ["application/vnd.ms-excel", ["spreadsheet"]],
  [".docx", ["docx"]],
  [".doc", ["docx"]],
  [".json", ["json"]],
  [".md", ["markdown"]],
  [".pdf", ["pdf"]],
  [".txt", ["text"]],
];

export const chunkers: readonly (readonly [key: string, metadata: Readonly<Record<string, number>>])[] = [
  ["AgenticChunker", { chunk_size: 5000 }],
  ["CodeChunker", { chunk_size: 2048 }],
  ["DocumentChunker", { chunk_size: 5000, chunk_overlap: 0 }],
  ["FixedSizeChunker", { chunk_size: 5000, chunk_overlap: 0 }],
  ["MarkdownChunker", { chunk_size: 5000, chunk_overlap: 0 }],
  ["RecursiveChunker", { chunk_size: 5000, chunk_overlap: 0 }],
  ["RowChunker", {}],
  ["SemanticChunker", { chunk_size: 5000 }],
];

export const searchTypes: readonly string[] = ["vector", "keyword", "hybrid"];

/** Object storage, cloud bucket, document-sharing site, code hosting. */
export const remoteSourceKinds: readonly string[] = [
  ...["object_storage", "cloud_bucket", "document_site", "code_hosting"],
];
