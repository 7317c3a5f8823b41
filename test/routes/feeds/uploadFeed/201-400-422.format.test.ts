import { minimal, putFormat } from '../../../support/format-requests';
import { fieldPart, filePart, formBody, formType, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, withStoredKey, type TestService } from '../../../support/service';
import { stored } from '../../../support/stored-uploads';

type Part = ReturnType<typeof fieldPart>;

/** A feed as specified, and in each format of this test. */
const csv = 'sku,product_name,id,title,Nr,Name\nA,A,A,A,A,A\n';
const own = { columns: { sku: { from: ['sku'] }, product_name: { from: ['product_name'] } } };
const stockLevels = { columns: { sku: { from: ['sku'] } } };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await putFormat(service.api, 'Acme', 'own', own);
  await putFormat(service.api, 'Acme', 'stock', stockLevels);
});

const upload = (fields: Record<string, string>, partnerName = 'Acme', fileName = 'feed.csv') =>
  service.api.upload({ csv, partnerName, fields, fileName });

const formatOf = async ({ body }: { body: { feed_id: string } }) =>
  (await service.api.get(`/feeds/${body.feed_id}`)).body.format_name as string | null;

const unknownFormat = (input: string) => ({
  status: 422,
  body: {
    detail: [
      {
        type: 'unknown_format',
        loc: ['body', 'format'],
        msg: 'Input should be the name of a built-in format or of a format of the partner',
        input,
      },
    ],
  },
});

describe('POST /feeds/upload with a format', () => {
  describe('201', () => {
    it.each(['own', 'standard', 'google-merchant'])('stores the format %s with the feed', async (format) => {
      const receipt = await upload({ format });

      expect(receipt.status).toBe(201);
      expect(await formatOf(receipt)).toBe(format);
    });

    it('stores the definition that the format had at the time of the upload', async () => {
      await putFormat(service.api, 'Acme', 'changing', own);
      await upload({ format: 'changing' });
      await putFormat(service.api, 'Acme', 'changing', { ...own, null_values: ['-'] });

      expect(await service.db('feeds').where('format_name', 'changing').pluck('format_definition')).toEqual([
        own,
      ]);
    });

    it('has no format without a default one, and reports that', async () => {
      expect(await formatOf(await upload({}))).toBeNull();
      expect((await service.api.get('/feeds?limit=1')).body.items[0].format_name).toBeNull();
    });

    it('uses the partner’s default format if none is named, unless standard overrides it', async () => {
      await putFormat(service.api, 'With default', 'default', own);

      expect(await formatOf(await upload({}, 'With default'))).toBe('default');
      expect(await formatOf(await upload({ format: 'default' }, 'With default'))).toBe('default');
      expect(await formatOf(await upload({ format: 'standard' }, 'With default'))).toBe('standard');
      expect(await formatOf(await upload({}))).toBeNull();
    });

    it.each(['feed.tsv', 'feed.TSV', 'feed.txt'])(
      'accepts the file name %s only with a format',
      async (fileName) => {
        const notCsv = { status: 400, body: { detail: 'Only CSV uploads are supported at this time.' } };
        const mediaType = 'application/octet-stream';
        const form = { csv, partnerName: 'Acme', fileName, mediaType };

        expect(await service.api.upload(form)).toMatchObject(notCsv);
        expect((await service.api.upload({ ...form, fields: { format: 'standard' } })).status).toBe(201);
      },
    );

    it('accepts a format without product_name in mode update', async () => {
      expect((await upload({ format: 'stock', mode: 'update' })).status).toBe(201);
    });

    it('accepts partner_name after the file, also with its own or its default format', async () => {
      await putFormat(service.api, 'Late', 'default', own);
      const late = (name: string, ...fields: Part[]) =>
        uploadParts(service.api, ...fields, filePart(csv), partnerPart(name));

      expect(await formatOf(await late('Acme', fieldPart('format', 'own')))).toBe('own');
      expect(await formatOf(await late('Acme', fieldPart('format', 'google-merchant')))).toBe(
        'google-merchant',
      );
      expect(await formatOf(await late('Late'))).toBe('default');
      expect(await formatOf(await late('Acme'))).toBeNull();
      const [{ raw_file_object_key: key }] = (await service.api.get('/feeds?limit=1')).body.items;
      expect(key).toMatch(/^raw\/partners\/acme\/feeds\//);
    });
  });

  describe('400', () => {
    it.each([
      ['is empty', '', 'Uploaded file is empty.'],
      [
        'is not UTF-8',
        Buffer.from('sku,product_name\nA,\xff\n', 'latin1'),
        'CSV file must be UTF-8 encoded.',
      ],
      ['lacks headers', 'a,b\n', 'Invalid CSV file: Missing required CSV headers: product_name, sku'],
    ])(
      'rejects a file that %s, also when its partner comes last and others have formats, and stores nothing',
      async (_what, content, detail) => {
        await putFormat(service.api, 'Late', 'default', own);
        const before = await stored(service);

        for (const name of ['Acme', 'Nobody Yet']) {
          const { status, body } = await uploadParts(service.api, filePart(content), partnerPart(name));
          expect([status, body]).toEqual([400, { detail }]);
        }
        expect(await stored(service)).toEqual(before);
      },
    );

    it('rejects a file name that needs a format, when the partner comes last and has none', async () => {
      await putFormat(service.api, 'Late', 'default', own);
      const parts = (name: string) => [filePart(csv, { fileName: 'feed.tsv' }), partnerPart(name)];

      expect(await uploadParts(service.api, ...parts('Acme'))).toMatchObject({
        status: 400,
        body: { detail: 'Only CSV uploads are supported at this time.' },
      });
      expect((await uploadParts(service.api, ...parts('Late'))).status).toBe(201);
    });
  });

  describe('422', () => {
    it.each(['unknown', 'default', 'striped'])(
      'rejects the unknown format %s, for any file',
      async (format) => {
        await putFormat(service.api, 'Zebra', 'striped');
        const before = await stored(service);

        expect(await upload({ format })).toMatchObject(unknownFormat(format));
        expect(await upload({ format }, 'Acme', 'feed.pdf')).toMatchObject(unknownFormat(format));
        const late = [fieldPart('format', format), filePart(csv), partnerPart('Acme')];
        expect(await uploadParts(service.api, ...late)).toMatchObject(unknownFormat(format));
        expect(await stored(service)).toEqual(before);
      },
    );

    it('rejects a format that only another partner has, to a key of this one', async () => {
      await putFormat(service.api, 'Zebra', 'striped');
      const limited = await withStoredKey(service, 'Acme');
      const form = { csv, partnerName: 'Acme', fields: { format: 'striped' } };

      expect(await limited.upload(form)).toMatchObject(unknownFormat('striped'));
    });

    it.each([
      ['', 'string_too_short'],
      ['A b', 'string_pattern_mismatch'],
      ['x'.repeat(65), 'string_too_long'],
      ['a\0', 'string_pattern_mismatch'],
    ])('rejects the name %j', async (format, type) => {
      expect(await upload({ format })).toMatchObject({
        status: 422,
        body: { detail: [{ type, loc: ['body', 'format'], input: format }] },
      });
    });

    it('rejects a format after the file', async () => {
      expect(
        await uploadParts(service.api, partnerPart('Acme'), filePart('no feed'), fieldPart('format', 'own')),
      ).toMatchObject({
        status: 422,
        body: {
          detail: [
            {
              type: 'field_after_file',
              loc: ['body', 'format'],
              msg: 'Field must precede file',
              input: 'own',
            },
          ],
        },
      });
    });

    it('rejects a format without product_name, except in mode update', async () => {
      const refusal = {
        status: 422,
        body: {
          detail: [
            {
              type: 'format_without_column',
              loc: ['body', 'format'],
              msg: "Format should have the column 'product_name', except in mode 'update'",
              input: 'stock',
              ctx: { column: 'product_name' },
            },
          ],
        },
      };

      expect(await upload({ format: 'stock' })).toMatchObject(refusal);
      expect(await upload({ format: 'stock', mode: 'replace' })).toMatchObject(refusal);
      const late = [fieldPart('format', 'stock'), filePart(csv), partnerPart('Acme')];
      expect(await uploadParts(service.api, ...late)).toMatchObject(refusal);
    });

    it('reports a wrong format together with other wrong fields', async () => {
      expect(await upload({ format: 'unknown', mode: 'delete' }, ' ')).toMatchObject({
        status: 422,
        body: {
          detail: [{ loc: ['body', 'partner_name'] }, { loc: ['body', 'mode'] }, { loc: ['body', 'format'] }],
        },
      });
    });
  });

  describe('the same upload', () => {
    it('is a duplicate only with an equal definition, under any name', async () => {
      const file = 'sku,product_name,Nr,Name\nDUP,A,DUP,A\n';
      await putFormat(service.api, 'Twice', 'one', own);
      await putFormat(service.api, 'Twice', 'two', { columns: { ...own.columns } });
      await putFormat(service.api, 'Twice', 'other', minimal);
      const ofFormat = async (format?: string) => {
        const fields = format ? { format } : undefined;
        const { body } = await service.api.upload({ csv: file, partnerName: 'Twice', fields });
        return body as { feed_id: string; duplicate_of: string | null };
      };

      const plain = await ofFormat();
      const first = await ofFormat('one');
      const second = await ofFormat('two');
      const other = await ofFormat('other');

      expect([plain, first, second, other].map(({ duplicate_of }) => duplicate_of)).toEqual([
        null,
        null,
        first.feed_id,
        null,
      ]);
      expect((await ofFormat()).duplicate_of).toBe(plain.feed_id);
      expect((await service.api.get(`/feeds/${second.feed_id}`)).body.duplicate_of).toBe(first.feed_id);
    });

    it('with an Idempotency-Key is replayed only with an equal definition', async () => {
      await putFormat(service.api, 'Acme', 'keyed', own);
      const sendKeyed = (...fields: Part[]) =>
        service.api.send('POST', '/feeds/upload', {
          headers: { 'content-type': formType, 'idempotency-key': 'of a format' },
          body: new Uint8Array(formBody([partnerPart('Acme'), ...fields, filePart(csv)])),
        });
      const first = await sendKeyed(fieldPart('format', 'keyed'));

      const again = await sendKeyed(fieldPart('format', 'keyed'));
      const equal = await sendKeyed(fieldPart('format', 'own'));
      const without = await sendKeyed();
      await putFormat(service.api, 'Acme', 'keyed', { ...own, null_values: ['-'] });
      const changed = await sendKeyed(fieldPart('format', 'keyed'));

      expect([first, again, equal, without, changed].map(({ status }) => status)).toEqual([
        201, 201, 201, 422, 422,
      ]);
      expect([again.body, equal.body]).toEqual([first.body, first.body]);
    });
  });
});
