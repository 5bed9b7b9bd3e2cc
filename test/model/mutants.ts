/** For each sentence of the specification, a change of the library that ignores it. */

export interface Mutant {
  /** The sentence that the library ignores. */
  readonly sentence: string;
  /** A file in `src/core`, and the text in it that is replaced. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    sentence: "`agents:*:read` covers every id.",
    file: "scopes/scope.ts",
    text: 'return structure?.id === "*" ?',
    replacement: 'return structure?.id === "**" ?',
  },
  {
    sentence: "`agents:read` covers `agents:web:read`.",
    file: "scopes/scope.ts",
    text: '{ text: `${resource}:${id}:${action}`, by: "exact" }, wider]',
    replacement: '{ text: `${resource}:${id}:${action}`, by: "exact" }]',
  },
  {
    sentence: "`agents:web:read` does not cover `agents:read`.",
    file: "scopes/scope.ts",
    text: 'if (id === undefined) return [{ text: whole, by: "exact" }];',
    replacement:
      'if (id === undefined)\n    return [{ text: whole, by: "exact" }, { text: `${resource}:web:${action}`, by: "exact" }];',
  },
  {
    sentence: "Scopes are compared with their letter case.",
    file: "scopes/granted-scopes.ts",
    text: "covering.some((each) => this.#grants.has(this.#grantFor(each)))",
    replacement:
      'covering.some((each) => this.#grants.has(this.#grantFor(each)) || this.#grants.has(each.text.replace("agents", "Agents")))',
  },
  {
    sentence: "A URI is not divided into parts.",
    file: "scopes/scope.ts",
    text: 'scope.startsWith("urn:") || scope.includes("://")',
    replacement: "false",
  },
  {
    sentence: "`agents:web:read` covers `agents:<any>:read`.",
    file: "scopes/granted-scopes.ts",
    text: 'const [[someId] = [""]] = this.#withIds(resource, action);',
    replacement: "const someId = `${resource}${action}`;",
  },
  {
    sentence: "`agents:<any>:read` does not imply `agents:read`.",
    file: "policy/implication.ts",
    text: "isForSomeIds(scope) ?",
    replacement: "isForSomeIds(scope) && scope.text === '' ?",
  },
  {
    sentence: "A scope with an empty part grants nothing.",
    file: "scopes/granted-scopes.ts",
    text: "if (!isScope(scope)) return;",
    replacement: "",
  },
  {
    sentence: "A scope of four parts has no id.",
    file: "scopes/scope.ts",
    text: "parts.length > 3) return undefined;",
    replacement: "parts.length > 4) return undefined;",
  },
  {
    sentence: "An id cannot add parts to a scope.",
    file: "scopes/scope.ts",
    text: 'if (id === "*" || id.includes(":")) return [wider];',
    replacement:
      'if (id === "*") return [wider, { text: `${resource}:web:${action}`, by: "exact" }];\n  if (id.includes(":")) return [{ text: `${resource}:${id.split(":")[0]}:${action}`, by: "exact" }, wider];',
  },
  {
    sentence: "The id is decoded as the handler sees it.",
    file: "policy/segment.ts",
    text: 'segment.includes("%") ? (orUndefined(() => decodeURIComponent(segment)) ?? segment) : segment;\n\n/** Folds',
    replacement: "segment;\n\n/** Folds",
  },
  {
    sentence: "All scopes of a requirement are needed.",
    file: "policy/satisfaction.ts",
    text: "return requirement.scopes.every(isGranted);",
    replacement: "return requirement.scopes.some(isGranted);",
  },
  {
    sentence: "Every rule must be satisfied.",
    file: "policy/decision.ts",
    text: "if (failures.length === 0)",
    replacement: "if (failures.length < results.length)",
  },
  {
    sentence: "A caller without a token satisfies only public and optional rules.",
    file: "policy/policy.ts",
    text: "matches.every(({ compiled }) => kinds.includes(compiled.requirement.kind))",
    replacement: "matches.some(({ compiled }) => kinds.includes(compiled.requirement.kind))",
  },
  {
    sentence: "A dot segment is refused.",
    file: "request.ts",
    text: "(?!\\.\\.?(?:\\/|$))",
    replacement: "(?!\\.\\.\\.(?:\\/|$))",
  },
  {
    sentence: "An encoded dot segment is refused.",
    file: "request.ts",
    text: "(?:\\.|%2e){1,2}",
    replacement: "(?:\\.){1,2}",
  },
  {
    sentence: "An encoded slash is refused.",
    file: "request.ts",
    text: "%(?:2[\\da-e]|",
    replacement: "%(?:2[\\da-f]|",
  },
  {
    sentence: "An encoded backslash is refused.",
    file: "request.ts",
    text: "5[\\dabd-f]",
    replacement: "5[\\da-f]",
  },
  {
    sentence: "An encoded control character is refused.",
    file: "request.ts",
    text: "|[346][\\da-f]|",
    replacement: "|[01346][\\da-f]|",
  },
  {
    sentence: "A semicolon is refused.",
    file: "request.ts",
    text: "[\\w\\-.~!$&'()*+,=:@\"<>[\\]^`{|}]|%",
    replacement: "[\\w\\-.~!$&'()*+,;=:@\"<>[\\]^`{|}]|%",
  },
  {
    sentence: "Invalid percent-encoding is refused.",
    file: "request.ts",
    text: " && orUndefined(() => decodeURIComponent(text)) !== undefined",
    replacement: "",
  },
  {
    sentence: "An empty segment is refused.",
    file: "request.ts",
    text: "|[89a-f][\\da-f]))+)+\\/?$/i",
    replacement: "|[89a-f][\\da-f]))+)+\\/*$/i",
  },
  {
    sentence: "A target begins with a slash.",
    file: "request.ts",
    text: 'if (target.startsWith("/")) return target;',
    replacement: 'if (!target.includes("://")) return target.startsWith("/") ? target : `/${target}`;',
  },
  {
    sentence: "Text is narrower than a parameter.",
    file: "policy/find-rules.ts",
    text: "(hasTexts ? findLeafByText(node, start, end, walk) : undefined) ??\n    (node.parameter && findLeaf(node.parameter, end + 1, walk)) ??",
    replacement:
      "(node.parameter && findLeaf(node.parameter, end + 1, walk)) ??\n    (hasTexts ? findLeafByText(node, start, end, walk) : undefined) ??",
  },
  {
    sentence: "A parameter is narrower than a wildcard.",
    file: "policy/find-rules.ts",
    text: "(node.parameter && findLeaf(node.parameter, end + 1, walk)) ??\n    (node.wildcard && leafFor(node.wildcard, walk.method))",
    replacement:
      "(node.wildcard && leafFor(node.wildcard, walk.method)) ??\n    (node.parameter && findLeaf(node.parameter, end + 1, walk))",
  },
  {
    sentence: "A parameter with a text behind it is wider than text and narrower than a parameter.",
    file: "policy/find-rules.ts",
    text: "for (const ending of endingsOf(node, segment)) {",
    replacement: "for (const ending of node.parameter ? [] : endingsOf(node, segment)) {",
  },
  {
    sentence: "A wildcard matches at least one segment.",
    file: "policy/find-rules.ts",
    text: "if (start > path.end) return leafFor(node, walk.method);",
    replacement:
      "if (start > path.end) return leafFor(node, walk.method) ?? (node.wildcard && leafFor(node.wildcard, walk.method));",
  },
  {
    sentence: "Of two texts behind a parameter, the longer one is narrower.",
    file: "policy/rule-tree.ts",
    text: ".sort((a, b) => b - a);",
    replacement: ".sort((a, b) => a - b);",
  },
  {
    sentence: "The exact method comes before `*`.",
    file: "policy/rule-tree.ts",
    text: 'leaves.get(method) ?? (method === "HEAD" ? leaves.get("GET") : undefined) ?? leaves.get("*");',
    replacement:
      'leaves.get("*") ?? leaves.get(method) ?? (method === "HEAD" ? leaves.get("GET") : undefined);',
  },
  {
    sentence: "HEAD uses the rule for GET.",
    file: "policy/rule-tree.ts",
    text: 'leaves.get(method) ?? (method === "HEAD" ? leaves.get("GET") : undefined) ?? leaves.get("*");',
    replacement: 'leaves.get(method) ?? leaves.get("*");',
  },
  {
    sentence: "A pattern with a group also matches without it.",
    file: "policy/parse-pattern.ts",
    text: "[...expandGroups(token.tokens), []]",
    replacement: "[...expandGroups(token.tokens)]",
  },
  {
    sentence: "Two keys for one route are an error.",
    file: "policy/compile-rules.ts",
    text: "report(describeDuplicate(rule, duplicate));",
    replacement: "",
  },
  {
    sentence: "One text spelled in two ways at one place is an error.",
    file: "policy/compile-rules.ts",
    text: "if (!conflict) continue;",
    replacement: "if (conflict || !conflict) continue;",
  },
  {
    sentence: "`/docs{/*path}` may stand beside `/docs` if both require the same.",
    file: "policy/compile-rules.ts",
    text: "const duplicate = sameRoutes.find((earlier) => !isRepetition(rule, earlier));",
    replacement: "const duplicate = sameRoutes[0];",
  },
  {
    sentence: "Rules whose paths cross do not start.",
    file: "policy/rule-order.ts",
    text: "const isInside = covers(other.segments, deciding.segments);",
    replacement: "const isInside = true;",
  },
  {
    sentence: "A rule with the wider method on the narrower path does not decide.",
    file: "policy/rule-order.ts",
    text: "methodRank(deciding.compiled, method) <= methodRank(other.compiled, method)",
    replacement: "methodRank(deciding.compiled, method) <= 2",
  },
  {
    sentence: "Rules of which one implies the other may cross.",
    file: "policy/rule-order.ts",
    text: "isDecidedByThird || implies(deciding, other, { method, segments }, table)",
    replacement: "isDecidedByThird",
  },
  {
    sentence: "A public rule does not imply an optional one.",
    file: "policy/implication.ts",
    text: 'if (decidingRequirement.kind === "public") return false;',
    replacement: 'if (decidingRequirement.kind === "public") return otherRequirement.kind === "optional";',
  },
  {
    sentence: "A HEAD rule implies the rule of GET.",
    file: "policy/rule-order.ts",
    text: "if (headIssue) yield headIssue;",
    replacement: "",
  },
  {
    sentence: "Only a wildcard covers a wildcard.",
    file: "policy/overlap.ts",
    text: 'if (narrow.kind === "wildcard") return wide.kind === "wildcard";',
    replacement: "",
  },
  {
    sentence: "An exact path spells each text as the table does.",
    file: "policy/find-rules.ts",
    text: "if (edge.text !== exact) walk.isSpelled = false;",
    replacement: "",
  },
  {
    sentence: "An exact path spells text beside a parameter as the table does.",
    file: "policy/find-rules.ts",
    text: 'if (spelling !== "exact") walk.isSpelled = false;',
    replacement: "",
  },
  {
    sentence: "An exact path has no slash of its own.",
    file: "policy/find-rules.ts",
    text: "isExact: isSpelled && (!leaf || endsAsWritten(leaf, path))",
    replacement: "isExact: isSpelled",
  },
  {
    sentence: "Without a slash, a path that reaches one rule is exact.",
    file: "policy/table.ts",
    text: "if (isSpelled && leaves.size === 1 && !hasTrailingSlash(path))",
    replacement: "if (isSpelled && leaves.size === 0)",
  },
  {
    sentence: "Any other path must satisfy all rules that a reading reaches.",
    file: "policy/table.ts",
    text: "for (const leaf of leaves) matches.push(...matchesOf(leaf, path));",
    replacement: "matches.push(...matchesOf(narrowest, path));",
  },
  {
    sentence: "Letter case is folded with both steps.",
    file: "policy/segment.ts",
    text: "text.toUpperCase().toLowerCase()",
    replacement: "text.toLowerCase()",
  },
  {
    sentence: "A router may decode a text.",
    file: "policy/segment.ts",
    text: 'this.exact.includes("%") ? loosen(this.exact) : this.case',
    replacement: "this.case",
  },
  {
    sentence: "A router may decode a text twice.",
    file: "policy/segment.ts",
    text: "foldCase(decodeSegment(decodeSegment(segment)))",
    replacement: "foldCase(decodeSegment(segment))",
  },
  {
    sentence: "A router may accept another spelling of a text, or not.",
    file: "policy/find-rules.ts",
    text: 'if ((isCertain && spelling === "exact") || walk.leaves.size > MAX_RULES) return true;',
    replacement: "if (isCertain || walk.leaves.size > MAX_RULES) return true;",
  },
  {
    sentence: "A reading counts with the slash at the end.",
    file: "policy/find-rules.ts",
    text: "walk.isStrict = true;\n  collectAt(tree.root, 1, walk, false);",
    replacement: "",
  },
  {
    sentence: "A reading counts without the slash at the end.",
    file: "policy/find-rules.ts",
    text: "isStrict: false,",
    replacement: "isStrict: true,",
  },
  {
    sentence: "A wildcard also matches the slash at the end.",
    file: "policy/find-rules.ts",
    text: "leaf.endsInWildcard || endsAsWritten(leaf, path)",
    replacement: "endsAsWritten(leaf, path)",
  },
  {
    sentence: "A reading that decodes never maps a path.",
    file: "policy/table.ts",
    text: 'if (!isMapped) return ambiguous("The path matches a rule only after it is decoded.");',
    replacement: "",
  },
  {
    sentence: "A reading that decodes adds rules.",
    file: "policy/find-rules.ts",
    text: "if (!spelling) continue;\n    const isCertain",
    replacement: 'if (!spelling || spelling === "decoded") continue;\n    const isCertain',
  },
  {
    sentence: "A misspelled path of public and optional rules is refused.",
    file: "policy/table.ts",
    text: "if (!isSpelled && matches.every(({ compiled }) => isOpen(compiled)))",
    replacement: "if (!isSpelled && matches.length === 0)",
  },
  {
    sentence: "Where no route is checked, an inexact path is refused.",
    file: "policy/table.ts",
    text: 'if (isRouteChecked || governing.kind === "ambiguous" || governing.isExact) return governing;',
    replacement: "if (governing.kind !== undefined) return governing;",
  },
  {
    sentence: "The rule that covers the matched route must be satisfied.",
    file: "policy/table.ts",
    text: "const rules = this.#addRouteRules(pathRules, method, matchedRoutes);",
    replacement: "const rules = pathRules;",
  },
  {
    sentence: "The rule of a route covers the whole route.",
    file: "policy/find-rules.ts",
    text: 'if (segment.kind === "wildcard") return;',
    replacement: "",
  },
  {
    sentence: "The narrowest rule that covers a route counts.",
    file: "policy/find-rules.ts",
    text: "if (isCovered && index >= mountLength) return true;",
    replacement: "",
  },
  {
    sentence: "A route that no rule covers is refused for an inexact path.",
    file: "policy/table.ts",
    text: "if (isUncovered && !isExact)",
    replacement: "if (isUncovered && !path)",
  },
  {
    sentence: "A path that does not fit the matched route is refused.",
    file: "policy/table.ts",
    text: "unreadable.length < patterns.length && matchedRoutes.length === 0",
    replacement: "unreadable.length < patterns.length && matchedRoutes.length < 0",
  },
  {
    sentence: "After a slash, a parameter or wildcard may be empty.",
    file: "policy/route-comparison.ts",
    text: 'if (path.text.endsWith("/") && path.end < path.text.length)',
    replacement: "if (path.end > path.text.length)",
  },
  {
    sentence: "With an empty value, a path may reach further rules.",
    file: "policy/table.ts",
    text: "pathAsRead === path ? [] : collectReadings(this.#tree, method, pathAsRead).leaves",
    replacement: "[]",
  },
  {
    sentence: "An empty value may be one of a wildcard only.",
    file: "policy/find-rules.ts",
    text: "&& end > start) return true",
    replacement: ") return true",
  },
  {
    sentence: "What is unmapped stays unmapped.",
    file: "policy/table.ts",
    text: '{ kind: "unmapped", matches: NONE, restrictions: UNRESTRICTED, isExact: true, path }',
    replacement: '{ kind: "rules", matches: NONE, restrictions: UNRESTRICTED, isExact: true, path }',
  },
];
