/** A way to split content into chunks. `metadata` contains its default parameters. */
export interface Chunker {
  readonly key: ChunkerKey;
  readonly name: string;
  readonly description: string;
  readonly metadata: { readonly chunk_size?: number; readonly chunk_overlap?: number };
}

/** A reader of content, with the chunkers that it supports, in a fixed order. */
export interface Reader {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly chunkers: readonly ChunkerKey[];
}

type Strategy = keyof typeof STRATEGIES;
export type ChunkerKey = `${Strategy}Chunker`;

const STRATEGIES = {
  Agentic: ["Uses an LLM to find natural breakpoints", { chunk_size: 5000 }],
  Code: ["Splits code by structure using abstract syntax trees", { chunk_size: 2048 }],
  Document: [
    "Splits by document structure such as paragraphs and sections",
    { chunk_size: 5000, chunk_overlap: 0 },
  ],
  FixedSize: ["Fixed-size chunks with optional overlap", { chunk_size: 5000, chunk_overlap: 0 }],
  Markdown: ["Splits markdown by headers, paragraphs and sections", { chunk_size: 5000, chunk_overlap: 0 }],
  Recursive: ["Recursively splits at natural break points", { chunk_size: 5000, chunk_overlap: 0 }],
  Row: ["Row-based chunking", {}],
  Semantic: ["Splits into semantic chunks using a chunking library", { chunk_size: 5000 }],
} as const satisfies Record<string, readonly [description: string, Chunker["metadata"]]>;

const READERS: Readonly<Record<string, readonly Strategy[]>> = {
  website: ["Agentic", "Document", "Recursive", "Semantic", "FixedSize"],
  crawler_service: ["Semantic", "FixedSize", "Agentic", "Document", "Recursive"],
  video_site: ["Recursive", "Agentic", "Document", "Semantic", "FixedSize"],
  web_search: ["Agentic", "Document", "Recursive", "Semantic", "FixedSize"],
  preprint_archive: ["FixedSize", "Agentic", "Document", "Recursive", "Semantic"],
  csv: ["Row", "FixedSize", "Agentic", "Document", "Recursive"],
  docx: ["Document", "FixedSize", "Semantic", "Agentic", "Recursive"],
  cloud_storage: ["FixedSize", "Agentic", "Document", "Recursive", "Semantic"],
  json: ["FixedSize", "Agentic", "Document", "Recursive", "Semantic"],
  markdown: ["Markdown", "Document", "Agentic", "Recursive", "Semantic", "FixedSize"],
  pdf: ["Document", "FixedSize", "Agentic", "Semantic", "Recursive"],
  text: ["Code", "FixedSize", "Agentic", "Document", "Recursive", "Semantic"],
};

/**
 * By kind of content, file extension or MIME type. `url`, `field_labeled_csv` and `spreadsheet` are not in
 * `READERS`.
 */
const READERS_FOR_TYPE: Readonly<Record<string, readonly string[]>> = {
  url: ["url", "website", "crawler_service", "video_site", "web_search", "cloud_storage"],
  video_site: ["video_site"],
  text: ["web_search"],
  topic: ["preprint_archive"],
  file: ["csv", "cloud_storage"],
  ".csv": ["csv", "field_labeled_csv"],
  ".xlsx": ["spreadsheet"],
  ".xls": ["spreadsheet"],
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ["spreadsheet"],
  "application/vnd.ms-excel": ["spreadsheet"],
  ".docx": ["docx"],
  ".doc": ["docx"],
  ".json": ["json"],
  ".md": ["markdown"],
  ".pdf": ["pdf"],
  ".txt": ["text"],
};

const chunkerKey = (strategy: Strategy): ChunkerKey => `${strategy}Chunker`;

function createReader(id: string, strategies: readonly Strategy[]): Reader {
  const words = id.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return {
    id,
    name: `${words.join("")}Reader`,
    description: `Reads ${id} files`,
    chunkers: strategies.map(chunkerKey),
  };
}

function createChunker(strategy: Strategy): Chunker {
  const key = chunkerKey(strategy);
  const [description, metadata] = STRATEGIES[strategy];
  return { key, name: key, description, metadata };
}

/**
 * The readers and chunkers of every knowledge base, which are the fixed part of the knowledge configuration.
 */
export const catalogue = {
  readers: Object.fromEntries(
    Object.entries(READERS).map(([id, strategies]) => [id, createReader(id, strategies)]),
  ),
  readersForType: READERS_FOR_TYPE,
  chunkers: Object.fromEntries(
    (Object.keys(STRATEGIES) as Strategy[]).map(createChunker).map((chunker) => [chunker.key, chunker]),
  ),
};
