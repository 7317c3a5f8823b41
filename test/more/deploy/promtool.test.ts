import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { project } from '../../support/harness';

const promtool = process.env.PROMTOOL;
const folder = join(project, 'deploy', 'prometheus');

/** Runs promtool. @throws Error with its output if it reports a problem */
const check = (...args: string[]) => promisify(execFile)(promtool!, args, { cwd: folder });

// In Debian's package prometheus.
(promtool ? describe : describe.skip)('promtool', () => {
  it.each([
    ['accepts the alerts', ['check', 'rules', 'alerts.yaml'], 'rules found'],
    ['accepts the scrape configuration', ['check', 'config', 'scrape.yaml'], 'is valid'],
    ['sees the alerts begin and end', ['test', 'rules', 'alerts.test.yaml'], 'SUCCESS'],
  ])('%s', async (_, args, text) => {
    const { stdout } = await check(...args);

    expect(stdout).toContain(text);
  });
});
