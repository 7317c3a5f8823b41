import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parse } from 'yaml';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import json from '../../../generated/openapi.json';
import { createTestFolder } from '../../support/harness';
import { breaks } from './breaks';

const root = join(__dirname, '..', '..', '..');

interface Finding {
  code: string;
  message: string;
  path: (string | number)[];
}

/** Lints a document as `make lint` does; all rules together, because a run takes seconds. */
function lint(source: string): Finding[] {
  const path = join(createTestFolder(), 'openapi.json');
  writeFileSync(path, source);
  // A file, not a pipe: Spectral fails with EAGAIN when it reads a pipe faster than it is filled.
  const file = openSync(path, 'r');
  const { stdout, stderr } = spawnSync(
    join(root, 'node_modules', '.bin', 'spectral'),
    ['lint', '--format', 'json', '--stdin-filepath', 'spec/openapi.yaml'],
    { cwd: root, stdio: [file, 'pipe', 'pipe'], encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 },
  );
  closeSync(file);
  try {
    // Without findings, a sentence follows.
    return JSON.parse(stdout.slice(0, stdout.lastIndexOf(']') + 1)) as Finding[];
  } catch {
    throw new Error(`spectral: ${stdout}${stderr}`);
  }
}

describe('the rules for the document', () => {
  let findings: Finding[];
  beforeAll(() => {
    const document = structuredClone(json);
    for (const { apply } of breaks) apply?.(document);
    const edits = breaks.flatMap(({ applyToSource = [] }) => applyToSource);
    findings = lint(edits.reduce((text, edit) => edit(text), JSON.stringify(document)));
  });

  it.each(breaks)('$rule reports $at', ({ rule, at, message }) => {
    const here = findings.filter(({ path }) => path.join('\n') === at.join('\n'));

    expect(here.map((finding) => [finding.code, finding.message])).toEqual([[rule, message]]);
  });

  it('report nothing else', () => {
    const expected = breaks.map(({ at }) => at.join(' '));

    expect(findings.filter(({ path }) => !expected.includes(path.join(' ')))).toEqual([]);
  });

  it('are all tested here', () => {
    const { rules } = parse(readFileSync(join(root, '.spectral.yaml'), 'utf8')) as {
      rules: Record<string, unknown>;
    };
    const ours = Object.keys(rules).filter((name) => rules[name] !== 'off' && rules[name] !== false);

    expect(ours.sort()).toEqual([...new Set(breaks.map(({ rule }) => rule))].sort());
  });
});
