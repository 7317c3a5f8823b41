import fc from 'fast-check';
import type { ShapeError } from '../../../src/base/errors';
import { definitionErrors } from '../../../src/clients/cli/checked-format';
import { fitting, unfitting } from '../../support/arbitrary';
import { casesFor } from '../../support/fuzz';
import { document } from '../../support/contract';
import { formatPath, isoTime, minimal, putFormat } from '../../support/format-requests';
import { sendRaw } from '../../support/requests';
import { startTestService, testKey, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const put = (definition: unknown, formatName = 'weekly', partnerName = 'Acme Outdoor') =>
  putFormat(service.api, partnerName, formatName, definition);

/** The document's example, with every member but `header`. */
const weekly = (document.components!.schemas!.FormatDefinition as { example: object }).example;

const withoutHeader = {
  delimiter: '|',
  encoding: 'utf-16le',
  header: false,
  columns: { sku: { position: 1 }, price: { position: 3 }, currency: { value: 'EUR' } },
};

describe('PUT /partners/{partner_name}/formats/{format_name}', () => {
  describe('200', () => {
    it('creates a format, which GET shows', async () => {
      const { status, body } = await put(weekly);

      expect(status).toBe(200);
      expect(body).toEqual({
        format_name: 'weekly',
        partner_name: 'Acme Outdoor',
        definition: weekly,
        created_at: isoTime,
        updated_at: body.created_at,
      });
      expect((await service.api.get(formatPath('Acme Outdoor', 'weekly'))).body).toEqual(body);
    });

    it('stores every member that it shows again', async () => {
      const definition = {
        columns: {
          ...minimal.columns,
          availability: {
            quantity: { from: ['Stock'], unless: [{ header: 'Policy', values: ['', 'continue'] }] },
          },
        },
        keep_when_empty: ['description', 'availability'],
        currency_from_sign: true,
      };
      expect((await put(definition, 'members')).status).toBe(200);
      expect((await service.api.get(formatPath('Acme Outdoor', 'members'))).body.definition).toEqual(
        definition,
      );
    });

    it('replaces a format as a whole', async () => {
      const { body: before } = await put(weekly, 'replaced');

      const { status, body } = await put(withoutHeader, 'replaced');

      expect(status).toBe(200);
      expect(body).toEqual({ ...before, definition: withoutHeader, updated_at: isoTime });
      expect(Date.parse(body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    });

    it('keeps the order of words and their spelling', async () => {
      const availability = { ZZ: 'in_stock', a: 'in_stock', 'ab Lager ': 'sold_out', B: 'in_stock' };

      const { body } = await put({ ...minimal, availability }, 'words');

      expect(Object.keys(body.definition.availability)).toEqual(['ZZ', 'a', 'ab Lager ', 'B']);
    });

    it('creates the partner', async () => {
      const { status, body } = await put(minimal, 'first', ' Ångström '.normalize('NFD'));

      expect([status, body.partner_name]).toEqual([200, 'Ångström'.normalize('NFC')]);
      expect((await service.api.get(`/partners/${encodeURIComponent('Ångström')}`)).body).toMatchObject({
        products: 0,
        feeds: 0,
      });
    });

    it('accepts every format of GET /formats under another name', async () => {
      const { body } = await service.api.get('/formats?limit=5');
      for (const { format_name, partner_name, definition } of body.items) {
        expect(partner_name).toBeNull();
        const copy = await put(definition, `my-${format_name}`);
        expect([copy.status, copy.body.definition]).toEqual([200, definition]);
      }
    });

    it('stores the concurrent formats of a new partner, in any order', async () => {
      const names = Array.from({ length: 12 }, (_, at) => (at % 2 ? 'a' : 'b'));
      const answers = await Promise.all(names.map((name) => put(minimal, name, 'All At Once')));

      expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
      const { body } = await service.api.get('/formats?partner_name=All%20At%20Once');
      expect(body.items).toMatchObject([{ format_name: 'a' }, { format_name: 'b' }]);
    });
  });

  describe('400', () => {
    it('rejects a body that is not JSON, and a path that cannot be decoded', async () => {
      const send = (path: string) =>
        service.api.send('PUT', path, {
          headers: { 'content-type': 'application/json' },
          body: '{"columns":',
        });

      expect(await send(formatPath('Acme', 'a'))).toMatchObject({
        status: 400,
        body: { detail: 'Malformed JSON in request body.' },
      });
      expect(await service.api.put('/partners/%E0%A4%A/formats/a', minimal)).toMatchObject({
        status: 400,
        body: { detail: 'Malformed request path.' },
      });
    });
  });

  describe('403', () => {
    it('rejects the key of another partner and a read-only key, and stores nothing', async () => {
      const limited = await withStoredKey(service, 'Zebra', 'limited');
      const reader = await withStoredKey(service, null, 'reader', { is_read_only: true });

      expect(await putFormat(limited, 'Hidden', 'a')).toMatchObject({
        status: 403,
        body: { detail: 'This API key is limited to partner Zebra.' },
      });
      expect(await putFormat(reader, 'Hidden', 'a')).toMatchObject({
        status: 403,
        body: { detail: 'This API key is read-only.' },
      });
      expect(await putFormat(limited, 'Zebra', 'a')).toMatchObject({ status: 200 });
      expect((await service.api.get('/partners/Hidden')).status).toBe(404);
    });
  });

  describe('409', () => {
    it('rejects the 101st format of a partner, also of concurrent requests, but no replacement', async () => {
      const names = Array.from({ length: 98 }, (_, index) => `f-${index}`);
      await put(minimal, 'f-0', 'Many');
      const [{ partner_id }] = await service
        .db('partners')
        .where('partner_name', 'Many')
        .select('partner_id');
      await service.db('partner_formats').insert(
        names.slice(1).map((format_name) => ({
          partner_id,
          format_name,
          definition: JSON.stringify(minimal),
        })),
      );

      const responses = await Promise.all(
        ['a', 'b', 'c', 'd', 'e'].map((name) => put(minimal, name, 'Many')),
      );

      expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409]);
      expect(responses.find(({ status }) => status === 409)!.body).toEqual({
        detail: 'Partner Many has 100 formats already. Delete one first.',
      });
      expect((await put(weekly, 'f-50', 'Many')).status).toBe(200);
      expect((await put(minimal, 'a', 'Few')).status).toBe(200);
    });
  });

  describe('413', () => {
    it('rejects a body over 64 KiB, and accepts one of 64 KiB', async () => {
      const text = JSON.stringify(minimal);
      const send = (bytes: number) =>
        service.api.send('PUT', formatPath('Acme', 'large'), {
          headers: { 'content-type': 'application/json' },
          body: text + ' '.repeat(bytes - text.length),
        });

      expect((await send(64 * 1024)).status).toBe(200);
      expect(await send(64 * 1024 + 1)).toMatchObject({
        status: 413,
        body: { detail: 'Request body exceeds the limit of 65536 bytes.' },
      });
    });
  });

  describe('415', () => {
    it('rejects another media type', async () => {
      const init = { headers: { 'content-type': 'text/plain' }, body: JSON.stringify(minimal) };

      expect(await service.api.send('PUT', formatPath('Acme', 'a'), init)).toMatchObject({
        status: 415,
        body: { detail: 'Unsupported media type. Send the body as application/json.' },
      });
    });
  });

  describe('422', () => {
    it('lists all errors at once, of the shape and of other rules, each with a pointer', async () => {
      const { status, body } = await put(
        {
          delimitr: ';',
          encoding: 'ebcdic',
          skip_lines: -1,
          columns: { sku: { from: [], value: 'A' }, 'a/b~c': { from: ['X'] }, price: { join: ['A', ' '] } },
          fill_down: [{ column: 'brand' }],
          availability: { ' ': 'in_stock', JA: 'here', ja: 'in_stock' },
        },
        'shopify',
        'a\0',
      );

      expect(status).toBe(422);
      const faults = (body.detail as { loc: unknown[]; type: string; pointer?: string }[]).map(
        ({ loc, type, pointer }) => [loc.join('.'), type, pointer],
      );
      expect(faults.sort()).toEqual(
        [
          ['path.partner_name', 'string_pattern_mismatch', undefined],
          ['path.format_name', 'reserved_name', undefined],
          ['body.delimitr', 'extra_forbidden', '/delimitr'],
          ['body.encoding', 'enum', '/encoding'],
          ['body.skip_lines', 'greater_than_equal', '/skip_lines'],
          ['body.columns.sku', 'one_source', '/columns/sku'],
          ['body.columns.sku.from', 'too_short', '/columns/sku/from'],
          ['body.columns.sku.value', 'constant_sku', '/columns/sku/value'],
          ['body.columns.a/b~c', 'extra_forbidden', '/columns/a~1b~0c'],
          ['body.columns.price.with', 'missing', '/columns/price/with'],
          ['body.columns.price.join.1', 'string_blank', '/columns/price/join/1'],
          ['body.fill_down.0.by', 'missing', '/fill_down/0/by'],
          ['body.fill_down.0.column', 'column_missing', '/fill_down/0/column'],
          ['body.availability. ', 'string_blank', '/availability/ '],
          ['body.availability.JA', 'enum', '/availability/JA'],
          ['body.availability.ja', 'repeated', '/availability/ja'],
        ].sort(),
      );
    });

    it.each([
      ['no columns', {}, '/columns', 'missing'],
      ['no sku', { columns: { product_name: { from: ['a'] } } }, '/columns/sku', 'missing'],
      ['an array', [], '', 'dict_type'],
      ['a text', 'standard', '', 'dict_type'],
      ['a column that is null', { columns: { sku: null } }, '/columns/sku', 'dict_type'],
      ['no text as a header', { columns: { sku: { from: [1] } } }, '/columns/sku/from/0', 'string_type'],
      ['an object as a list', { columns: { sku: { from: {} } } }, '/columns/sku/from', 'list_type'],
      ['two characters', { ...minimal, delimiter: ',,' }, '/delimiter', 'string_pattern_mismatch'],
      ['an empty delimiter', { ...minimal, delimiter: '' }, '/delimiter', 'string_pattern_mismatch'],
      [
        'a wrong separator',
        { ...minimal, decimal_separator: ';' },
        '/decimal_separator',
        'string_pattern_mismatch',
      ],
      ['no number', { ...minimal, skip_lines: '2' }, '/skip_lines', 'int_type'],
      ['too many lines', { ...minimal, skip_lines: 1001 }, '/skip_lines', 'less_than_equal'],
      ['no boolean', { ...minimal, header: 'no' }, '/header', 'bool_parsing'],
      ['an unknown word', { ...minimal, availability: { a: 'lots' } }, '/availability/a', 'enum'],
      ['a NUL', { ...minimal, null_values: ['a\0'] }, '/null_values/0', 'string_nul'],
      [
        'a NUL in a word',
        { ...minimal, availability: { 'a\0': 'in_stock' } },
        '/availability/a\0',
        'string_nul',
      ],
      ['too many values', { ...minimal, null_values: Array(101).fill('x') }, '/null_values', 'too_long'],
      ['an unknown quote', { ...minimal, quote: "'" }, '/quote', 'string_pattern_mismatch'],
      ['an unknown treatment of marks', { ...minimal, text_marks: 'keep' }, '/text_marks', 'enum'],
      ['no condition', { ...minimal, only_rows_where: [] }, '/only_rows_where', 'too_short'],
      [
        'a condition without values',
        { ...minimal, only_rows_where: [{ header: 'Status', values: [] }] },
        '/only_rows_where/0/values',
        'too_short',
      ],
      [
        'a second condition on a header',
        {
          ...minimal,
          only_rows_where: [
            { header: 'Status', values: ['a'] },
            { header: 'status ', values: ['b'] },
          ],
        },
        '/only_rows_where/1/header',
        'repeated',
      ],
      [
        'a value that is a null word',
        { ...minimal, null_values: ['-'], only_rows_where: [{ header: 'Status', values: ['-'] }] },
        '/only_rows_where/0/values/0',
        'null_value',
      ],
      ['a lone surrogate', { ...minimal, null_values: ['\ud800'] }, '/null_values/0', 'string_unicode'],
      [
        'too many words',
        {
          ...minimal,
          availability: Object.fromEntries([...Array(201).keys()].map((n) => [`w${n}`, 'in_stock'])),
        },
        '/availability',
        'too_long',
      ],
    ])('names the error of %s', async (_what, definition, pointer, type) => {
      const { status, body } = await put(definition);

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ pointer, type }]);
    });

    const withConstants = (constants: Record<string, string>, more: object = {}) => ({
      ...more,
      columns: {
        ...minimal.columns,
        ...Object.fromEntries(Object.entries(constants).map(([column, value]) => [column, { value }])),
      },
    });

    it.each([
      ['a price', withConstants({ price: 'on request' }), '/columns/price/value', 'invalid_price'],
      ['a price with a comma', withConstants({ price: '12,50' }), '/columns/price/value', 'invalid_price'],
      [
        'a price with a point',
        withConstants({ price: '12.50' }, { decimal_separator: ',' }),
        '/columns/price/value',
        'invalid_price',
      ],
      [
        'a price in another currency',
        withConstants({ price: '5 USD', currency: 'EUR' }),
        '/columns/price/value',
        'currency_conflict',
      ],
      [
        'an empty name',
        withConstants({ product_name: ' \u00a0' }),
        '/columns/product_name/value',
        'missing_required',
      ],
      ['a long brand', withConstants({ brand: 'x'.repeat(256) }), '/columns/brand/value', 'value_too_long'],
      [
        'a long availability',
        withConstants({ availability: 'x'.repeat(101) }),
        '/columns/availability/value',
        'value_too_long',
      ],
    ])('rejects %s that no row could load with', async (_what, definition, pointer, code) => {
      const { status, body } = await put(definition);

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ pointer, type: 'constant_not_loadable', ctx: { code } }]);
    });

    it.each([
      ['a price', withConstants({ price: '12.50 eur' })],
      ['a price with a comma', withConstants({ price: '1.299,00' }, { decimal_separator: ',' })],
      ['no price', withConstants({ price: '' })],
      ['an availability that cannot be ordered', withConstants({ availability: 'ask us' })],
    ])('accepts %s that loads', async (_what, definition) => {
      expect((await put(definition, 'constant')).status).toBe(200);
    });

    it('rejects an empty constant for the availability, also in the definition of an upload', async () => {
      const definition = withConstants({ availability: ' ' });
      const { status, body } = await put(definition);
      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ pointer: '/columns/availability/value', type: 'string_blank' }]);

      const fields = { format: 'own', format_definition: JSON.stringify(definition) };
      const upload = await service.api.upload({ csv: 'Nr,Name\nA,N\n', partnerName: 'Acme', fields });
      expect(upload.status).toBe(422);
      expect(upload.body.detail).toMatchObject([{ type: 'string_blank' }]);
    });

    it.each([
      ['the sku', { ...minimal, keep_when_empty: ['sku'] }],
      ['one column twice', { ...minimal, keep_when_empty: ['brand', 'brand'] }],
    ])('rejects keep_when_empty with %s', async (_what, definition) => {
      expect((await put(definition)).status).toBe(422);
    });

    it('needs a body', async () => {
      expect(await service.api.send('PUT', formatPath('Acme', 'a'))).toMatchObject({
        status: 422,
        body: {
          detail: [{ type: 'missing', loc: ['body'], pointer: '', msg: 'Field required', input: null }],
        },
      });
    });

    it('rejects a body that is nested too deeply', async () => {
      let deep: object = {};
      for (let level = 0; level < 40; level++) deep = { deep };

      expect(await put(deep)).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'nesting_too_deep', loc: ['body'], pointer: '' }] },
      });
    });

    it.each(['standard', 'google-merchant', 'magento2', 'shopify', 'woocommerce', 'excel-eu'])(
      'rejects the name of the built-in format %s',
      async (name) => {
        expect(await put(minimal, name)).toMatchObject({
          status: 422,
          body: {
            detail: [
              {
                type: 'reserved_name',
                loc: ['path', 'format_name'],
                msg: 'Input should not be the name of a built-in format',
                input: name,
              },
            ],
          },
        });
      },
    );

    it.each(['Weekly', 'a b', 'a/b', 'ä', 'x'.repeat(65), 'a\0'])('rejects the name %j', async (name) => {
      const { status, body } = await put(minimal, name);

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ loc: ['path', 'format_name'], input: name }]);
      expect(body.detail[0]).not.toHaveProperty('pointer');
    });

    it.each([
      ['%20', 'string_too_short'],
      ['.', 'reserved_name'],
      ['..', 'reserved_name'],
      ['%2e%2E', 'reserved_name'],
      ['a%00b', 'string_pattern_mismatch'],
      ['x'.repeat(256), 'string_too_long'],
    ])('rejects the partner name %s', async (segment, type) => {
      const headers = { 'x-api-key': testKey };
      const path = `/partners/${segment}/formats/a`;

      const { status, text } = await sendRaw(service.url, { method: 'PUT', path, headers });

      expect(status).toBe(422);
      const { detail } = JSON.parse(text) as { detail: { type: string; loc: string[] }[] };
      expect(detail.map((fault) => [fault.type, ...fault.loc])).toEqual([
        ['missing', 'body'],
        [type, 'path', 'partner_name'],
      ]);
    });

    it('truncates a list with too many wrong entries', async () => {
      const { body } = await put({ columns: { sku: { from: Array(10_000).fill(1) } } });

      expect(body.detail).toHaveLength(22);
      expect(body.detail[0]).toMatchObject({ type: 'too_long', pointer: '/columns/sku/from', input: null });
    });
  });

  it('refuses what `partner-feed check --format` refuses, with the same faults, and nothing else', async () => {
    const schema = { $ref: '#/components/schemas/FormatDefinition' };
    const isObject = (body: unknown) =>
      typeof body === 'object' && body !== null && JSON.stringify(body).isWellFormed();
    const body = fc.oneof(fitting(schema), unfitting(schema).filter(isObject));
    await fc.assert(
      fc.asyncProperty(body, async (definition) => {
        const { status, body: response } = await put(definition, 'checked');
        const errors = definitionErrors(JSON.parse(JSON.stringify(definition)));

        expect(errors.map(({ loc, msg }) => ({ loc, msg }))).toEqual(
          status === 200 ? [] : response.detail.map(({ loc, msg }: ShapeError) => ({ loc, msg })),
        );
      }),
      casesFor('faults of definitions', 40),
    );
  });
});
