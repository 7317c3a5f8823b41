import { generateSecretsKey, isSecretsKeyList, SecretBox } from '../../../src/base/secret-box';

const [key, older] = [generateSecretsKey(), generateSecretsKey()];

describe('a secret box', () => {
  it('opens sealed values, which are different each time and reveal nothing', () => {
    const box = new SecretBox(key);
    const sealed = box.seal('påsswörd', 'https://a.example');

    expect(box.open(sealed, 'https://a.example')).toBe('påsswörd');
    expect(sealed.toString('latin1')).not.toContain('ssw');
    expect(box.seal('påsswörd', 'https://a.example').equals(sealed)).toBe(false);
  });

  it('opens nothing in another context, by another key, or when a byte has changed', () => {
    const sealed = new SecretBox(key).seal('password', 'https://a.example');

    expect(new SecretBox(key).open(sealed, 'https://b.example')).toBeUndefined();
    expect(new SecretBox(older).open(sealed, 'https://a.example')).toBeUndefined();
    for (const at of [0, 12, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(new SecretBox(key).open(changed, 'https://a.example')).toBeUndefined();
    }
    expect(new SecretBox(key).open(Buffer.alloc(3), 'https://a.example')).toBeUndefined();
  });

  it('encrypts with the first of several keys, and opens with all', () => {
    const sealedBefore = new SecretBox(older).seal('password', '');
    const box = new SecretBox(`${key}, ${older}`);

    expect(box.open(sealedBefore, '')).toBe('password');
    expect(new SecretBox(key).open(box.seal('new', ''), '')).toBe('new');
  });

  it('encrypts again with the first key what another one has encrypted', () => {
    const box = new SecretBox(`${key},${older}`);

    const again = box.sealAgain(new SecretBox(older).seal('password', 'a'), 'a') as Buffer;
    expect(new SecretBox(key).open(again, 'a')).toBe('password');
    expect(box.sealAgain(again, 'a')).toBe('current');
    expect(box.sealAgain(again, 'b')).toBeUndefined();
  });
});

describe('a list of keys', () => {
  it.each([
    [key, true],
    [`${key},${older}`, true],
    [` ${key} , ${older} `, true],
    ['', false],
    [`${key},`, false],
    [key.slice(4), false],
    ['a password', false],
  ])('%j is valid: %j', (text, expected) => {
    expect(isSecretsKeyList(text)).toBe(expected);
  });
});
