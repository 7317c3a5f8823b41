import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterFile, eventually, project } from '../../support/harness';

const built = JSON.stringify(join(project, 'dist/src/base/log.js'));
const setUp = `const { createLog, linesTogether } = require(${built}); const log = createLog('info', linesTogether());`;
const setUpThread = `const log = require(${built}).createLog('info');`;

/** Runs JavaScript with a `log` of the built service. */
function runWithLog(script: string) {
  const child = spawn(process.execPath, ['-e', `${setUp}${script}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  afterFile(() => void child.kill('SIGKILL'));
  const said = { log: '', errors: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.errors += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.log += text));
  return {
    said,
    /** Stops reading, and tells the process to end. */
    leave: () => {
      child.stdout.destroy();
      child.kill('SIGTERM');
    },
    end: new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code))),
  };
}

const messages = (log: string) =>
  log
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);

describe('the log on standard output', () => {
  it('has a line soon after it was logged', async () => {
    const { said } = runWithLog(`log.info('only one'); setInterval(() => {}, 1000);`);
    await eventually('the line is there', () => said.log.includes('only one'));
  });

  it.each([
    ['exits', 'process.exit(0)', 0],
    ['ends', '', 0],
    ['fails', 'throw new Error("broken")', 1],
  ])('has the last lines of a process that %s', async (_, last, code) => {
    const { said, end } = runWithLog(`for (let i = 0; i < 50; i++) log.info('line ' + i); ${last}`);
    expect(await end).toBe(code);
    expect(messages(said.log)).toEqual(Array.from({ length: 50 }, (_each, index) => `line ${index}`));
  });

  it('does not keep a process whose reader has left', async () => {
    const { said, leave, end } = runWithLog(`
      process.on('SIGTERM', () => { log.info('last'); process.exit(0); });
      log.info('first'); setInterval(() => {}, 1000);`);
    await eventually('the first line is there', () => said.log.includes('first'));
    leave();
    expect(await end).toBe(0);
  });

  it('has whole lines of the main thread and of another one, in the order of each', async () => {
    const lines = (name: string) =>
      `for (let i = 0; i < 2000; i++) setImmediate(() => log.info('${name} ' + i));`;
    const thread = JSON.stringify(setUpThread + lines('other'));
    const { said, end } = runWithLog(
      `new (require('node:worker_threads').Worker)(${thread}, { eval: true }); ${lines('main')}`,
    );
    expect({ code: await end, errors: said.errors }).toEqual({ code: 0, errors: '' });
    for (const name of ['main', 'other'])
      expect(messages(said.log).filter((text) => text.startsWith(name))).toEqual(
        Array.from({ length: 2000 }, (_each, index) => `${name} ${index}`),
      );
  });
});
