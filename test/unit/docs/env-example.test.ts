import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, settingNames } from '../../../src/config';
import { project } from '../../support/harness';

const lines = readFileSync(join(project, '.env.example'), 'utf8').split('\n');
const commented = lines.flatMap((line) => {
  const [, name, value] = /^# ([A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
  return name === undefined ? [] : [[name, value] as const];
});

describe('.env.example', () => {
  it('has every setting as a comment', () => {
    expect(commented.map(([name]) => name)).toEqual(settingNames);
  });

  it('has the defaults as values, except for settings that depend on others', () => {
    const { METRICS_HOST, DATABASE_REPLICA_LAG_SECONDS, ...rest } = Object.fromEntries(commented);

    expect([METRICS_HOST, DATABASE_REPLICA_LAG_SECONDS]).toEqual(['127.0.0.1', '10']);
    expect(loadConfig(rest)).toEqual(loadConfig({}));
  });
});
