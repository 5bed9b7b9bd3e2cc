import js from "@eslint/js";
import * as regexp from "eslint-plugin-regexp";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  {
    ignores: [
      "dist/",
      "docs/api/",
      "site/{dist,cache}/",
      "coverage/",
      "reports/",
      "bench/.build/",
      "test/package/mistakes/",
    ],
  },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    // With a backtracking regular expression, one hostile request could block the process.
    plugins: { regexp },
    rules: { "regexp/no-super-linear-backtracking": "error", "regexp/no-super-linear-move": "error" },
  },
  {
    languageOptions: {
      parserOptions: {
        project: ["tsconfig.json", "src/tools/page/browser/tsconfig.json"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      // An import of types only must disappear from the build: otherwise it loads the file.
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/consistent-type-definitions": ["error", "interface"],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Allows destructuring that removes properties from an object.
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_" }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    // Node.js 20 can stop forever when it exports a key as JWK that it generated as an object.
    rules: {
      "no-restricted-imports": [
        "error",
        {
          paths: [
            {
              name: "node:crypto",
              importNames: ["generateKeyPair", "generateKeyPairSync"],
              message: "Use generateKey of src/tools/testing/test-key.ts, which imports the key from PEM.",
            },
            {
              name: "jose",
              importNames: ["generateKeyPair"],
              message: "Use generateKey of src/tools/testing/test-key.ts, which imports the key from PEM.",
            },
          ],
        },
      ],
    },
  },
  {
    // Each generates with `privateKeyEncoding`.
    files: [
      "src/tools/testing/test-key.ts",
      "examples/*/{authorization-server,development-issuer}.ts",
      "examples/browsers/server.mts",
      "bench/tokens.ts",
    ],
    rules: { "no-restricted-imports": "off" },
  },
  {
    // A child process that hangs must fail its test, instead of stopping the suite.
    files: ["test/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "CallExpression[callee.name=/^(spawn|spawnSync|fork|exec|execSync|execFile|execFileSync|execute)$/]:not(:has(Identifier[name=/^(LONG_)?CHILD_LIMIT$/]))",
          message: "Pass CHILD_LIMIT or LONG_CHILD_LIMIT of test/support/child-limit.ts.",
        },
      ],
    },
  },
  {
    files: ["examples/starters/nestjs/*.ts", "examples/complete/nestjs*.mts"],
    rules: { "@typescript-eslint/no-extraneous-class": ["error", { allowWithDecorator: true }] },
  },
  {
    // Readers set these variables. Upstash returns strings where its types say numbers. Listeners await only what never
    // rejects.
    files: ["examples/{browsers,complete,sockets,stores}/*.{ts,mts}"],
    rules: {
      "@typescript-eslint/no-misused-promises": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unnecessary-type-conversion": "off",
    },
  },
  { files: ["**/*.cts"], rules: { "@typescript-eslint/no-require-imports": "off" } },
  { files: ["**/*.{js,mjs}"], extends: [tseslint.configs.disableTypeChecked] },
  {
    files: ["examples/browsers/**/*.js"],
    languageOptions: {
      globals: {
        document: "readonly",
        fetch: "readonly",
        FormData: "readonly",
        indexedDB: "readonly",
        Request: "readonly",
        URL: "readonly",
        URLSearchParams: "readonly",
      },
    },
  },
  {
    files: ["examples/{mcp,starters}/**/*.mjs"],
    languageOptions: {
      globals: {
        AbortSignal: "readonly",
        Buffer: "readonly",
        console: "readonly",
        fetch: "readonly",
        performance: "readonly",
        process: "readonly",
        Response: "readonly",
        setInterval: "readonly",
        setTimeout: "readonly",
        URL: "readonly",
        URLSearchParams: "readonly",
      },
    },
  },
);
