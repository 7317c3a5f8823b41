import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import type { Program, Story } from '../test/contract/clients/story';
import { startMock } from '../test/contract/prism';
import { afterFile } from '../test/support/harness';
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
}

/**
 * Starts what the programs talk to: the mock, a mock of a later version, the service. `closeAll` stops them.
 * @param folder - for the data of the service, accessible to other users
 */
export async function startServers(folder: string): Promise<Server[]> {
  const mock = await startMock();
  const partnerOf = () => 'Acme Outdoor';
  return [
    { name: 'the mock', url: mock, partnerOf, expected: story },
    { name: 'a later version', url: await startMockOfTomorrow(mock), partnerOf, expected: storyOfTomorrow },
    {
      name: 'the service',
      url: await startService(folder),
      partnerOf: (program) => `Partner of ${program}`,
      expected: story,
    },
  ];
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
    if (isWhole && isDeepStrictEqual(seen, server.expected)) continue;
    throw new Error(
      `The program of ${name} saw this with ${server.name}: ${JSON.stringify({ rejects, ...seen })}`,
    );
  }
  return `${name.padEnd(36)}ran against ${servers.map((server) => server.name).join(', ')}`;
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

/** Starts a mock whose open enums have new values, and that is unavailable at the first attempt of a program that repeats it. */
async function startMockOfTomorrow(mock: string): Promise<string> {
  let isAvailable = false;
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isAvailable && request.headers['user-agent']?.startsWith('Python-urllib')) {
      isAvailable = true;
      response.writeHead(503, { 'x-error-code': 'unavailable', 'retry-after': '0' }).end();
      return;
    }
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
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startService(folder: string): Promise<string> {
  const settings = { API_KEYS: key, LOG_LEVEL: 'info' };
  const service = await startServiceProcess(join(folder, 'data'), settings);
  afterFile(async () => {
    await service.stop();
  });
  return service.url;
}
