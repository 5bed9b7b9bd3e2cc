import { describe, expect, it } from "vitest";
import {
  describeKnowledge,
  loadKnowledge,
  parseKnowledge,
} from "../../examples/knowledge-service/knowledge.ts";
import { isProblem } from "../../examples/knowledge-service/problem.ts";
import * as facts from "./interface-facts.ts";

const knowledge = loadKnowledge();

const ask = (query: string) => describeKnowledge(knowledge, new URLSearchParams(query));

function describeBase(query: string) {
  const answer = ask(query);
  if (isProblem(answer)) throw new Error(answer.detail);
  return answer;
}

describe("the knowledge configuration", () => {
  const { readers, readersForType, chunkers, ...rest } = describeBase("");

  it("returns the six fields of the interface", () => {
    expect(Object.keys(rest)).toEqual(["vector_dbs", "filters", "remote_content_sources"]);
  });

  it("lists every reader of the interface, in order", () => {
    expect(Object.entries(readers)).toEqual(
      facts.readers.map(([id, name, chunkers]) => [
        id,
        { id, name, description: `Reads ${id} files`, chunkers },
      ]),
    );
  });

  it("lists the readers for every type of the interface, in order", () => {
    expect(Object.entries(readersForType)).toEqual(facts.readersForType);
  });

  it("lists every chunker of the interface, in order, with exactly its metadata", () => {
    expect(Object.entries(chunkers)).toEqual(
      facts.chunkers.map(([key, metadata]) => [
        key,
        { key, name: key, description: expect.stringMatching(/\w/) as string, metadata },
      ]),
    );
    expect(Object.values(chunkers).map(({ metadata }) => JSON.stringify(metadata))).toEqual(
      facts.chunkers.map(([, metadata]) => JSON.stringify(metadata)),
    );
  });

  it("lists only existing chunkers for each reader", () => {
    const named = Object.values(readers).flatMap((reader) => reader.chunkers);
    expect(Object.keys(chunkers)).toEqual(expect.arrayContaining(named));
  });
});

describe.each(knowledge.knowledgeBases)("the knowledge base $knowledge_id of $db_id", (base) => {
  it("describes its vector databases in the shape of the interface", () => {
    expect(base.vector_dbs).not.toHaveLength(0);
    for (const vectorDb of base.vector_dbs) {
      expect(Object.keys(vectorDb)).toEqual(["id", "name", "description", "search_types"]);
      expect(facts.searchTypes).toEqual(expect.arrayContaining(vectorDb.search_types));
    }
  });

  it("uses the id of each remote content source as its key, and only kinds of the interface", () => {
    for (const [id, source] of Object.entries(base.remote_content_sources)) {
      expect(Object.keys(source)).toEqual(["id", "name", "type", "metadata"]);
      expect(source.id).toBe(id);
      expect(facts.remoteSourceKinds).toContain(source.type);
    }
  });
});

describe("the selection of a knowledge base", () => {
  const currentHandbook = ["policy", "onboarding", "benefits"];

  it.each([
    ["no parameter with the default", "", currentHandbook],
    ["an unrelated parameter with the default", "page=2", currentHandbook],
    ["a database with one knowledge base", "db_id=archive", ["policy", "superseded"]],
    ["a knowledge base in one database", "knowledge_id=research", ["preprint", "reviewed", "dataset"]],
    ["both parameters of the default", "db_id=primary&knowledge_id=handbook", currentHandbook],
    [
      "both parameters, with a shared knowledge_id",
      "db_id=archive&knowledge_id=handbook",
      ["policy", "superseded"],
    ],
  ])("responds to %s", (_, query, filters) => {
    expect(describeBase(query).filters).toEqual(filters);
  });

  it("includes all four kinds of remote content source in the default", () => {
    const kinds = Object.values(describeBase("").remote_content_sources).map(({ type }) => type);
    expect(kinds.sort()).toEqual([...facts.remoteSourceKinds].sort());
  });

  it.each([
    ["db_id=primary", ["primary", "handbook"], ["primary", "research"]],
    ["knowledge_id=handbook", ["primary", "handbook"], ["archive", "handbook"]],
  ])("returns 400 and the candidates for the ambiguous %s", (query, ...pairs) => {
    const answer = ask(query);
    expect(answer).toMatchObject({
      type: "about:blank",
      title: "Bad Request",
      status: 400,
      candidates: pairs.map(([db_id, knowledge_id]) => ({ db_id, knowledge_id })),
    });
    for (const [db_id = "", knowledge_id = ""] of pairs) {
      expect(answer).toHaveProperty(
        "detail",
        expect.stringContaining(`${knowledge_id} in database ${db_id}`),
      );
    }
  });

  it.each([
    ["an unknown database", "db_id=elsewhere", "db_id"],
    ["an unknown knowledge base", "knowledge_id=elsewhere", "knowledge_id"],
    ["an id in other letter case", "db_id=Archive", "db_id"],
    ["an id of the object prototype", "knowledge_id=constructor", "knowledge_id"],
    ["a knowledge_id of another database", "db_id=archive&knowledge_id=research", "knowledge_id"],
    ["a known database with an unknown knowledge base", "db_id=archive&knowledge_id=x", "knowledge_id"],
  ])("returns 404 for %s", (_, query, parameter) => {
    expect(ask(query)).toEqual({
      type: "about:blank",
      title: "Not Found",
      status: 404,
      detail: expect.stringContaining(parameter) as string,
    });
  });

  it.each([
    ["an empty db_id", "db_id=", "db_id is empty"],
    ["a knowledge_id without a value", "db_id=archive&knowledge_id", "knowledge_id is empty"],
    ["a repeated db_id", "db_id=archive&db_id=primary", "db_id occurs more than once"],
    [
      "a knowledge_id repeated with one value",
      "knowledge_id=research&knowledge_id=research",
      "knowledge_id occurs",
    ],
  ])("returns 400 for %s", (_, query, words) => {
    expect(ask(query)).toMatchObject({ status: 400, detail: expect.stringContaining(words) as string });
  });
});

describe("parseKnowledge", () => {
  const source = { id: "s", name: "S", type: "object_storage", metadata: {} };
  const vectorDb = { id: "v", name: "V", description: "", search_types: ["vector"] };
  const base = { id: "a", default: true, vector_dbs: [vectorDb], filters: [], remote_content_sources: {} };
  const file = (...knowledge_bases: object[]) => ({ databases: [{ id: "d", knowledge_bases }] });

  it("returns the knowledge base that is marked as the default", () => {
    expect(parseKnowledge(file(base)).default).toMatchObject({ db_id: "d", knowledge_id: "a" });
  });

  it.each([
    ["no default", file({ ...base, default: false }), "exactly one"],
    ["two defaults", file(base, { ...base, id: "b" }), "exactly one"],
    ["a duplicate id in a database", file(base, { ...base, default: false }), "share an id"],
    ["a duplicate database", { databases: [...file(base).databases, ...file().databases] }, "share an id"],
    ["an empty id", file({ ...base, id: "" }), "knowledge_bases[0].id"],
    ["an unknown field", file({ ...base, filter: [] }), '"filter"'],
    [
      "an unknown search type",
      file({ ...base, vector_dbs: [{ ...vectorDb, search_types: ["fuzzy"] }] }),
      "search_types",
    ],
    [
      "an unknown kind of source",
      file({ ...base, remote_content_sources: { s: { ...source, type: "tape" } } }),
      "remote_content_sources.s.type",
    ],
    ["a source under another id", file({ ...base, remote_content_sources: { t: source } }), "must be its id"],
  ])("rejects %s and reports its path", (_, json, words) => {
    expect(() => parseKnowledge(json)).toThrow(words);
  });
});
