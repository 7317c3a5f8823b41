import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** One process of nginx that hands requests to services. */
export interface Balancer {
  url: string;
  pids: [number];
  stop(): Promise<void>;
}

/**
 * Starts nginx before services, with idle connections to each of them kept open.
 * @param folder - for its configuration and temporary files
 * @returns undefined if nginx is not installed
 */
export async function startBalancer(folder: string, urls: readonly string[]): Promise<Balancer | undefined> {
  if (spawnSync('nginx', ['-v']).error) return undefined;
  const home = join(folder, 'nginx');
  mkdirSync(home, { recursive: true });
  const port = await freePort();
  const configuration = join(home, 'nginx.conf');
  writeFileSync(
    configuration,
    `daemon off;
master_process off;
pid ${home}/pid;
error_log ${home}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${home}/body;
  proxy_temp_path ${home}/proxy;
  fastcgi_temp_path ${home}/fastcgi;
  uwsgi_temp_path ${home}/uwsgi;
  scgi_temp_path ${home}/scgi;
  upstream services {
    ${urls.map((url) => `server ${new URL(url).host};`).join(' ')}
    keepalive 64;
  }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 1000000;
    location / {
      proxy_pass http://services;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`,
  );
  const child = spawn('nginx', ['-c', configuration, '-p', home, '-e', join(home, 'error.log')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await isAnswering(url);
  return {
    url,
    pids: [child.pid!],
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function isAnswering(url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await fetch(`${url}/health`);
      return;
    } catch (error) {
      if (attempt === 50) throw error;
      await sleep(100);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
