import { fieldPart, filePart, goodCsv, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { stored } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const priceFile = 'sku,price\nTENT-2,179.90\n';
const missingHeaders = 'Invalid CSV file: Missing required CSV headers: product_name, sku';
const upload = (csv: string, fields: Record<string, string>, partnerName = 'Acme Outdoor') =>
  service.api.upload({ csv, partnerName, fields });

describe('POST /feeds/upload with fields of the load', () => {
  describe('201', () => {
    it('stores them with the feed', async () => {
      const { status, body } = await upload(goodCsv, {
        mode: 'replace',
        collection: 'winter-26',
        max_skipped_percent: '2.5',
        max_price_jump_percent: '20',
      });

      expect(status).toBe(201);
      expect((await service.api.get(`/feeds/${body.feed_id}`)).body).toMatchObject({
        mode: 'replace',
        collection: 'winter-26',
        max_skipped_percent: 2.5,
        max_price_jump_percent: 20,
      });
    });

    it('shows no collection unless the form names one, or the mode is replace, which implies main', async () => {
      const named = async (fields: Record<string, string>) => {
        const { body } = await upload(goodCsv, fields);
        return (await service.api.get(`/feeds/${body.feed_id}`)).body.collection as string | null;
      };

      expect(await named({})).toBeNull();
      expect(await named({ mode: 'update' })).toBeNull();
      expect(await named({ collection: 'main' })).toBe('main');
      expect(await named({ mode: 'replace' })).toBe('main');
    });

    it('accepts a header with only sku in mode update', async () => {
      expect((await upload(priceFile, { mode: 'update' })).status).toBe(201);
    });

    it('accepts a rejects file in mode upsert and update', async () => {
      for (const mode of ['upsert', 'update'])
        expect((await upload('_line,_codes,sku,product_name\n', { mode })).status).toBe(201);
    });

    it('names a duplicate only of the same mode and collection', async () => {
      const uploads = [
        {},
        { mode: 'replace' },
        { collection: 'winter' },
        { mode: 'replace' },
        { max_skipped_percent: '1' },
        { collection: 'main' },
        { mode: 'replace', collection: 'main' },
      ];
      const receipts: { feed_id: string; duplicate_of: string | null }[] = [];
      for (const fields of uploads) {
        receipts.push((await upload(goodCsv, fields as Record<string, string>, 'Duplicates')).body);
      }

      const [first, second] = receipts.map(({ feed_id }) => feed_id);
      expect(receipts.map(({ duplicate_of }) => duplicate_of)).toEqual([
        ...[null, null, null, second, first],
        ...[null, second],
      ]);
    });

    it('are a part of the same request with an Idempotency-Key', async () => {
      const send = (mode: string, collection = '', key = 'modes') => {
        const form = new FormData();
        form.set('partner_name', 'Keys');
        form.set('mode', mode);
        if (collection) form.set('collection', collection);
        form.set('file', new Blob([goodCsv], { type: 'text/csv' }), 'feed.csv');
        return service.api.send('POST', '/feeds/upload', {
          headers: { 'idempotency-key': key },
          body: form,
        });
      };

      expect((await send('replace')).status).toBe(201);
      expect((await send('replace', 'main')).status).toBe(201);
      expect((await send('upsert')).status).toBe(422);
      expect((await send('upsert', '', 'collections')).status).toBe(201);
      expect((await send('upsert', 'main', 'collections')).status).toBe(422);
    });
  });

  describe('400', () => {
    it.each(['upsert', 'replace'])('requires product_name in mode %s', async (mode) => {
      expect(await upload(priceFile, { mode })).toMatchObject({
        status: 400,
        body: { detail: missingHeaders },
      });
    });

    it('requires sku in mode update', async () => {
      const response = await upload('product_name,price\nTent,1\n', { mode: 'update' });

      expect(response).toMatchObject({ status: 400, body: { detail: missingHeaders } });
    });
  });

  describe('422', () => {
    it.each([
      ['mode', 'Replace', 'enum'],
      ['mode', '', 'enum'],
      ['collection', '', 'string_too_short'],
      ['collection', 'x'.repeat(65), 'string_too_long'],
      ['collection', 'Winter', 'string_pattern_mismatch'],
      ['collection', "a'b", 'string_pattern_mismatch'],
      ['max_skipped_percent', '', 'float_parsing'],
      ['max_skipped_percent', '-1', 'float_parsing'],
      ['max_skipped_percent', '1e1', 'float_parsing'],
      ['max_skipped_percent', '100.1', 'less_than_equal'],
      ['max_price_jump_percent', '1e1', 'float_parsing'],
      ['max_price_jump_percent', '100.1', 'less_than_equal'],
    ])('rejects %s=%j as %s, and stores nothing', async (name, value, type) => {
      const before = await stored(service);

      const { status, body } = await upload(goodCsv, { [name]: value });

      expect([status, body.detail]).toEqual([
        422,
        [expect.objectContaining({ type, loc: ['body', name], input: value })],
      ]);
      expect(await stored(service)).toEqual(before);
    });

    it.each(['mode', 'collection', 'max_skipped_percent', 'max_price_jump_percent'])(
      'rejects %s after the file, for any file, and stores nothing',
      async (name) => {
        const before = await stored(service);
        for (const csv of [goodCsv, priceFile]) {
          const response = await uploadParts(
            service.api,
            partnerPart(),
            filePart(csv),
            fieldPart(name, 'main'),
          );

          expect(response).toMatchObject({
            status: 422,
            body: {
              detail: [
                {
                  type: 'field_after_file',
                  loc: ['body', name],
                  msg: 'Field must precede file',
                  input: 'main',
                },
              ],
            },
          });
        }
        expect(await stored(service)).toEqual(before);
      },
    );

    it('rejects a repeated field, and a rejects file in mode replace', async () => {
      const twice = await uploadParts(
        service.api,
        partnerPart(),
        fieldPart('mode', 'upsert'),
        fieldPart('mode', 'replace'),
        filePart(goodCsv),
      );
      expect(twice).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'repeated', loc: ['body', 'mode'] }] },
      });
      const rejects = await upload('_line,_codes,_messages,sku,product_name\n', { mode: 'replace' });
      expect(rejects).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'mode'], input: 'replace' }] },
      });
    });
  });
});

describe('POST /feeds/inspect', () => {
  it('ignores load options that do not change the reading, like other unknown parts', async () => {
    const fields = { collection: ' ', max_skipped_percent: 'x' };
    const response = await service.api.inspect({ csv: goodCsv, partnerName: 'A', fields });

    expect(response).toMatchObject({ status: 200, body: { accepted: true } });
  });
});
