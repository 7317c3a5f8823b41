import {
  boundary,
  fieldPart,
  filePart,
  formBody,
  formType,
  goodCsv,
  partnerPart,
  postUpload,
  type RawPart,
} from '../support/requests';
import { startTestService, type TestService } from '../support/service';
import { storedFeed, sendAnyUpload } from '../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const send = (body: string | Buffer, contentType?: string) =>
  sendAnyUpload(service, () => postUpload(service.api, body, contentType), Buffer.from(goodCsv));

const malformed = { detail: 'Malformed multipart body.' };
const good = [partnerPart(), filePart()];
/** The errors of a 422. */
const entries = (body: { detail: { type: string; loc: string[] }[] }) =>
  body.detail.map(({ type, loc }) => `${type} ${loc.join('.')}`);

describe('parts that are repeated, nested, misnamed or missing', () => {
  const nested = (type: string): RawPart => ({
    headers: [`Content-Disposition: form-data; name="file"`, `Content-Type: ${type}; boundary=inner`],
    content: `--inner\r\nContent-Disposition: file; filename="feed.csv"\r\nContent-Type: text/csv\r\n\r\n${goodCsv}\r\n--inner--\r\n`,
  });
  const inForm: RawPart = {
    headers: [
      'Content-Disposition: form-data; name="x"',
      `Content-Type: multipart/form-data; boundary=inner`,
    ],
    content: formBody(good).toString().replaceAll(boundary, 'inner'),
  };

  it.each<[string, RawPart[], string[]]>([
    [
      'the file nested in multipart/mixed',
      [partnerPart(), nested('multipart/mixed')],
      ['file_name_missing body.file'],
    ],
    ['a whole form nested in another part', [inForm], ['missing body.partner_name', 'missing body.file']],
    ...[
      'file[]',
      'file[0]',
      'File',
      'FILE',
      'file ',
      ' file',
      'file.',
      'file\\0',
      'fıle',
      '__proto__',
      'constructor',
    ].map((name): [string, RawPart[], string[]] => [
      `a file named ${JSON.stringify(name)}`,
      [partnerPart(), filePart(goodCsv, { name })],
      ['missing body.file'],
    ]),
    ...[
      'partner_name[]',
      'Partner_Name',
      'partner-name',
      'partner_name.toString',
      '__proto__[partner_name]',
    ].map((name): [string, RawPart[], string[]] => [
      `a name named ${JSON.stringify(name)}`,
      [fieldPart(name, 'Acme'), filePart()],
      ['missing body.partner_name'],
    ]),
    [
      'the file three times',
      [partnerPart(), filePart(), filePart(), filePart()],
      ['repeated body.file', 'repeated body.file'],
    ],
  ])('rejects %s', async (_what, parts, wrong) => {
    const { status, body } = await send(formBody(parts));

    expect({ status, wrong: entries(body) }).toEqual({ status: 422, wrong });
  });

  it.each<[string, RawPart[]]>([
    [
      'another media type of a form',
      [
        { headers: ['Content-Disposition: attachment; name="file"; filename="x.csv"'], content: 'x' },
        ...good,
      ],
    ],
    ['a part without a disposition', [{ headers: ['Content-Type: text/csv'], content: 'x' }, ...good]],
    [
      'a part without any header but one that is unknown',
      [{ headers: ['X-Header: x'], content: 'x' }, ...good],
    ],
    [
      'parts named as properties of every object',
      [
        fieldPart('__proto__', '{"admin":true}'),
        fieldPart('constructor', 'x'),
        fieldPart('prototype', 'x'),
        fieldPart('__proto__.partner_name', 'x'),
        ...good,
      ],
    ],
    ['a nested form beside the right parts', [inForm, ...good]],
    [
      'the name of a part twice in its head',
      [
        {
          headers: ['Content-Disposition: form-data; name="partner_name"; name="file"'],
          content: 'Acme Outdoor',
        },
        filePart(),
      ],
    ],
    [
      'an unsupported transfer encoding',
      [
        { ...partnerPart(), headers: [...partnerPart().headers, 'Content-Transfer-Encoding: base64'] },
        filePart(),
      ],
    ],
  ])('accepts a form with %s', async (_what, parts) => {
    const { status } = await send(formBody(parts));

    expect(status).toBe(201);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe('too many or too large parts', () => {
  const malformedOr413 = [400, 413];

  it.each<[string, RawPart[], number]>([
    ['a hundred parts', [...good, ...Array.from({ length: 98 }, () => fieldPart('x', 'x'))], 400],
    ['a thousand parts', [...good, ...Array.from({ length: 998 }, () => fieldPart('x', 'x'))], 400],
    ['a head of 17 KiB', [{ headers: [`X-Long: ${'x'.repeat(17 * 1024)}`], content: 'x' }, ...good], 400],
    [
      'a head of 10,000 headers',
      [{ headers: Array.from({ length: 10_000 }, (_, at) => `x${at}: x`), content: 'x' }, ...good],
      400,
    ],
    ['a field of 2 MiB', [fieldPart('x', Buffer.alloc(2 * 1024 * 1024, 'x')), ...good], 201],
    ['a partner_name of 2 MiB', [partnerPart('x'.repeat(2 * 1024 * 1024)), filePart()], 422],
    ['a partner_name before 64 KiB of blanks', [partnerPart(`Acme${' '.repeat(65_536)}`), filePart()], 422],
  ])('a form with %s gets a documented response', async (_what, parts, expected) => {
    const { status } = await send(formBody(parts));

    expect(status).toBe(expected);
    expect([201, 422, ...malformedOr413]).toContain(status);
  });

  it('rejects endless parts that are not a file as soon as they exceed their limit', async () => {
    const small = await startTestService({ uploadBytesMax: 1_000 });
    const junk = Array.from({ length: 50 }, () => fieldPart('x', Buffer.alloc(60_000, 'x')));

    const { status } = await sendAnyUpload(
      small,
      () => postUpload(small.api, formBody([...junk, ...good])),
      Buffer.from(goodCsv),
    );

    expect(status).toBe(413);
  });
});

describe('boundaries', () => {
  const form = formBody(good).toString();
  const typeWith = (value: string) => `multipart/form-data; boundary=${value}`;
  const formWith = (value: string) => form.replaceAll(boundary, value);

  it.each<[string, string, string]>([
    ['of 70 characters', typeWith('b'.repeat(70)), formWith('b'.repeat(70))],
    ['of 71 characters, one more than RFC 2046 allows', typeWith('b'.repeat(71)), formWith('b'.repeat(71))],
    ['of 4,000 characters', typeWith('b'.repeat(4_000)), formWith('b'.repeat(4_000))],
    ['of all signs that RFC 2046 allows', typeWith(`"a'()+_,-./:=?b"`), formWith(`a'()+_,-./:=?b`)],
    ['that are signs of a regular expression', typeWith(`"(.*)+$^?a"`), formWith(`(.*)+$^?a`)],
    ['of hyphens', typeWith('----'), formWith('----')],
    ['of one character', typeWith('x'), formWith('x')],
    ['after a preamble that looks like one', formType, `--${boundary.slice(0, -1)}\r\nx\r\n--\r\n${form}`],
    [
      'before an epilogue that looks like a part',
      formType,
      `${form}--${boundary}\r\nContent-Disposition: form-data; name="file"\r\n\r\nx`,
    ],
  ])('%s are accepted', async (_what, contentType, body) => {
    expect((await send(body, contentType)).status).toBe(201);
  });

  it.each<[string, string, string]>([
    ['are named twice, the second one is used', `${formType}; boundary=other`, formWith('other')],
    ['are absent from the header', 'multipart/form-data', form],
    ['are absent from the body', formType, formWith('other')],
    ['are empty', typeWith('""'), formWith('')],
    ['are named without a value', typeWith(''), form],
    ['end lines that have LF only', formType, form.replaceAll('\r\n', '\n')],
    ['end lines that have CR only', formType, form.replaceAll('\r\n', '\r')],
    ['lack the hyphens of the final delimiter', formType, form.replace(`${boundary}--`, boundary)],
    ['have one hyphen at their end', formType, form.replace(`${boundary}--`, `${boundary}-`)],
    ['are of another case', formType, formWith(boundary.toUpperCase())],
    ['are named in a header that is broken', `multipart/form-data; boundary="${boundary}`, form],
    ['hold a backslash at their end', 'multipart/form-data; boundary="a\\"', form],
  ])('that %s are rejected', async (_what, contentType, body) => {
    const { status, body: answer } = await send(body, contentType);

    expect({ status, answer: answer as unknown }).toEqual({ status: 400, answer: malformed });
  });

  it.each<[string, string]>([
    ['without hyphens', `${goodCsv}${boundary}\n`],
    ['without its line break', `${goodCsv}1,--${boundary}--\n`],
    ['after LF only', `${goodCsv}\n--${boundary}--\n`],
    ['cut by one character', `${goodCsv}\r\n--${boundary.slice(0, -1)}\r\n`],
    ['begun again and again', `${goodCsv}${'\r\n-\r\n--\r\n--c\r'.repeat(50)}\n`],
  ])('in the content, %s, are content', async (_what, csv) => {
    const { status } = await sendAnyUpload(
      service,
      () => postUpload(service.api, formBody([partnerPart(), filePart(csv)])),
      Buffer.from(csv),
    );

    expect(status).toBe(201);
  });

  it.each(['X', ' ', '-', '-x', '\r', '\rx', '\n'])(
    'in the content, followed by %j, make the form ambiguous: it is rejected, not truncated',
    async (after) => {
      // An empty line ends a possible header of a part.
      for (const rest of ['LAMP-1,Lamp,1\n', 'LAMP-1,Lamp,1\r\n\r\nMAT-1,Mat,1\n']) {
        const csv = `${goodCsv}\r\n--${boundary}${after}\n${rest}`;

        const { status } = await sendAnyUpload(
          service,
          () => postUpload(service.api, formBody([partnerPart(), filePart(csv)])),
          Buffer.from(csv),
        );

        expect({ rest, status }).toEqual({ rest, status: 400 });
      }
    },
  );

  it('end the form before a delayed epilogue with a file in it', async () => {
    const epilogue = formBody([fieldPart('x', 'x'), filePart('x'.repeat(500_000)), partnerPart('Another')]);

    for (const body of [formBody(good), formBody([filePart()])]) {
      const { status } = await send(Buffer.concat([body, epilogue]));

      expect(status).toBe(body.includes('partner_name') ? 201 : 422);
    }
  });

  it.each<[string, string]>([
    ['at the beginning of a content', `\r\n\r\n--${boundary}--`],
    ['at the beginning of a content, and a part after it', `\r\n\r\n--${boundary}\r\nx`],
    ['within a head', `\r\n--${boundary}\r\n\r\nx`],
    ['at the end of a head', `\r\n--${boundary}--\r\n`],
  ])('%s make the form ambiguous: it is rejected, and ends', async (_what, text) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="x"; filename="x.csv"`;
    const rest = formBody(good).toString();

    for (const body of [
      head + text + '\r\n' + rest,
      rest.replace(`${boundary}--`, boundary) + head.slice(boundary.length + 4) + text,
    ]) {
      const { status } = await send(body);

      expect(status).toBe(400);
    }
  });
});

describe('file names', () => {
  const quoted = (name: string) => `filename="${name.replace(/["\\]/g, '\\$&')}"`;
  const upload = (parameter: string) =>
    send(
      formBody([
        partnerPart(),
        {
          headers: [`Content-Disposition: form-data; name="file"; ${parameter}`, 'Content-Type: text/csv'],
          content: goodCsv,
        },
      ]),
    );

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\x', 'x'],
    ['..\\..\\..\\windows\\system32\\x.csv', 'x.csv'],
    ['/etc/cron.d/x.csv', 'x.csv'],
    ['C:\\x.csv', 'x.csv'],
    ['\\\\host\\share\\x.csv', 'x.csv'],
    ['a%2f..%2fb.csv', 'a%2f..%2fb.csv'],
    ['%2e%2e%2fb.csv', '%2e%2e%2fb.csv'],
    ['..%c0%afb.csv', '..%c0%afb.csv'],
    ['....//b.csv', 'b.csv'],
    ['fdp.\u202Ecsv.csv', 'fdp.\u202Ecsv.csv'],
    ['a\u2044..\u2215b.csv', 'a\u2044..\u2215b.csv'],
    ['CON.csv', 'CON.csv'],
    ['aux', 'aux'],
    ['.csv', '.csv'],
    ['...csv', '...csv'],
    ['x.csv.', undefined],
    ['x.csv ', undefined],
    ['..', undefined],
    ['.', undefined],
    ['/', undefined],
    ['feed.csv::$DATA', undefined],
    ['feed.csv;.exe', undefined],
    ['-rf.csv', '-rf.csv'],
    ['~.csv', '~.csv'],
    ['$(id).csv', '$(id).csv'],
    ['`id`.csv', '`id`.csv'],
    ['|id.csv', '|id.csv'],
    ["';drop table feeds;--.csv", "';drop table feeds;--.csv"],
    ['<script>alert(1)<b>.csv', '<script>alert(1)<b>.csv'],
    ['__proto__.csv', '__proto__.csv'],
    [`${'x'.repeat(10_000)}.csv`, `${'x'.repeat(10_000)}.csv`],
    [`${'../'.repeat(3_000)}x.csv`, 'x.csv'],
  ])('%j are stored safely, or rejected', async (name, kept) => {
    const { status, body } = await upload(quoted(name));

    expect(kept === undefined ? [400, 422] : [201]).toContain(status);
    if (kept !== undefined) expect((await storedFeed(service, body.feed_id as string)).filename).toBe(kept);
  });

  it.each([
    ["UTF-8''%00.csv", '.csv'],
    ["UTF-8''a%00%2F..%2Fb.csv", 'b.csv'],
    ["utf-16le''%2E%00%63%00%73%00%76%00", '.csv'],
    ["utf-16le''%00%D8%2E%00%63%00%73%00%76%00", undefined],
    ["iso-8859-1''%2e%2e%2fb.csv", 'b.csv'],
    ["utf-7''%2BAC8-x.csv", undefined],
    ["x-klingon''b.csv", undefined],
    ["''b.csv", undefined],
    ["UTF-8''%zz.csv", undefined],
    ['UTF-8', undefined],
    ["base64''Li4vYi5jc3Y=", undefined],
  ])('in the extended form, %j, are stored safely, or rejected', async (extended, kept) => {
    const { status, body } = await upload(`filename*=${extended}`);

    expect([201, 400, 422]).toContain(status);
    if (kept !== undefined) {
      expect(status).toBe(201);
      expect((await storedFeed(service, body.feed_id as string)).filename).toBe(kept);
    }
  });

  it('with a raw NUL or line break make the form malformed', async () => {
    for (const character of ['\0', '\n', '\r', '\r\nX-Header: x']) {
      const { status } = await upload(`filename="a${character}b.csv"`);

      expect([201, 400, 422]).toContain(status);
    }
  });
});
