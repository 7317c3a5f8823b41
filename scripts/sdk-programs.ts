import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Program, Story } from '../test/contract/clients/story';
import { generators } from './sdks';
import { startServiceProcess } from './service-process';

const execute = promisify(execFile);
const project = join(__dirname, '..');
const key = 'key-of-the-clients';
const pythonProgram = join(project, 'test', 'contract', 'clients', 'partner.py');

/** A code of a later version, for which no client has a remedy. */
const newCode = 'a_code_of_tomorrow';

const story: Omit<Story, 'rejects'> = {
  status: 'completed',
  inserted: 2,
  skipped: 1,
  issueCodes: ['invalid_price'],
  prices: { 'TENT-2': 189.9, 'LAMP-1': 24.5 },
  total: 404.3,
  unitsSold: 3,
  errorCodes: ['order_not_found', 'validation_error'],
};
const storyOfTomorrow = { ...story, issueCodes: [newCode], errorCodes: [newCode, 'validation_error'] };

export interface Server {
  name: string;
  url: string;
  /** The partner whose products and sales it has. */
  partnerOf(program: string): string;
  expected: Omit<Story, 'rejects'>;
  stop(): unknown;
}

/**
 * Starts what the programs talk to: the mock, a mock of a later version, the service.
 * @param document - of the mock, which restarts when it changes
 * @param folder - for the data of the service, accessible to other users
 */
export async function startServers(document: string, folder: string): Promise<Server[]> {
  const [mock, service] = await Promise.all([startMock(document), startService(folder)]);
  return [mock, await startMockOfTomorrow(mock.url), service];
}

/**
 * Runs the program of each generated client, and the one by hand in Python if there is `python3`.
 * @param folder - with the generated clients
 * @returns what ran, a line for each program
 * @throws Error that shows what a program saw instead
 */
export async function runPrograms(folder: string, servers: Server[]): Promise<string[]> {
  const programs = Object.values(generators).map(
    ({ name, folder: path }) =>
      [name, () => import(join(folder, path, 'program.ts')) as Promise<{ program: Program }>] as const,
  );
  const python = await findPython();
  const lines = await Promise.all([
    ...programs.map(async ([name, load]) => runProgram(name, (await load()).program, servers)),
    ...(python ? [runProgram(python, runPython, servers)] : []),
  ]);
  return python ? lines : [...lines, 'left out: the client by hand in Python, because there is no python3'];
}

async function runProgram(name: string, program: Program, servers: Server[]): Promise<string> {
  for (const server of servers) {
    const { rejects, ...seen } = await program(server.url, key, server.partnerOf(name));
    // Of the bodies that are not JSON, one row is enough.
    const isWhole = rejects.startsWith('_line,_codes,') && rejects.includes('MAT-7,Sleeping mat');
    if (isWhole && JSON.stringify(seen, sorted) === JSON.stringify(server.expected, sorted)) continue;
    throw new Error(
      `The program of ${name} saw this with ${server.name}: ${JSON.stringify({ rejects, ...seen })}`,
    );
  }
  return `${name.padEnd(36)}ran against ${servers.map((server) => server.name).join(', ')}`;
}

/** Sorts the members of objects, for comparison. */
function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function findPython(): Promise<string | undefined> {
  try {
    return `${(await execute('python3', ['--version'])).stdout.trim()}, urllib`;
  } catch {
    return undefined;
  }
}

const runPython: Program = async (...args) =>
  JSON.parse((await execute('python3', [pythonProgram, ...args])).stdout) as Story;

async function startMock(document: string): Promise<Server> {
  const command = join(project, 'node_modules', '.bin', 'prism');
  const child = spawn(command, ['mock', '--port', '0', document]);
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the mock did not start')));
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const listening = /listening on (http:\S+:\d+)/.exec(text);
      if (listening) resolve(listening[1]!);
    });
  });
  return {
    name: 'the mock',
    url,
    partnerOf: () => 'Acme Outdoor',
    expected: story,
    stop: () => child.kill(),
  };
}

/** Starts a mock whose open enums have new values. */
async function startMockOfTomorrow(mock: string): Promise<Server> {
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const {
      host: _host,
      connection: _connection,
      'transfer-encoding': _encoding,
      ...headers
    } = request.headers;
    const body = request.method === 'GET' ? null : Buffer.concat(await request.toArray());
    const init = { method: request.method!, headers: headers as Record<string, string>, body };
    const answer = await fetch(`${mock}${request.url ?? ''}`, init);
    const text = (await answer.text()).replaceAll('invalid_price', newCode);
    const code = answer.headers.get('x-error-code')?.replace('order_not_found', newCode);
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type')!,
      ...(code && { 'x-error-code': code }),
    });
    response.end(text);
  };
  const server = createServer((request, response) => void forward(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    name: 'a later version',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    partnerOf: () => 'Acme Outdoor',
    expected: storyOfTomorrow,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function startService(folder: string): Promise<Server> {
  const settings = { API_KEYS: key, LOG_LEVEL: 'info' };
  const service = await startServiceProcess(join(folder, 'data'), settings);
  return {
    name: 'the service',
    url: service.url,
    partnerOf: (program) => `Partner of ${program}`,
    expected: story,
    stop: () => service.stop(),
  };
}
