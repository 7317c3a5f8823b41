import { createSocket } from 'node:dgram';
import dns from 'node:dns/promises';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { afterFile } from './after-file';

/** By name: its IPv4 and IPv6 addresses. */
export type Names = Record<string, string[]>;

const headBytes = 12;
const typeA = 1;
const typeAaaa = 28;

/**
 * Starts a name server which knows these names, and has this process ask it until the file is done. Of any other name it
 * says that there is none; it answers nothing about `dead.test`.
 */
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
  // A response; of a name that is not there.
  head.writeUInt16BE(name in names ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([head, question, ...addresses.map((address) => record(type, address))]);
}

/** Of the name of the question, of class IN, for no time. */
function record(type: number, address: string): Buffer {
  const bytes = ipaddr.parse(address).toByteArray();
  return Buffer.from([0xc0, headBytes, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
}
