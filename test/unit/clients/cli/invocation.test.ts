import { join } from 'node:path';
import { invocationOf } from '../../../../src/clients/cli/session';

describe('the invocation that messages show', () => {
  it.each([
    [
      'the npm script',
      { npm_lifecycle_event: 'feed' },
      '/clone/dist/cli/partner-feed.cjs',
      'npm run --silent feed --',
    ],
    ['npx', {}, '/home/a/.npm/_npx/1/node_modules/.bin/partner-feed', 'npx partner-feed'],
    ['a global installation', {}, '/usr/bin/partner-feed', 'npx partner-feed'],
    ['a shim of Windows', {}, '/n/node_modules/partner-feed/partner-feed.cjs', 'npx partner-feed'],
    ['the file in this folder', {}, join(process.cwd(), 'partner-feed.cjs'), 'node partner-feed.cjs'],
    ['the file in another folder', {}, join(process.cwd(), '../tools/feed.cjs'), 'node ../tools/feed.cjs'],
    ['a path with spaces', {}, join(process.cwd(), 'my tools/feed.cjs'), "node 'my tools/feed.cjs'"],
  ])('is the one of %s', (_what, env, script, invocation) => {
    expect(invocationOf(env, script)).toBe(invocation);
  });
});
