/** The condition language: what a table does with the conditions of its rules. */
import type { ConditionLanguage } from "../../core/policy/condition-language.ts";
import { collectConditioned } from "./conditioned-rules.ts";
import { compileConditions } from "./conditions.ts";

/** The policy page uses it without the option, because the code that checks options isn't for browsers. */
export const CONDITION_LANGUAGE: ConditionLanguage = Object.freeze({
  compile: compileConditions,
  collect: collectConditioned,
});
