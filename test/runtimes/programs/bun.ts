import { handle } from "./application.ts";

declare const Bun: {
  serve(options: { hostname: string; port: number; fetch: typeof handle }): { readonly port: number };
};

console.log(JSON.stringify({ port: Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: handle }).port }));
