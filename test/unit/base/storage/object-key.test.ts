import { partnerSlug, rawFileKey, safeFileName, stagingKey } from '../../../../src/base/storage/object-key';

describe('rawFileKey', () => {
  it.each([
    ['Acme Outdoor', 'FD00001', 'feed.csv', 'raw/partners/acme-outdoor/feeds/FD00001/feed.csv'],
    ['Café Müller', 'FD100000', 'Frühling 1.csv', 'raw/partners/cafe-muller/feeds/FD100000/Frühling 1.csv'],
    ['../../etc', 'FD00002', '../../passwd.csv', 'raw/partners/etc/feeds/FD00002/._._passwd.csv'],
  ])('for partner %j, feed %s and file %j is %s', (partnerName, feedId, fileName, key) => {
    expect(rawFileKey(partnerName, feedId, fileName)).toBe(key);
  });

  it('differs between feeds of the same partner and file name', () => {
    expect(rawFileKey('Acme', 'FD00001', 'feed.csv')).not.toBe(rawFileKey('Acme', 'FD00002', 'feed.csv'));
  });
});

describe('partnerSlug', () => {
  it.each([
    ['lower case', 'ACME', 'acme'],
    ['digits stay', 'Studio 54', 'studio-54'],
    ['diacritics are dropped', 'Żółć Crème Brûlée', 'zo-c-creme-brulee'],
    ['a decomposed letter is the composed one', 'Mu\u0308ller', 'muller'],
    ['compatibility forms are normalised', 'Ａｃｍｅ ﬁt²', 'acme-fit2'],
    ['a capital with a dot is one letter', 'İstanbul', 'istanbul'],
    ['a run of other characters is one hyphen', 'A & B  --  C', 'a-b-c'],
    ['the ends are trimmed', ' -- Acme! -- ', 'acme'],
    ['separators and dots are other characters', 'a/b\\c..d', 'a-b-c-d'],
    ['letters of other scripts are other characters', 'Магазин 24', '24'],
  ])('%s: %j', (_rule, partnerName, slug) => {
    expect(partnerSlug(partnerName)).toBe(slug);
  });

  it.each(['日本商店', 'Магазин', '!!!', '🙂'])(
    'of %j is a short hash, because no letter or digit remains',
    (name) => {
      expect(partnerSlug(name)).toMatch(/^[0-9a-f]{8,16}$/);
      expect(partnerSlug(name)).toBe(partnerSlug(name));
    },
  );

  it('differs between partners whose names have no usable characters', () => {
    expect(partnerSlug('日本商店')).not.toBe(partnerSlug('中国商店'));
  });

  it.each([
    ['plain letters', 'x'.repeat(255)],
    ['letters of which one becomes many', 'ﬃ'.repeat(255)],
    ['a hyphen at the cut', `${'x'.repeat(199)} ${'y'.repeat(55)}`],
  ])('of a name of maximum length fits a file system: %s', (_what, name) => {
    const slug = partnerSlug(name);

    expect(slug).toMatch(/^[a-z0-9](.*[a-z0-9])?$/);
    expect(slug.length).toBeLessThanOrEqual(255);
  });
});

describe('safeFileName', () => {
  it.each([
    ['an ordinary name', 'feed-2026_01.csv', 'feed-2026_01.csv'],
    ['UTF-8 stays', 'Größen und Preise 商品.csv', 'Größen und Preise 商品.csv'],
    ['characters that URLs escape stay', '50% off + more?#.csv', '50% off + more?#.csv'],
    ['separators of every system', 'a/b\\c.csv', 'a_b_c.csv'],
    ['control characters', 'a\u0000b\nc\u007fd\u0085.csv', 'a_b_c_d_.csv'],
    ['two dots', 'a..csv', 'a.csv'],
    ['many dots', 'a.....csv', 'a.csv'],
    ['a name without an ending', 'feed', 'feed'],
  ])('%s: %j', (_what, name, safe) => {
    expect(safeFileName(name)).toBe(safe);
  });

  it.each([
    ['nothing', ''],
    ['a dot', '.'],
    ['two dots', '..'],
    ['three dots', '...'],
    ['white space', '   '],
    ['white space and dots', ' .. '],
    ['only separators', '///'],
    ['a way up', '../../../etc/passwd'],
    ['a way up, for Windows', '..\\..\\boot.ini'],
    ['dots that become neighbours', './.\\.'],
    ['the greatest length', `${'x'.repeat(250)}.csv`],
    ['letters of several bytes', `${'ü'.repeat(250)}.csv`],
    ['characters beyond the basic plane', `${'🙂'.repeat(250)}.csv`],
    ['a long ending', `feed.${'x'.repeat(300)}`],
    ['a dot where a long name is cut', `${'x'.repeat(195)}.${'y'.repeat(50)}.csv`],
  ])('is safe as the last segment of a key and of a path: %s', (_what, name) => {
    const safe = safeFileName(name);

    expect(safe).not.toMatch(/[/\\\p{Cc}]/u);
    expect(safe).not.toContain('..');
    expect(safe).not.toMatch(/^[.\s]*$/);
    expect(Buffer.from(safe).toString()).toBe(safe);
    expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(255);
  });

  it('shortens a long name before its extension', () => {
    expect(safeFileName(`${'ü'.repeat(250)}.csv`)).toMatch(/^ü+\.csv$/);
  });
});

describe('stagingKey', () => {
  it('is unique and has another prefix than raw files', () => {
    expect(stagingKey()).not.toBe(stagingKey());
    expect(stagingKey()).toMatch(/^staging\/[0-9a-f-]{36}$/);
  });
});
