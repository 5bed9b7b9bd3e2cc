/** nginx, HAProxy and Caddy as processes of their own, with the configurations that a test writes. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LONG_CHILD_LIMIT } from "./child-limit.ts";
import { reportMissing } from "./missing.ts";
import type { Listening } from "./tls-hosts.ts";
import type { Certificates } from "./x509.ts";

export type ProxyName = "nginx" | "HAProxy" | "Caddy";

interface Program {
  readonly file: string;
  readonly versionArgument: string;
  /** The whole configuration around the part that a page shows. */
  readonly wrap: (configuration: string, folder: string) => string;
  readonly argumentsFor: (file: string, folder: string) => readonly string[];
}

/** As root, nginx gives up its rights, and could then not enter the folder of the test. */
const NGINX_USER = process.getuid?.() === 0 ? "user root;\n" : "";

const NGINX_FOLDERS = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

const PROGRAMS: Readonly<Record<ProxyName, Program>> = {
  nginx: {
    file: "nginx",
    versionArgument: "-v",
    wrap: (configuration, folder) =>
      [
        `${NGINX_USER}daemon off;\nworker_processes 1;\npid ${folder}/nginx.pid;\nerror_log stderr;`,
        "events { worker_connections 512; }\nhttp {\naccess_log off;",
        ...NGINX_FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};`),
        `${configuration}}\n`,
      ].join("\n"),
    argumentsFor: (file, folder) => ["-e", "stderr", "-p", folder, "-c", file],
  },
  HAProxy: {
    file: "haproxy",
    versionArgument: "-v",
    wrap: (configuration) => configuration,
    argumentsFor: (file) => ["-db", "-f", file],
  },
  Caddy: {
    file: "caddy",
    versionArgument: "version",
    wrap: (configuration) => `{\n  admin off\n  auto_https off\n}\n${configuration}`,
    argumentsFor: (file) => ["run", "--config", file, "--adapter", "caddyfile"],
  },
};

/** The proxies, and which of them this machine has. */
export const PROXIES = (Object.keys(PROGRAMS) as ProxyName[]).map((name) => {
  const { file, versionArgument } = PROGRAMS[name];
  const isInstalled = spawnSync(file, [versionArgument], LONG_CHILD_LIMIT).status === 0;
  if (!isInstalled) reportMissing(`the tests with ${name}`, `${file} isn't installed`);
  return { name, isInstalled };
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Where a configuration of a page has its files. */
const PAGE_FOLDER = "/etc/api.example";

/** Replaces a text that the configuration contains once. */
export function replaceOnce(text: string, search: string, replacement: string): string {
  if (text.split(search).length !== 2)
    throw new Error(`${search} is not in the configuration once:\n${text}`);
  return text.replace(search, () => replacement);
}

export interface ProxySetup {
  readonly name: ProxyName;
  /** Has its files in `/etc/api.example`. Is written for each try, because the port may be taken. */
  readonly configuration: (port: number) => string;
  readonly certificates: Certificates;
}

/** Starts a proxy in the foreground, and waits until it listens. */
export async function startProxy({ name, configuration, certificates }: ProxySetup): Promise<Listening> {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-proxy-"));
  const { server, authority } = certificates;
  writeFileSync(join(folder, "server.pem"), server.pem);
  writeFileSync(join(folder, "server.key"), server.keyPem, { mode: 0o600 });
  writeFileSync(join(folder, "both.pem"), server.pem + server.keyPem, { mode: 0o600 });
  writeFileSync(join(folder, "clients.pem"), authority.pem);
  for (const directory of NGINX_FOLDERS) mkdirSync(join(folder, directory));
  const port = await freePort();
  const { file, wrap, argumentsFor } = PROGRAMS[name];
  const written = join(folder, "configuration");
  writeFileSync(written, wrap(configuration(port).replaceAll(PAGE_FOLDER, folder), folder));
  const child = spawn(file, argumentsFor(written, folder), {
    ...LONG_CHILD_LIMIT,
    // Caddy has folders of its own in the home of the user.
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let printed = "";
  child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const close = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  while (!(await accepts(port))) {
    if (!isRunning(child)) {
      await close();
      throw new Error(`${name} ended: ${printed}`);
    }
  }
  return { port, close };
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

/** `SIGTERM`: the master of nginx then ends its workers. */
async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    // The refusal of a connection takes no time: another turn lets the proxy continue.
    await new Promise(setImmediate);
    return false;
  } finally {
    socket.destroy();
  }
}
