import { replayDecisions } from "../../decision-log/replay.ts";
import { createResourceServer } from "../../../core/server.ts";
import { type Command, UsageError } from "../command.ts";
import { quote } from "../arguments.ts";
import { readText } from "../files.ts";
import { readConfiguration, withoutKeys } from "../policy.ts";

export const replay: Command = {
  name: "replay",
  summary: "Decide the requests of a decision log again with another table, and show what would change.",
  words: ["FILE"],
  options: {
    table: { value: "FILE", text: "the configuration to try, or its scope mappings alone" },
    partial: { text: "ignore decisions that can't be repeated, unless none can" },
  },
  examples: [["decisions.ndjson --table new.json", "Reads the lines that decisionLog has written."]],
  async run(input) {
    const [table, file = ""] = [input.text("table"), ...input.words];
    const [server, lines] = await input.all(
      () => {
        if (table === undefined) throw new UsageError("replay needs a table: write --table new.json.");
        return readConfiguration(table, (options) => createResourceServer(withoutKeys(options)));
      },
      () => readText(file).split("\n").filter(Boolean),
    );
    const { text, ...data } = await replayDecisions(lines, server);
    if (data.total === 0 && data.dropped === 0)
      throw new UsageError(`${quote(file)} contains no decision: pass the lines that decisionLog wrote.`);
    // A pipeline must not succeed because nothing could be compared.
    const isCompared = input.has("partial") ? data.undecidable < data.total : data.undecidable === 0;
    const isFinding = data.changed.length > 0 || data.broken > 0 || data.total === 0 || !isCompared;
    return { isFinding, data, text };
  },
};
