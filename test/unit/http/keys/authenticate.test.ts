import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authenticateConfigured } from '../../../../src/http/keys/authenticate';
import { localKey } from '../../../../src/base/local-key';
import { createTestFolder } from '../../../support/harness';

describe('authenticateConfigured', () => {
  const authenticate = authenticateConfigured(['first-key', 'second key', 'schlüssel']);

  it.each([
    ['first-key', 'API_KEYS 1'],
    ['second key', 'API_KEYS 2'],
    ['schlüssel', 'API_KEYS 3'],
  ])('accepts %j under the name %j, limited to no partner', async (key, keyName) => {
    expect(await authenticate(key)).toEqual({
      keyName,
      keyDigest: createHash('sha256').update(key).digest(),
      isConfigured: true,
      partnerName: null,
      isReadOnly: false,
    });
  });

  it('accepts a key beyond ASCII in UTF-8, which arrives as Latin-1', async () => {
    const euros = authenticateConfigured(['ein-schlüssel', 'fünf-€']);

    expect(await euros(Buffer.from('ein-schlüssel').toString('latin1'))).toEqual(
      await euros('ein-schlüssel'),
    );
    expect(await euros(Buffer.from('fünf-€').toString('latin1'))).toMatchObject({ keyName: 'API_KEYS 2' });
    expect(await euros('f\u00fcnf-\u20ac!')).toBeUndefined();
  });

  it.each([
    ['an empty key', ''],
    ['another key', 'third-key'],
    ['the beginning of a key', 'first-ke'],
    ['a key and more', 'first-key2'],
    ['another case', 'First-Key'],
    ['white space around a key', ' first-key '],
    ['all the keys', 'first-key,second key'],
    ['a key and a NUL', 'first-key\u0000'],
    ['a very long key', 'x'.repeat(100_000)],
  ])('rejects %s', async (_what, key) => {
    expect(await authenticate(key)).toBeUndefined();
  });

  it('rejects every key, also an empty one, when none is configured', async () => {
    const none = authenticateConfigured([]);

    expect(await none('')).toBeUndefined();
    expect(await none('first-key')).toBeUndefined();
  });
});

describe('localKey', () => {
  it('generates a long random key of characters that need no escaping in headers and shells', () => {
    expect(localKey(createTestFolder())).toMatch(/^[A-Za-z0-9_-]{32,}$/);
  });

  it('generates another key in every folder', () => {
    expect(localKey(createTestFolder())).not.toBe(localKey(createTestFolder()));
  });

  it('returns the same key at every start', () => {
    const dataDir = createTestFolder();

    const key = localKey(dataDir);

    expect(localKey(dataDir)).toBe(key);
    expect(localKey(dataDir)).toBe(key);
  });

  it('stores the key in a file that only its own user can read', () => {
    const dataDir = createTestFolder();

    const key = localKey(dataDir);

    const file = join(dataDir, 'api-key');
    expect(readFileSync(file, 'utf8').trim()).toBe(key);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('uses a key that the operator has put into the file', () => {
    const dataDir = createTestFolder();
    writeFileSync(join(dataDir, 'api-key'), ' my-own-key \n');

    expect(localKey(dataDir)).toBe('my-own-key');
  });

  it('generates another key when the file is empty, as after a crash', () => {
    const dataDir = createTestFolder();
    writeFileSync(join(dataDir, 'api-key'), '');

    const key = localKey(dataDir);

    expect(key).toMatch(/^[A-Za-z0-9_-]{32,}$/);
    expect(localKey(dataDir)).toBe(key);
  });

  it('fails instead of generating another key when the file cannot be read', () => {
    const dataDir = createTestFolder();
    mkdirSync(join(dataDir, 'api-key'));

    expect(() => localKey(dataDir)).toThrow();
  });
});
