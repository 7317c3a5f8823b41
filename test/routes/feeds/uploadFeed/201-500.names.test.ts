import { readFile } from 'node:fs/promises';
import { filePart, goodCsv, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { rawFilePath, storedFeed } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Uploads, and parses the object key, which must exist. */
async function uploadAs(partnerName: string, fileName = 'feed.csv') {
  const { status, body } = await service.api.upload({ csv: goodCsv, partnerName, fileName });
  expect(status).toBe(201);
  return keyOf(body.feed_id);
}

async function keyOf(feedId: string) {
  const { body } = await service.api.get(`/feeds/${feedId}`);
  const key = body.raw_file_object_key as string;
  const [, slug, inKey] = /^raw\/partners\/([^/]*)\/feeds\/([^/]*\/[^/]*)$/.exec(key)!;
  expect(inKey!.startsWith(`${feedId}/`)).toBe(true);
  expect(await readFile(await rawFilePath(service, feedId), 'utf8')).toBe(goodCsv);
  return {
    slug: slug!,
    nameInKey: inKey!.slice(feedId.length + 1),
    fileName: body.file_name as string,
    partnerName: body.partner_name as string,
  };
}

describe('POST /feeds/upload', () => {
  describe('201', () => {
    it.each([
      ['Acme Outdoor', 'acme-outdoor'],
      ['ACME', 'acme'],
      ['Café Müller', 'cafe-muller'],
      ['Cafe\u0301 Mu\u0308ller', 'cafe-muller'],
      ['ÀÉÎÕÜ çñ', 'aeiou-cn'],
      ['Birch & Sons, Inc.', 'birch-sons-inc'],
      ['a___b...c - d', 'a-b-c-d'],
      ['--Acme--', 'acme'],
      ['*** 24/7 ***', '24-7'],
      ['../../etc', 'etc'],
      ['Tent 東京 Lamp', 'tent-lamp'],
      ['😀 Smile', 'smile'],
    ])('for the partner %j the slug is %j', async (partnerName, slug) => {
      expect(await uploadAs(partnerName)).toMatchObject({ slug, partnerName: partnerName.normalize() });
    });

    it('creates a short unique slug for a name without Latin letters', async () => {
      const names = ['東京アウトドア', 'Рога и копыта', '!!!', '...', '😀'.repeat(255)];

      const slugs = await Promise.all(names.map(async (name) => (await uploadAs(name)).slug));
      const again = await Promise.all(names.map(async (name) => (await uploadAs(name)).slug));

      for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9]{4,16}$/);
      expect(new Set(slugs).size).toBe(names.length);
      expect(again).toEqual(slugs);
    });

    it('distinguishes partners with the same slug', async () => {
      const feeds = [
        await service.api.uploadFeed(goodCsv, 'Zoë'),
        await service.api.uploadFeed(goodCsv, 'ZOE'),
      ];

      const rows = await Promise.all(feeds.map(({ feedId }) => storedFeed(service, feedId)));

      expect(rows[0]!.partner_id).not.toBe(rows[1]!.partner_id);
      expect(rows.map(({ raw_file_object_key }) => raw_file_object_key)).toEqual(
        feeds.map(({ feedId }) => `raw/partners/zoe/feeds/${feedId}/feed.csv`),
      );
    });

    it('assigns a second feed to the same partner', async () => {
      const feeds = [
        await service.api.uploadFeed(goodCsv, 'Twice'),
        await service.api.uploadFeed(goodCsv, 'Twice'),
      ];

      const rows = await Promise.all(feeds.map(({ feedId }) => storedFeed(service, feedId)));

      expect(rows[0]!.partner_id).toBe(rows[1]!.partner_id);
    });

    it('decodes partner_name by the character set of its part', async () => {
      const part = partnerPart();
      const headers = [...part.headers, 'Content-Type: text/plain; charset=iso-8859-1'];
      const latin1 = { headers, content: Buffer.from('Café', 'latin1') };

      const { body } = await uploadParts(service.api, latin1, filePart());

      expect((await keyOf(body.feed_id)).partnerName).toBe('Café');
    });

    const aSafeName = expect.stringMatching(/^(?!.*\.\.)[^/\\\p{Cc}]+\.csv$/u) as unknown as string;
    const expectNamed = async (sent: string, fileName: string, nameInKey: unknown) => {
      const file = filePart(undefined, { fileName: sent });

      const { status, body } = await uploadParts(service.api, partnerPart(), file);

      expect(status).toBe(201);
      const found = await keyOf(body.feed_id);
      expect(found).toMatchObject({ fileName, nameInKey });
      expect(Buffer.byteLength(found.nameInKey)).toBeLessThanOrEqual(255);
    };

    it.each<[string, string, unknown]>([
      ['spring 2026.csv', 'spring 2026.csv', 'spring 2026.csv'],
      ['Frühjahr – Übersicht.csv', 'Frühjahr – Übersicht.csv', aSafeName],
      ['日本語😀.csv', '日本語😀.csv', aSafeName],
      ["O'Brien & Sons; 50%20+1#?.csv", "O'Brien & Sons; 50%20+1#?.csv", aSafeName],
      ['../../etc/passwd.csv', 'passwd.csv', 'passwd.csv'],
      ['/var/feeds/feed.csv', 'feed.csv', 'feed.csv'],
      ['C:\\Users\\me\\feed.csv', 'feed.csv', 'feed.csv'],
      ['..\\..\\feed.csv', 'feed.csv', 'feed.csv'],
      ['a..b...c.csv', 'a..b...c.csv', aSafeName],
      ['...csv', '...csv', expect.not.stringContaining('..')],
    ])('stores the base name of the file %j, safe in the key', expectNamed);

    it.each([
      ['400 characters', 'x'.repeat(400)],
      ['200 characters of two bytes', 'é'.repeat(200)],
    ])('stores a file name of %s, shortened in the key', (_what, stem) =>
      expectNamed(`${stem}.csv`, `${stem}.csv`, aSafeName),
    );

    it.each([
      ["UTF-8''caf%C3%A9.csv", 'café.csv', aSafeName],
      ["UTF-8''..%2F..%2Fevil.csv", 'evil.csv', 'evil.csv'],
      ["UTF-8''a%0D%0Ab%7F.csv", 'a\r\nb\x7f.csv', aSafeName],
    ])('reads a file name in the extended form %s', async (extended, fileName, nameInKey) => {
      const part = filePart();
      const [disposition, ...others] = part.headers;
      const headers = [disposition!.replace(/filename=.*/, `filename*=${extended}`), ...others];

      const { status, body } = await uploadParts(service.api, partnerPart(), { ...part, headers });

      expect(status).toBe(201);
      expect(await keyOf(body.feed_id)).toMatchObject({ fileName, nameInKey });
    });
  });

  describe('500', () => {
    it('is not sent for a file name that contains a NUL', async () => {
      const part = filePart();
      const headers = [
        part.headers[0]!.replace(/filename=.*/, "filename*=UTF-8''a%00b.csv"),
        part.headers[1]!,
      ];

      const { status } = await uploadParts(service.api, partnerPart(), { ...part, headers });

      expect(status).not.toBe(500);
    });
  });
});
