import type { Change } from '../../../scripts/contract-rules';
import { judge } from '../../../scripts/contract-verdict';

describe('the verdict', () => {
  const breaking: Change = { impact: 'breaking', subject: 'GET /orders', message: 'Gone.' };
  const additive: Change = { impact: 'additive', subject: 'GET /orders', message: 'A parameter more.' };
  const entry = (version: string, text = '### Added\n\n- Something.\n', date = '2026-12-01') =>
    `## [${version}] - ${date}\n\n${text}\n`;
  const first = entry('1.0.0', undefined, '2026-11-21');
  const judged = (changes: Change[], version: string, ...newer: string[]) =>
    judge({ released: '1.0.0', version, changelog: `# Changes\n\n${newer.join('')}${first}`, changes });

  it('accepts additions with a new minor version, and listed breaking changes with a new major version', () => {
    expect(judged([], '1.0.0')).toEqual([]);
    expect(judged([], '1.0.1', entry('1.0.1'))).toEqual([]);
    expect(judged([additive], '1.1.0', entry('1.1.0'))).toEqual([]);
    expect(
      judged([breaking, additive], '2.0.0', entry('2.0.0', '### Breaking\n\n- `GET /orders` is gone.\n')),
    ).toEqual([]);
  });

  it('rejects an addition without a new minor version', () => {
    const advice =
      'The changes need version 1.1.0 at least: set info.version, and add "## [1.1.0] - <date>" on top of spec/CHANGELOG.md.';

    expect(judged([additive], '1.0.0')).toEqual([advice]);
    expect(judged([additive], '1.0.1', entry('1.0.1'))).toEqual([advice]);
  });

  it('rejects a breaking change without a new major version', () => {
    expect(judged([breaking], '1.1.0', entry('1.1.0', '### Breaking\n\n- `GET /orders` is gone.\n'))).toEqual(
      [
        'The changes need version 2.0.0 at least: set info.version, and add "## [2.0.0] - <date>" on top of spec/CHANGELOG.md.',
      ],
    );
  });

  it('rejects a breaking change that the newest entry does not list', () => {
    const named = '### Breaking\n\n- `GET /orders/{order_id}` and `POST /orders` are gone.\n';

    expect(judged([breaking], '2.0.0', entry('2.0.0'))).toEqual([
      'The entry 2.0.0 of spec/CHANGELOG.md has no section "### Breaking".',
    ]);
    expect(judged([breaking], '2.0.0', entry('2.0.0', named))).toEqual([
      '"### Breaking" of 2.0.0 in spec/CHANGELOG.md does not name `GET /orders`.',
    ]);
  });

  it('rejects a version that is not the newest entry', () => {
    expect(judged([additive], '1.0.0', entry('1.1.0'))).toEqual([
      'info.version is 1.0.0, the newest entry of spec/CHANGELOG.md 1.1.0.',
    ]);
    expect(judged([], '1.1.0')).toEqual([
      'info.version is 1.1.0, the newest entry of spec/CHANGELOG.md 1.0.0.',
    ]);
  });

  it('rejects entries out of order, and a changelog without entries or without the released version', () => {
    expect(judged([], '1.1.0', entry('1.1.0'), entry('1.2.0'))).toEqual([
      'In spec/CHANGELOG.md, 1.1.0 stands before 1.2.0: newest first, with later dates.',
    ]);
    expect(judged([], '1.1.0', entry('1.1.0', undefined, '2026-01-01'))).toEqual([
      'In spec/CHANGELOG.md, 1.1.0 stands before 1.0.0: newest first, with later dates.',
    ]);
    expect(judge({ released: '1.0.0', version: '1.0.0', changelog: '# Changes\n', changes: [] })).toEqual([
      'spec/CHANGELOG.md has no entry of the form "## [1.0.0] - 2026-01-31".',
    ]);
    expect(judge({ released: '1.0.0', version: '1.1.0', changelog: entry('1.1.0'), changes: [] })).toEqual([
      'spec/CHANGELOG.md has no entry for the released version 1.0.0.',
    ]);
  });
});
