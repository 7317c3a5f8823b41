import { readFile } from 'node:fs/promises';
import {
  boundary,
  fieldPart,
  filePart,
  formBody,
  formType,
  goodCsv,
  partnerPart,
  postUpload,
  uploadChunked,
  uploadParts,
  type RawPart,
  OpenUpload,
} from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, rawFilePath } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Large enough that storing starts before it has arrived completely. */
const largeCsv = goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(20_000);

describe('POST /feeds/upload', () => {
  describe('201', () => {
    const form = formBody([partnerPart(), filePart()]);

    it.each<[string, string | Buffer, string]>([
      ['its media type in capitals', form, `Multipart/Form-Data; Boundary=${boundary}`],
      ['another parameter', form, `multipart/form-data; charset=utf-8; boundary=${boundary}`],
      ['no line break at its end', form.subarray(0, -2), formType],
    ])('accepts a form with %s', async (_what, body, contentType) => {
      const response = await postUpload(service.api, body, contentType);

      expect(response.status).toBe(201);
      expect(await readFile(await rawFilePath(service, response.body.feed_id), 'utf8')).toBe(goodCsv);
    });
  });

  describe('400', () => {
    const malformed = { detail: 'Malformed multipart body.' };
    const refuses = (body: string | Uint8Array, contentType?: string) =>
      expectRefusal(service, () => postUpload(service.api, body, contentType), 400, malformed);

    const orders: [string, RawPart[]][] = [
      ['partner_name first', [partnerPart(), filePart(largeCsv)]],
      ['the file first', [filePart(largeCsv), partnerPart()]],
    ];
    describe.each(orders)('%s:', (_order, parts) => {
      const form = formBody(parts);
      const upTo = (text: string) => form.subarray(0, form.lastIndexOf(text));

      it.each([
        ['in the middle of the file', upTo('LAMP-1')],
        ['at the end of the file', Buffer.concat([upTo('\n\r\n--'), Buffer.from('\n')])],
        ['in the head of the last part', upTo('form-data')],
        ['after the head of the last part', Buffer.concat([upTo('\r\n\r\n'), Buffer.from('\r\n\r\n')])],
        ['before the last boundary', upTo(`\r\n--${boundary}--`)],
        ['in the last boundary', upTo('boundary--')],
        ['before the end of the last boundary', upTo('--\r\n')],
      ])('rejects a form that ends %s, and stores nothing', async (_where, body) => {
        await refuses(body);
      });

      it.each<[string, string[]]>([
        ['without a colon', ['Content-Disposition form-data']],
        ['without a name', [': form-data']],
        ['of 20 KB', [`Content-Disposition: form-data; name="${'x'.repeat(20_000)}"`]],
      ])('rejects a form with a part header %s, and stores nothing', async (_what, headers) => {
        await refuses(formBody([...parts, { headers, content: 'x' }]));
        await refuses(formBody([{ headers, content: 'x' }, ...parts]));
      });
    });

    it.each([
      ['text', 'Hello'],
      ['JSON', '{"partner_name":"Acme"}'],
      ['bytes', Buffer.alloc(100_000, 0xa5)],
      ['a file without a form', largeCsv],
    ])('rejects %s that claims to be a form, and stores nothing', async (_what, body) => {
      await refuses(body);
    });
  });

  describe('415', () => {
    const unsupported = { detail: 'Unsupported media type. Send the body as multipart/form-data.' };

    it.each([
      'application/json',
      'text/csv',
      'application/x-www-form-urlencoded',
      'application/octet-stream',
      `multipart/mixed; boundary=${boundary}`,
      `multipart/form-data-x; boundary=${boundary}`,
      '',
    ])('rejects a body of the type %j, and stores nothing', async (contentType) => {
      const body = formBody([partnerPart(), filePart()]);

      await expectRefusal(service, () => postUpload(service.api, body, contentType), 415, unsupported);
    });

    it('precedes 413', async () => {
      const upload = new OpenUpload(service, {
        'content-type': 'text/csv',
        'content-length': String(2 ** 40),
      });
      try {
        await expectRefusal(service, () => upload.response, 415, unsupported);
      } finally {
        upload.abort();
      }
    });
  });

  describe('422', () => {
    const missing = (name: string) => ({
      type: 'missing',
      loc: ['body', name],
      msg: 'Field required',
      input: null,
    });
    const tooShort = (input: string) => ({
      type: 'string_too_short',
      loc: ['body', 'partner_name'],
      msg: 'String should have at least 1 character',
      input,
      ctx: { min_length: 1 },
    });
    const tooLong = (input: unknown) => ({
      type: 'string_too_long',
      loc: ['body', 'partner_name'],
      msg: 'String should have at most 255 characters',
      input,
      ctx: { max_length: 255 },
    });
    const pattern = String.raw`^[^\u0000-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F][^\u0000-\u001F\u007F-\u009F]*$`;
    const mismatch = (input: string) => ({
      type: 'string_pattern_mismatch',
      loc: ['body', 'partner_name'],
      msg: `String should match pattern '${pattern}'`,
      input,
      ctx: { pattern },
    });
    /** Fields of a documented error whose texts are not in the document. */
    const wrong = (name: string): unknown =>
      expect.objectContaining({
        type: expect.stringMatching(/^[a-z_]+$/),
        loc: ['body', name],
        msg: expect.stringMatching(/./),
      });
    const refuses = async (parts: RawPart[], detail: unknown[]) => {
      await expectRefusal(service, () => uploadParts(service.api, ...parts), 422, { detail });
      await expectRefusal(service, () => uploadChunked(service.api, ...parts), 422, { detail });
    };

    it.each<[string, RawPart[]]>([
      ['without parts', []],
      ['with other parts alone', [fieldPart('name', 'Acme'), filePart(goodCsv, { name: 'feed' })]],
    ])('reports both parts as missing for a form %s', (_what, parts) =>
      refuses(parts, [missing('partner_name'), missing('file')]),
    );

    it('reports both parts for a request without a body', async () => {
      const detail = [missing('partner_name'), missing('file')];

      await expectRefusal(service, () => service.api.post('/feeds/upload'), 422, { detail });
    });

    it('reports a missing partner_name, and does not keep the file', () =>
      refuses([filePart(largeCsv)], [missing('partner_name')]));

    it('reports a missing file', () => refuses([partnerPart()], [missing('file')]));

    it.each([
      ['a blank one', ' ', tooShort(' ')],
      ['256 characters', 'x'.repeat(256), tooLong('x'.repeat(256))],
      ['a control character', 'Ac\tme', mismatch('Ac\tme')],
    ])('checks a partner_name that follows the file: %s', async (_what, name, error) => {
      await refuses([partnerPart(name), filePart()], [error]);
      await refuses([filePart(largeCsv), partnerPart(name)], [error]);
    });

    it('rejects a partner_name of 100,000 characters', () =>
      refuses([partnerPart('x'.repeat(100_000)), filePart()], [tooLong(expect.stringMatching(/^x{256,}$/))]));

    it.each([0, 1, 2])('reports a partner_name as too long, independently of its byte length: %d', (offset) =>
      refuses(
        [partnerPart(`${'x'.repeat(offset)}${'€'.repeat(30_000)}`), filePart()],
        [tooLong(expect.stringMatching(/^x*€{256,}/))],
      ),
    );

    it('rejects a partner_name in an unknown character set', () => {
      const part = partnerPart();
      const headers = [...part.headers, 'Content-Type: text/plain; charset=x-klingon'];
      return refuses([{ ...part, headers }, filePart()], [wrong('partner_name')]);
    });

    const notText = {
      type: 'string_type',
      loc: ['body', 'partner_name'],
      msg: 'Input should be a valid string',
      input: null,
    };
    it.each<[string, number[]]>([
      ['a byte of Latin-1', [0x43, 0x61, 0x66, 0xe9]],
      ['a lone continuation byte', [0x41, 0x80, 0x42]],
      ['an overlong form', [0x41, 0xc0, 0xaf]],
      ['a surrogate', [0x41, 0xed, 0xa0, 0x80]],
      ['an incomplete character at its end', [0x41, 0xe2, 0x82]],
      ['UTF-16', [0xff, 0xfe, 0x41, 0x00]],
      ['the sign that stands for such bytes, U+FFFD', [0x41, 0xef, 0xbf, 0xbd]],
    ])('rejects a partner_name that is not UTF-8: %s', async (_what, bytes) => {
      const part = fieldPart('partner_name', Buffer.from(bytes));

      await refuses([part, filePart()], [notText]);
      await refuses([filePart(largeCsv), part], [notText]);
    });

    it('rejects a partner_name with invalid bytes for its character set', async () => {
      const part = fieldPart('partner_name', Buffer.from([0x41, 0xff]));
      const headers = [...part.headers, 'Content-Type: text/plain; charset=shift_jis'];

      await refuses([{ ...part, headers }, filePart()], [notText]);
    });

    const octets = 'Content-Type: application/octet-stream';
    const withoutName = 'Content-Disposition: form-data; name="file"';
    it.each<[string, RawPart]>([
      ['as a field', fieldPart('file', goodCsv)],
      ['as a field of text/csv', { headers: [withoutName, 'Content-Type: text/csv'], content: goodCsv }],
      ['as bytes', { headers: [withoutName, octets], content: goodCsv }],
      [
        'with an empty name',
        { headers: [`${withoutName}; filename=""`, 'Content-Type: text/csv'], content: goodCsv },
      ],
      ['as a browser sends none', { headers: [`${withoutName}; filename=""`, octets], content: '' }],
    ])('rejects a file without a file name, sent %s', async (_how, part) => {
      await refuses([partnerPart(), part], [wrong('file')]);
      await refuses([part, partnerPart()], [wrong('file')]);
    });

    it('rejects a partner_name that is sent as a file', async () => {
      const asFile = filePart('Acme', {
        name: 'partner_name',
        fileName: 'name.txt',
        mediaType: 'text/plain',
      });

      await refuses([asFile, filePart()], [wrong('partner_name')]);
      await refuses([filePart(largeCsv), asFile], [wrong('partner_name')]);
    });

    const again = partnerPart('Another');
    it.each<[string, string, RawPart[]]>([
      ['partner_name', 'the same', [partnerPart(), partnerPart(), filePart()]],
      ['partner_name', 'another', [partnerPart(), filePart(largeCsv), again]],
      ['partner_name', 'a blank one', [partnerPart(), filePart(), partnerPart(' ')]],
      ['partner_name', 'a file', [partnerPart(), filePart(), filePart('x', { name: 'partner_name' })]],
      ['file', 'the same', [partnerPart(), filePart(), filePart()]],
      ['file', 'another', [filePart(largeCsv), filePart(largeCsv, { fileName: 'b.csv' }), partnerPart()]],
      ['file', 'a field', [filePart(largeCsv), partnerPart(), fieldPart('file', 'x')]],
    ])('rejects %s sent twice, then %s', async (name, _second, parts) => {
      await refuses(parts, [wrong(name)]);
    });

    it.each<[string, RawPart[], unknown[]]>([
      ['a blank name and no file', [partnerPart(' ')], [tooShort(' '), missing('file')]],
      [
        'no name and a file without one',
        [fieldPart('file', goodCsv)],
        [wrong('file'), missing('partner_name')],
      ],
      ['both parts invalid', [fieldPart('file', 'x'), partnerPart('')], [wrong('file'), tooShort('')]],
      ['both twice', [filePart(), again, filePart(), again], [wrong('file'), wrong('partner_name')]],
      [
        'an invalid and repeated name, and no file',
        [partnerPart(' '), again],
        [tooShort(' '), wrong('partner_name'), missing('file')],
      ],
    ])('reports all errors at once: %s', async (_what, parts, errors) => {
      const { body } = await expectRefusal(service, () => uploadParts(service.api, ...parts), 422, {
        detail: expect.arrayContaining(errors) as unknown,
      });

      expect(body.detail).toHaveLength(errors.length);
    });
  });
});
