import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { encode } from 'iconv-lite';
import { Readable } from 'node:stream';
import { findBuiltInFormat, strictFormat } from '../../../../src/feed-format/built-in-formats';
import { decodeBeginning } from '../../../../src/feed-format/read/decode-text';
import { RecordExtractor } from '../../../../src/feed-format/read/extract';
import { readHeader } from '../../../../src/feed-format/read/header';
import { RecordScanner } from '../../../../src/feed-format/read/scan-record';
import { trimText } from '../../../../src/feed-format/text';
import { anyBytes } from '../../../support/arbitrary';
import { casesFor } from '../../../support/fuzz';
import { readFormatted } from '../../../support/read-by-format';

const standard = findBuiltInFormat('standard')!.definition;

/** Reads a file without a format, and with the format `standard`: rows with their codes, or the failure. */
async function readBoth(file: string | Buffer) {
  const read = (format: typeof standard | null) =>
    readFormatted(file, format).catch((error: unknown) => (error as Error).message);
  return { strictly: await read(null), loosely: await read(standard) };
}

const codesOf = (rows: Awaited<ReturnType<typeof readBoth>>['strictly']) =>
  typeof rows === 'string' ? rows : rows.map(({ codes }) => codes.join());

const head = 'sku,product_name\n';

it.each([
  ['a blank behind a closing quote', `${head}"A" ,Tent\n`, ['invalid_quoting'], ['']],
  [
    'a delimiter at the end of the rows',
    `${head}A,Tent,\nB,Lamp,\n`,
    ['too_many_fields', 'too_many_fields'],
    ['', ''],
  ],
  ['CR alone in a cell', `${head}A,Tent\rB,Lamp\n`, ['too_many_fields'], ['', '']],
  [
    'CR alone behind the header row',
    'sku,product_name\rA,Tent\n',
    'Invalid CSV file: Missing required CSV headers: product_name, sku',
    [''],
  ],
  [
    'a line that states the delimiter',
    `sep=,\n${head}A,Tent\n`,
    'Invalid CSV file: Missing required CSV headers: product_name, sku',
    [''],
  ],
  [
    'UTF-16 with its mark',
    encode(`${head}A,Tent\n`, 'utf-16le', { addBOM: true }),
    'The text is not UTF-8.',
    [''],
  ],
  ['gzip', gzipSync(`${head}A,Tent\n`), 'The text is not UTF-8.', ['']],
])('rejects syntax that only a format allows: %s', async (_what, file, strictly, loosely) => {
  const read = await readBoth(file);

  expect({ strictly: codesOf(read.strictly), loosely: codesOf(read.loosely) }).toEqual({ strictly, loosely });
});

/** Whether a file has no syntax that only a format allows. */
const isPlain = (file: Buffer) => !/\r(?!\n)|"[ \t]|^\ufeff?"?sep=|[,;\t](?:\r?\n|$)/i.test(file.toString());

it('reads a file that the specification allows in the same way as the format of the same columns', async () => {
  await fc.assert(
    fc.asyncProperty(anyBytes.filter(isPlain), async (file) => {
      const { strictly, loosely } = await readBoth(file);
      expect(strictly).toEqual(loosely);
    }),
    casesFor('files without a format', 200),
  );
});

/** Whether csv-parse and the row scanner read a text in the same way. */
const isReadAlike = (file: Buffer) => !/[\f\v]|"[ \t]/.test(file.toString());

it('reads the names of the header row like the row scanner', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyBytes.filter(isReadAlike),
      fc.constantFrom(strictFormat, standard),
      async (file, definition) => {
        const text = decodeBeginning(file, definition, true);
        const header = text && readHeader(text, definition);
        if (!header || 'problem' in header) return;
        const rows: string[] = [];
        const extractor = new RecordExtractor<never>(
          header,
          (_place, row) => (rows.push(row), null),
          () => null,
        );
        await extractor
          .read(Readable.from([text]))
          .next()
          .catch(() => undefined);

        const scanner = new RecordScanner(header.delimiter, Infinity, header.reading.syntax);
        scanner.begin(0);
        scanner.scan(Buffer.from(rows[0]!), true);
        const names = Array.from({ length: scanner.fieldCount }, (_, position) =>
          trimText(scanner.field(position)!),
        );
        expect(names).toEqual(header.names);
      },
    ),
    casesFor('header rows', 300),
  );
});
