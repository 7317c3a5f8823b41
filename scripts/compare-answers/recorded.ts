import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Transcript, type Answer } from './transcript';

interface Recorded extends Omit<Answer, 'body'> {
  number: number;
  test: string;
  title: string;
  body: string;
}

/** The document's examples, Dredd, and the requests recorded from Schemathesis. */
const tests = ['replay.test.ts', 'dredd', 'schemathesis'];

/** Replays a checkout's requests of the contract against its own code, and records the responses. @returns their number */
export async function recordReplays(checkout: string, folder: string): Promise<number> {
  let answers = 0;
  // Together they would run in an order chosen by Jest.
  for (const test of tests) answers += await recordReplay(checkout, test, join(folder, 'recorded', test));
  return answers;
}

async function recordReplay(checkout: string, test: string, file: string): Promise<number> {
  const transcript = new Transcript();
  transcript.write(file);
  await replay(checkout, test, file);
  const recorded = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded)
    .toSorted((one, other) => one.number - other.number)
    // A test polls beside other requests: only the last response counts.
    .filter(({ title, test }, at, all) => {
      const isSame = (next: Recorded) => next.title === title && next.test === test;
      return !title.startsWith('GET') || !all.slice(at + 1, at + 5).some(isSame);
    });
  for (const { test, title, body, ...answer } of recorded)
    transcript.add(`${test}: ${title}`, { ...answer, body: Buffer.from(body, 'base64') });
  transcript.write(file);
  return transcript.answers;
}

function replay(checkout: string, test: string, file: string): Promise<void> {
  const jest = join(checkout, 'node_modules', '.bin', 'jest');
  const env = {
    ...process.env,
    NODE_OPTIONS: `--require ${join(__dirname, 'record-responses.cjs')}`,
    RECORDED_RESPONSES: file,
  };
  const args = ['--selectProjects', 'api', '--runInBand', '--testPathPatterns', `test/contract/${test}`];
  return new Promise((resolve, reject) => {
    execFile(jest, args, { cwd: checkout, env, maxBuffer: Infinity }, (error, _stdout, stderr) => {
      if (error) reject(new Error(`the requests of the contract fail in ${checkout}:\n${stderr}`));
      else resolve();
    });
  });
}
