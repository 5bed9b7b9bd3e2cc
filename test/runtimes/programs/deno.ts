import { handle } from "./application.ts";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen: (address: { readonly port: number }) => void },
    handler: typeof handle,
  ): unknown;
};

const onListen = ({ port }: { readonly port: number }) => console.log(JSON.stringify({ port }));
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, handle);
