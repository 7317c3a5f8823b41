import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket, isIPv4 } from 'node:net';
import { afterFile } from './harness';
import { createSocket } from 'node:dgram';
import dns from 'node:dns/promises';
import tls from 'node:tls';
import ipaddr from 'ipaddr.js';

/** Finds a local port without a listener, below the range that the system assigns, so that it stays free. */
export async function closedPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Starts a server that accepts connections and data, and never responds. @returns its port */
export async function silentServer(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
  });
  const port = await listen(server);
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

/** Starts a server that sends `head` at once, and then `text`, a byte every 20 ms. @returns its port */
export async function tricklingServer(text: string, head = ''): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.write(head);
    let at = 0;
    const timer = setInterval(() => socket.write(text[at++]!), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const port = await listen(server);
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

/** Starts an HTTP server whose responses declare `promised` bytes, send `given`, then disconnect or stall. @returns its port */
export async function interruptedServer(promised: number, given: Buffer, then: 'hang up' | 'fall silent') {
  const server = createHttpServer((_request, response) => {
    response.writeHead(200, { 'content-length': promised });
    response.write(given, () => {
      if (then === 'hang up') response.destroy();
    });
  });
  const port = await listen(server);
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return port;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
}

export type Names = Record<string, string[]>;

const headBytes = 12;
const typeA = 1;
const typeAaaa = 28;

/** Starts a name server with these names for this process until the file ends. It does not respond for `dead.test`. */
export async function startNameServer(names: Names): Promise<void> {
  const server = createSocket('udp4');
  server.on('message', (query, { port, address }) => {
    const answer = answerTo(query, names);
    if (answer) server.send(answer, port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  const before = dns.getServers();
  dns.setServers([`127.0.0.1:${server.address().port}`]);
  afterFile(() => {
    dns.setServers(before);
    server.close();
  });
}

function answerTo(query: Buffer, names: Names): Buffer | null {
  const labels: string[] = [];
  let at = headBytes;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const name = labels.join('.').toLowerCase();
  if (name === 'dead.test') return null;
  const question = query.subarray(headBytes, at + 5);
  const type = query.readUInt16BE(at + 1);
  const addresses = (names[name] ?? []).filter((address) => type === (isIPv4(address) ? typeA : typeAaaa));
  const head = Buffer.alloc(headBytes);
  query.copy(head, 0, 0, 2);
  // A response; or one for a name that does not exist.
  head.writeUInt16BE(name in names ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([head, question, ...addresses.map((address) => record(type, address))]);
}

/** For the name of the question, of class IN, with a TTL of zero. */
function record(type: number, address: string): Buffer {
  const bytes = ipaddr.parse(address).toByteArray();
  return Buffer.from([0xc0, headBytes, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
}
/** A self-signed certificate of `localhost`, from 2020 to 2120, and its key, accepted only by clients that trust it. */
export const localhostCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQga/RnzQza5cNZym1W
KuVIWLO9TPoFapUsri3Vw3ER7AmhRANCAAQYRIu2tlE5mcM8YBa8TVJntrXILuXv
mv0+1SyNUiB+3jJqtTr+S1IqK11zzdAKZPS5OeWtuPzUpp+PYls0NS7H
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBYTCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBhEi7a2UTmZwzxg
FrxNUme2tcgu5e+a/T7VLI1SIH7eMmq1Ov5LUiorXXPN0Apk9Lk55a24/NSmn49i
WzQ1LsejSDBGMA8GA1UdEwEB/wQFMAMBAf8wFAYDVR0RBA0wC4IJbG9jYWxob3N0
MB0GA1UdDgQWBBT+Vc3rumA7hV/aHO3fn/Lyuk+lUzAKBggqhkjOPQQDAgNIADBF
AiA7Rm55USt9aaslvazBfKpVJhdyMxNLBTCsEO/cZ7XpjAIhAI7lkVg/7l9Z/cqV
zWK6BS8yG/0/mpSqHWcNiFVufORQ
-----END CERTIFICATE-----
`,
};

/** A self-signed certificate of the account `postgres`, from 2020 to 2120, and its key. No server shows it. */
export const clientCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSBghCTL3wrPntunp
UXFXLGui4wEfTNtSpp2OQtDVt+6hRANCAAT9sxKHEy716K54o+ERxWHN6epX3P5j
9jHzpmmyjNEl/6SRMTsRZKo0wyZqNUxcXaDGKFxS44+EfuzOBsLxrglp
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBSTCB76ADAgECAgEBMAoGCCqGSM49BAMCMBMxETAPBgNVBAMMCHBvc3RncmVz
MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjATMREwDwYDVQQDDAhw
b3N0Z3JlczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABP2zEocTLvXornij4RHF
Yc3p6lfc/mP2MfOmabKM0SX/pJExOxFkqjTDJmo1TFxdoMYoXFLjj4R+7M4GwvGu
CWmjMjAwMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFG6X9uTt7vRPoXie/J7g
5JyKU/R+MAoGCCqGSM49BAMCA0kAMEYCIQCqczapxAqfSwybjLp8c5hQkOicxOG2
TxJJhZ82L1JgEQIhALKhvRifksdA16g+5v+3s7TsLdqSYcVvRCYUEYOygVrB
-----END CERTIFICATE-----
`,
};

/** Lets connections of this process trust `localhostCertificate` until the file ends, as NODE_EXTRA_CA_CERTS does. */
export function trustLocalhost(): void {
  const { createSecureContext } = tls;
  tls.createSecureContext = (options) => createSecureContext({ ca: localhostCertificate.cert, ...options });
  afterFile(() => void (tls.createSecureContext = createSecureContext));
}

export interface Line {
  port: number;
  /** Cuts all connections, and new ones until `mend`. */
  cut: () => void;
  mend: () => void;
}

export async function lineTo(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  const destroy = () => sockets.forEach((socket) => socket.destroy());
  const own = await listen(server);
  afterFile(() => {
    destroy();
    server.close();
  });
  return {
    port: own,
    cut() {
      isCut = true;
      destroy();
    },
    mend() {
      isCut = false;
    },
  };
}
