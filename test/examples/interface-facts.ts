/**
 * The tables of the service's interface, written out once more: independent of the example service, which is
 * compared with them. Rows and the items within them are in listed order.
 */

export const readers: readonly (readonly [id: string, name: string, chunkers: readonly string[]])[] = [
  [
    "website",
    "WebsiteReader",
    ["AgenticChunker", "DocumentChunker", "RecursiveChunker", "SemanticChunker", "FixedSizeChunker"],
  ],
  [
    "crawler_service",
    "CrawlerServiceReader",
    ["SemanticChunker", "FixedSizeChunker", "AgenticChunker", "DocumentChunker", "RecursiveChunker"],
  ],
  [
    "video_site",
    "VideoSiteReader",
    ["RecursiveChunker", "AgenticChunker", "DocumentChunker", "SemanticChunker", "FixedSizeChunker"],
  ],
  [
    "web_search",
    "WebSearchReader",
    ["AgenticChunker", "DocumentChunker", "RecursiveChunker", "SemanticChunker", "FixedSizeChunker"],
  ],
  [
    "preprint_archive",
    "PreprintArchiveReader",
    ["FixedSizeChunker", "AgenticChunker", "DocumentChunker", "RecursiveChunker", "SemanticChunker"],
  ],
  [
    "csv",
    "CsvReader",
    ["RowChunker", "FixedSizeChunker", "AgenticChunker", "DocumentChunker", "RecursiveChunker"],
  ],
  [
    "docx",
    "DocxReader",
    ["DocumentChunker", "FixedSizeChunker", "SemanticChunker", "AgenticChunker", "RecursiveChunker"],
  ],
  [
    "cloud_storage",
    "CloudStorageReader",
    ["FixedSizeChunker", "AgenticChunker", "DocumentChunker", "RecursiveChunker", "SemanticChunker"],
  ],
  [
    "json",
    "JsonReader",
    ["FixedSizeChunker", "AgenticChunker", "DocumentChunker", "RecursiveChunker", "SemanticChunker"],
  ],
  [
    "markdown",
    "MarkdownReader",
    [
      "MarkdownChunker",
      "DocumentChunker",
      "AgenticChunker",
      "RecursiveChunker",
      "SemanticChunker",
      "FixedSizeChunker",
    ],
  ],
  [
    "pdf",
    "PdfReader",
    ["DocumentChunker", "FixedSizeChunker", "AgenticChunker", "SemanticChunker", "RecursiveChunker"],
  ],
  [
    "text",
    "TextReader",
    [
      "CodeChunker",
      "FixedSizeChunker",
      "AgenticChunker",
      "DocumentChunker",
      "RecursiveChunker",
      "SemanticChunker",
    ],
  ],
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
  "object_storage",
  "cloud_bucket",
  "document_site",
  "code_hosting",
];
