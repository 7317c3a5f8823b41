import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { forgetAll, casesFor } from '../support/fuzz';
import { sendRaw } from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';
import { rawFilePath, stored, type Stored } from '../support/stored-uploads';

let service: TestService;
let nothing: Stored;
beforeAll(async () => {
  service = await startTestService();
  nothing = await stored(service);
});

const boundaries = fc.constantFrom(
  'b',
  'fuzz',
  '----WebKitFormBoundaryA',
  'b-',
  '--',
  'a b',
  'x'.repeat(75),
  'B.*+?()',
);
const names = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('partner_name', 'file') },
  { weight: 1, arbitrary: fc.constantFrom('', 'file[]', '__proto__', 'File', 'x', 'é') },
);
const fileNames = fc.constantFrom(
  'feed.csv',
  'feed.csv',
  '../../x.csv',
  '',
  '.csv',
  'a.txt',
  'x.pdf',
  '..\\x.csv',
  'é😀.csv',
  'a;b.csv',
  'x'.repeat(300) + '.csv',
);
const mediaTypes = fc.constantFrom(
  'text/csv',
  'text/csv',
  'application/octet-stream',
  'text/plain; charset=utf-16le',
  'image/png',
  'multipart/mixed; boundary=b',
  'x',
  '',
);
const content = (boundary: string) =>
  fc
    .array(
      fc.constantFrom(
        'sku,product_name\n',
        '1,Tent\n',
        '\r\n',
        '\n',
        '\r',
        '-',
        '--',
        `--${boundary}`,
        `\r\n--${boundary.slice(0, -1)}`,
        `\r\n--${boundary}`,
        boundary,
        'Acme',
        '\0',
        '"',
        'é',
        'x'.repeat(70_000),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join(''));

interface Part {
  name: string;
  fileName?: string;
  mediaType?: string;
  extra?: string;
  content: string;
}

const part = (boundary: string): fc.Arbitrary<Part> =>
  fc.record(
    {
      name: names,
      fileName: fileNames,
      mediaType: mediaTypes,
      extra: fc.constantFrom('X: y', 'Content-Transfer-Encoding: base64', 'broken', ' folded', ': x'),
      content: content(boundary),
    },
    { requiredKeys: ['name', 'content'] },
  );

const head = ({ name, fileName, mediaType, extra }: Part) =>
  [
    `Content-Disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}`,
    ...(mediaType === undefined ? [] : [`Content-Type: ${mediaType}`]),
    ...(extra === undefined ? [] : [extra]),
  ].join('\r\n');

/** Both valid parts in any order, with other parts between them. */
const form = boundaries.chain((boundary) => {
  const file = content(boundary).map((text): Part => ({
    name: 'file',
    fileName: 'feed.csv',
    mediaType: 'text/csv',
    content: `sku,product_name\n${text}`,
  }));
  const name = fc
    .constantFrom('Acme', ' Birch ', 'é')
    .map((text): Part => ({ name: 'partner_name', content: text }));
  const parts = fc
    .tuple(
      fc.option(file, { freq: 8 }),
      fc.option(name, { freq: 8 }),
      fc.array(part(boundary), { maxLength: 2 }),
      fc.boolean(),
    )
    .map(([first, second, others, turned]) => {
      const right = [first, second].filter((each) => each !== null);
      return [...(turned ? right.reverse() : right), ...others];
    });
  return fc.record({ boundary: fc.constant(boundary), parts });
});

type Damage = [place: number, kind: 'set' | 'drop' | 'repeat' | 'cut', byte: number];
const damage: fc.Arbitrary<Damage[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Damage[]>([]) },
  {
    weight: 1,
    arbitrary: fc.array<Damage>(
      fc.tuple(fc.nat(), fc.constantFrom('set', 'drop', 'repeat', 'cut'), fc.nat(255)),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  },
);

function damagedBody(bytes: Buffer, damages: Damage[]): Buffer {
  return damages.reduce((body, [place, kind, byte]) => {
    const at = place % (body.length + 1);
    const [before, after] = [body.subarray(0, at), body.subarray(at)];
    if (kind === 'cut') return before;
    if (kind === 'drop') return Buffer.concat([before, after.subarray(1 + (byte % 8))]);
    if (kind === 'repeat') return Buffer.concat([before, after.subarray(0, byte), after]);
    return Buffer.concat([before, Buffer.from([byte]), after.subarray(1)]);
  }, bytes);
}

function inPieces(bytes: Buffer, sizes: number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    // Few chunks for any length of the body: only their boundaries matter.
    const size = turn < 40 ? sizes[turn % sizes.length]! : bytes.length;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

it('any form gets a documented response; a rejected form leaves nothing, an accepted one is stored byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(
      form,
      damage,
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async ({ boundary, parts }, damages, sizes, isChunked) => {
        const whole = Buffer.from(
          parts.map((each) => `--${boundary}\r\n${head(each)}\r\n\r\n${each.content}\r\n`).join('') +
            `--${boundary}--\r\n`,
        );
        const body = damagedBody(whole, damages);
        const { status, text } = await sendRaw(service.url, {
          method: 'POST',
          path: '/feeds/upload',
          headers: {
            'x-api-key': testKey,
            'content-type': `multipart/form-data; boundary="${boundary}"`,
            ...(isChunked ? {} : { 'content-length': body.length }),
          },
          chunks: inPieces(body, sizes),
        });

        expect([201, 400, 413, 422]).toContain(status);
        if (status !== 201) {
          expect(await stored(service)).toEqual(nothing);
          return;
        }
        const { feed_id: feedId } = JSON.parse(text) as { feed_id: string };
        const kept = await readFile(await rawFilePath(service, feedId));
        const after = await stored(service);
        await forgetAll(service);
        expect([after.feeds.length, after.files.length]).toEqual([1, nothing.files.length + 1]);
        // From the end of a part's header to the next delimiter, with no delimiter in between.
        const delimiter = `\r\n--${boundary}`;
        expect(body.includes(Buffer.concat([Buffer.from('\r\n\r\n'), kept, Buffer.from(delimiter)]))).toBe(
          true,
        );
        expect(kept.includes(delimiter)).toBe(false);
        const sent = parts.find(({ name }) => name === 'file');
        const isWhole = damages.length === 0 && !`\r\n${sent?.content}`.includes(delimiter);
        if (isWhole) expect(kept.toString()).toBe(sent?.content);
      },
    ),
    casesFor('multipart forms', 200),
  );
});
