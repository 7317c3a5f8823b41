/**
 * Runs Schemathesis (`schemathesis.toml`) against a new service, and exits with its code.
 *
 * usage: schemathesis [--record]      --record keeps a set of its requests for the tests to replay
 *
 * SCHEMATHESIS: the command, if it is not `schemathesis` in the search path.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordedRequests } from './schemathesis-report';
import { startServiceProcess } from './service-process';

const command = process.env.SCHEMATHESIS ?? 'schemathesis';
const key = 'key-for-schemathesis';
const recording = join(__dirname, '..', 'test', 'contract', 'schemathesis', 'requests.jsonl');

async function main(): Promise<number> {
  if ((await run(['--version'])) !== 0) {
    console.error(`Command not found: ${command}. Install Schemathesis: pip install 'schemathesis>=4.25'.`);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'catalog-schemathesis-'));
  chmodSync(folder, 0o755);
  const service = await startServiceProcess(join(folder, 'data'), { API_KEYS: key, LOG_LEVEL: 'info' });
  try {
    const report = join(folder, 'report.ndjson');
    const code = await run([
      'run',
      'spec/openapi.yaml',
      ...['--url', service.url, '--report-ndjson-path', report, '--output-sanitize', 'false'],
    ]);
    if (process.argv.includes('--record')) {
      const requests = recordedRequests(readFileSync(report, 'utf8'), key);
      writeFileSync(recording, requests.map((each) => `${JSON.stringify(each)}\n`).join(''));
      console.log(`written: ${recording}, ${requests.length} requests`);
    }
    return code;
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the exit code; 127 if the command does not exist */
function run(args: string[]): Promise<number> {
  return new Promise((resolve) => {
    const env = { ...process.env, SCHEMATHESIS_API_KEY: key };
    const child = spawn(command, args, { cwd: join(__dirname, '..'), env, stdio: 'inherit' });
    child.once('error', () => resolve(127));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
