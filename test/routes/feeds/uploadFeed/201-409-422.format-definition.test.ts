import { minimal, putFormat } from '../../../support/format-requests';
import { fieldPart, filePart, formBody, formType, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, withStoredKey, type TestService } from '../../../support/service';
import { stored } from '../../../support/stored-uploads';

const csv = 'Artikelnr;Bezeichnung;Preis\nA-1;Zelt;1.299,00\n';
const definition = {
  delimiter: ';',
  decimal_separator: ',',
  columns: {
    sku: { from: ['Artikelnr'] },
    product_name: { from: ['Bezeichnung'] },
    price: { from: ['Preis'] },
  },
};
const other = { ...definition, null_values: ['-'] };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const sent = (fields: Record<string, string>, given: unknown = definition) => ({
  ...fields,
  format_definition: typeof given === 'string' ? given : JSON.stringify(given),
});
const upload = (partnerName: string, fields: Record<string, string>, csvText = csv) =>
  service.api.upload({ csv: csvText, partnerName, fields });
const formatsOf = async (partnerName: string): Promise<Record<string, unknown>> => {
  const { body } = await service.api.get(`/formats?partner_name=${partnerName}`);
  const items = body.items as { format_name: string; definition: unknown }[];
  return Object.fromEntries(items.map((format) => [format.format_name, format.definition]));
};

describe('POST /feeds/upload with the definition of a format', () => {
  describe('201', () => {
    it('reads the file by the definition, and stores it under the named format', async () => {
      const receipt = await upload('Nordwind', sent({ format: 'artikel' }));
      expect(receipt.status).toBe(201);
      await service.api.post(`/jobs/${receipt.body.validation_job_id}/run`);

      const { body: feed } = await service.api.get(`/feeds/${receipt.body.feed_id}`);
      const { body: products } = await service.api.get('/products?partner_name=Nordwind');
      expect(feed.format_name).toBe('artikel');
      expect(products.items).toMatchObject([{ sku: 'A-1', product_name: 'Zelt', price: 1299 }]);
      expect(await formatsOf('Nordwind')).toEqual({ artikel: definition });
    });

    it('stores it as the default format if none is named, and replaces an existing one with its name', async () => {
      await putFormat(service.api, 'Ostwind', 'default', minimal);
      const receipt = await upload('Ostwind', sent({}));

      expect(receipt.status).toBe(201);
      expect(await formatsOf('Ostwind')).toEqual({ default: definition });
    });

    it('replays a repeated upload even if the format has changed since', async () => {
      const uploadAs = (format: string) => {
        const fields = Object.entries(sent({ format })).map(([name, value]) => fieldPart(name, value));
        const body = formBody([partnerPart('Twice'), ...fields, filePart(csv)]);
        const headers = { 'content-type': formType, 'idempotency-key': 'twice' };
        return service.api.send('POST', '/feeds/upload', { headers, body });
      };
      const first = await uploadAs('a');
      await putFormat(service.api, 'Twice', 'a', other);
      const again = await uploadAs('a');
      const renamed = await uploadAs('b');

      expect(again.body).toEqual(first.body);
      expect(renamed.status).toBe(422);
      expect(await formatsOf('Twice')).toEqual({ a: other });
    });

    it('stores feeds and formats of concurrent uploads for a partner without a format', async () => {
      await service.api.uploadFeed('sku,product_name\nA,Tent\n', 'Crowd');
      const names = Array.from({ length: 12 }, (_, at) => (at % 2 ? 'a' : 'b'));
      const definitionOf = (at: number) => ({ ...definition, null_values: [String(at)] });
      const receipts = await Promise.all(
        names.map((format, at) => upload('Crowd', sent({ format }, definitionOf(at)))),
      );

      expect(receipts.map(({ status }) => status)).toEqual(names.map(() => 201));
      expect(Object.keys(await formatsOf('Crowd'))).toEqual(['a', 'b']);
    });
  });

  describe('400', () => {
    it('does not change the formats of the partner when the file is rejected', async () => {
      await putFormat(service.api, 'Refused', 'default', definition);
      const { status } = await upload('Refused', sent({ format: 'default' }, other), 'sku;name\nA;B\n');

      expect(status).toBe(400);
      expect(await formatsOf('Refused')).toEqual({ default: definition });
    });
  });

  describe('403', () => {
    it('does not change the formats of the partner when the key is read-only', async () => {
      const reader = await withStoredKey(service, null, 'reader', { is_read_only: true });
      const { status } = await reader.upload({ csv, partnerName: 'Read', fields: sent({}) });

      expect(status).toBe(403);
      expect(await formatsOf('Read')).toEqual({});
    });
  });

  describe('409', () => {
    it('stores nothing when the partner has 100 formats, but replaces one of them', async () => {
      for (let at = 0; at < 100; at++) await putFormat(service.api, 'Full', `f-${at}`, minimal);
      const before = await stored(service);
      const refused = await upload('Full', sent({ format: 'new' }));

      expect(refused).toMatchObject({
        status: 409,
        body: { detail: 'Partner Full has 100 formats already. Delete one first.' },
      });
      expect(await stored(service)).toEqual(before);
      expect((await upload('Full', sent({ format: 'f-7' }))).status).toBe(201);
    });
  });

  describe('422', () => {
    it.each([
      ['no JSON', '{', {}, [['json_invalid', 'format_definition']]],
      ['no object', '[1]', {}, [['dict_type', 'format_definition']]],
      ['a missing member', '{}', {}, [['missing', 'format_definition.columns']]],
      ['an unknown member', { ...minimal, color: 1 }, {}, [['extra_forbidden', 'format_definition.color']]],
      [
        'a source twice',
        { columns: { ...minimal.columns, price: { from: ['a'], value: '1' } } },
        {},
        [['one_source', 'format_definition.columns.price']],
      ],
      ['the name of a built-in format', minimal, { format: 'shopify' }, [['reserved_name', 'format']]],
      [
        'no product_name in another mode than update',
        { columns: { sku: { from: ['a'] } } },
        {},
        [['format_without_column', 'format_definition']],
      ],
    ])('reports the errors of %s, and stores nothing', async (_, given, fields, faults) => {
      const { status, body } = await upload('Wrong', sent(fields, given));

      expect(status).toBe(422);
      const found = (body.detail as { type: string; loc: string[] }[]).map(({ type, loc }) => [
        type,
        loc.slice(1).join('.'),
      ]);
      expect(found).toEqual(faults);
      expect(await formatsOf('Wrong')).toEqual({});
    });

    it.each([
      ['a definition', JSON.stringify({ ...definition, null_values: ['ß'.repeat(40_000)] })],
      ['white space behind it', `${JSON.stringify(definition)}${' '.repeat(70_000)}`],
    ])('rejects %s beyond 64 KiB of UTF-8, and stores nothing', async (_, given) => {
      const { status, body } = await upload('Long', sent({}, given));

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([
        { type: 'string_too_long', loc: ['body', 'format_definition'], ctx: { max_length: 65_536 } },
      ]);
      expect(await formatsOf('Long')).toEqual({});
    });

    it('accepts a definition of 64 KiB', async () => {
      const { status } = await upload('Long', sent({}, JSON.stringify(definition).padEnd(65_536)));

      expect(status).toBe(201);
      expect(await formatsOf('Long')).toEqual({ default: definition });
    });

    it('rejects a definition after the file', async () => {
      const behind = fieldPart('format_definition', JSON.stringify(definition));
      const { status, body } = await uploadParts(service.api, partnerPart('Behind'), filePart(csv), behind);

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ type: 'field_after_file', loc: ['body', 'format_definition'] }]);
    });
  });
});

describe('POST /feeds/inspect with the definition of a format', () => {
  it('reads the file by it, and stores nothing', async () => {
    const { status, body } = await service.api.inspect({ csv, partnerName: 'Seen', fields: sent({}) });

    expect(status).toBe(200);
    expect(body).toMatchObject({ accepted: true, issue_counts: [{ code: 'no_currency' }] });
    expect(body.sample).toMatchObject([{ sku: 'A-1', product_name: 'Zelt', price: '1299.00' }]);
    expect(await formatsOf('Seen')).toEqual({});
  });

  it('reports its errors', async () => {
    const { status, body } = await service.api.inspect({ csv, partnerName: 'Seen', fields: sent({}, {}) });

    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ type: 'missing', loc: ['body', 'format_definition', 'columns'] }]);
  });
});
