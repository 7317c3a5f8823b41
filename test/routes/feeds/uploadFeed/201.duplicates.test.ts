import { sha256, eventually } from '../../../support/harness';
import { filePart, formBody, goodCsv, partnerPart, uploadParts, OpenUpload } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { stored } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Uploads; receipt and feed must agree about the file. */
async function upload(csv: string | Uint8Array, partnerName: string) {
  const { body } = await service.api.upload({ csv, partnerName });
  const feed = await service.api.get(`/feeds/${body.feed_id}`);
  const { sha256, size_bytes, duplicate_of } = body;
  expect(feed.body).toMatchObject({ sha256, size_bytes, duplicate_of });
  return body as { feed_id: string; sha256: string; size_bytes: number; duplicate_of: string | null };
}

async function duplicateOf(feedId: string): Promise<unknown> {
  return (await service.api.get(`/feeds/${feedId}`)).body.duplicate_of;
}

describe('POST /feeds/upload', () => {
  describe('sha256 and size_bytes', () => {
    it.each([
      ['a small file', Buffer.from(goodCsv)],
      ['a byte order mark, and every line end', Buffer.from('\ufeffsku,product_name\r\n1,a\n\r\n2,"b\r\n"')],
      ['characters of several bytes', Buffer.from('sku,product_name\n1,Größe € 😀\n')],
      ['several chunks', Buffer.from(goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(400_000))],
    ])('describe the bytes as they were sent: %s', async (what, csv) => {
      const expected = { sha256: await sha256(csv), size_bytes: csv.length };

      expect(await upload(csv, `Digest of ${what}`)).toMatchObject(expected);
      const { body } = await uploadParts(service.api, filePart(csv), partnerPart(`File first, ${what}`));
      expect(body).toMatchObject(expected);
    });
  });

  describe('duplicate_of', () => {
    it('is the first feed of the partner with the same bytes', async () => {
      const partner = 'Again and Again';
      const first = await upload(goodCsv, partner);
      const other = await upload(`${goodCsv}\n`, partner);
      const second = await upload(goodCsv, partner);
      const third = await upload(goodCsv, partner);
      const otherAgain = await upload(`${goodCsv}\n`, partner);

      expect(first.duplicate_of).toBeNull();
      expect(other.duplicate_of).toBeNull();
      expect(second.duplicate_of).toBe(first.feed_id);
      expect(third.duplicate_of).toBe(first.feed_id);
      expect(otherAgain.duplicate_of).toBe(other.feed_id);
      expect(await duplicateOf(first.feed_id)).toBeNull();
    });

    it("names no other partner's feed", async () => {
      await upload(goodCsv, 'One Partner');

      expect((await upload(goodCsv, 'Another Partner')).duplicate_of).toBeNull();
    });

    it.each([
      ['a byte order mark', `\ufeff${goodCsv}`],
      ['other line ends', goodCsv.replaceAll('\n', '\r\n')],
      ['another letter', goodCsv.replace('tent', 'Tent')],
    ])('compares bytes, not rows: %s makes another file', async (what, csv) => {
      await upload(goodCsv, what);

      expect((await upload(csv, what)).duplicate_of).toBeNull();
    });

    it('ignores rejected uploads', async () => {
      const csv = 'product_name\na\n';
      expect((await service.api.upload({ csv, partnerName: 'Refused' })).status).toBe(400);
      expect(
        (await service.api.upload({ csv: goodCsv, fileName: 'a.xlsx', partnerName: 'Refused' })).status,
      ).toBe(400);

      expect((await upload(goodCsv, 'Refused')).duplicate_of).toBeNull();
    });

    it('compares feed numbers: an upload that started earlier and ended later is the first', async () => {
      const partnerName = 'Slow Line';
      const csv = goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(40_000);
      const form = formBody([partnerPart(partnerName), filePart(csv)]);
      const slow = new OpenUpload(service);
      await slow.write(form.subarray(0, form.length - 100));
      await eventually('the slow one is being stored', async () =>
        expect((await stored(service)).files).toContainEqual(expect.stringContaining('unfinished')),
      );
      const quick = await upload(csv, partnerName);
      expect(quick.duplicate_of).toBeNull();

      await slow.write(form.subarray(form.length - 100));
      slow.end();

      const { body } = await slow.response;
      expect(body.duplicate_of).toBeNull();
      expect(await duplicateOf(quick.feed_id)).toBe(body.feed_id);
    });

    it('compares numbers beyond 99999, not texts', async () => {
      const other = await startTestService();
      await other.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 99998)");
      const [first, second] = [await other.api.uploadFeed(goodCsv), await other.api.uploadFeed(goodCsv)];

      expect((await other.api.get(`/feeds/${second.feedId}`)).body.duplicate_of).toBe('FD99999');
      expect((await other.api.get(`/feeds/${first.feedId}`)).body.duplicate_of).toBeNull();
    });
  });
});
