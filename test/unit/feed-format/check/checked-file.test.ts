import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { encode } from 'iconv-lite';
import { findBuiltInFormat, strictFormat } from '../../../../src/feed-format/built-in-formats';
import type { ReadDefinition } from '../../../../src/feed-format/format-definition';
import type { LoadMode } from '../../../../src/feed-format/load-options';
import { readHeader } from '../../../../src/feed-format/read/header';
import { trimText } from '../../../../src/feed-format/text';
import { CheckedFile } from '../../../../src/feed-format/check/checked-file';
import type { ServiceError } from '../../../../src/base/errors';
import { casesFor } from '../../../support/fuzz';

const standard = findBuiltInFormat('standard')!.definition;
const definitions: Record<string, ReadDefinition> = {
  strict: strictFormat,
  standard,
  'utf-16le': { ...standard, encoding: 'utf-16le' },
  'without header': { header: false, columns: { sku: { position: 1 }, product_name: { position: 2 } } },
};

const long = 100_000;
const bytesMax = 100 * long;
const text = fc
  .array(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc.constantFrom(
          'sku,product_name\n',
          'sku,product_name,_line,_codes\r\n',
          'sku;sku;product_name\n',
          '"sku","product_\nname"',
          ...['a,b\n', '1,Tënt\n', 'sep=;\n', ' ', '\n', '\r', '"', '日本', '\u0085'],
        ),
      },
      { weight: 1, arbitrary: fc.constantFrom('x'.repeat(3 * long), ' '.repeat(long), 'é'.repeat(long / 2)) },
    ),
    { maxLength: 5 },
  )
  .map((pieces) => pieces.join(''));

const file = fc.record({
  reading: fc.constantFrom(...Object.keys(definitions)),
  mode: fc.constantFrom<LoadMode>('upsert', 'replace', 'update'),
  text,
  hasMark: fc.boolean(),
  /** Appended to the text: an invalid byte, or an incomplete character. */
  isUndecodable: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  isNamedGzip: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  packing: fc.oneof(
    { weight: 4, arbitrary: fc.constant('as named') },
    fc.constantFrom('as not named', 'broken'),
  ),
  borders: fc.array(fc.oneof(fc.nat(6), fc.nat(3 * long)), { maxLength: 5 }),
});
type File = typeof file extends fc.Arbitrary<infer T> ? T : never;

/** Builds the bytes of a file, and its expected error by the steps of the specification. */
function makeFile({ reading, mode, text, hasMark, isUndecodable, isNamedGzip, packing }: File) {
  const definition = definitions[reading]!;
  const { encoding = 'utf-8', strict: isStrict = false } = definition;
  const content = Buffer.concat([
    encode(text, encoding, { addBOM: hasMark }),
    Buffer.alloc(isUndecodable ? 1 : 0, 0xff),
  ]);
  // An empty file has no gzip format.
  const isPacked = !isStrict && isNamedGzip === (packing !== 'as not named');
  const packed = isPacked ? gzipSync(content) : content;
  const isBroken = isPacked && packing === 'broken';
  const bytes = isBroken ? packed.subarray(0, -4) : packed;
  const header = readHeader(Buffer.from(text), definition, mode);
  const problem =
    !isStrict && bytes.length > 0 && (isNamedGzip !== isPacked || isBroken)
      ? 'Malformed gzip file.'
      : !isUndecodable && trimText(text) === ''
        ? 'Uploaded file is empty.'
        : isUndecodable
          ? `CSV file must be ${encoding === 'utf-8' ? 'UTF-8' : encoding} encoded.`
          : 'problem' in header
            ? header.problem
            : mode === 'replace' && header.codes !== undefined
              ? 'The request has the wrong shape.'
              : undefined;
  return { definition, bytes, problem, fileName: isNamedGzip ? 'feed.csv.gz' : 'feed.csv' };
}

async function* inChunks(bytes: Buffer, borders: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (const end of [
    ...borders.filter((border) => border < bytes.length).sort((a, b) => a - b),
    bytes.length,
  ]) {
    await Promise.resolve();
    if (end > at) yield bytes.subarray(at, end);
    at = end;
  }
}

/** Reads a file with its checks. @returns the accepted bytes, and the error at its end */
async function read(checked: CheckedFile, content: AsyncIterable<Buffer>) {
  const chunks: Buffer[] = [];
  let error: ServiceError | undefined;
  try {
    for await (const chunk of checked.accepted(content)) chunks.push(chunk);
  } catch (thrown) {
    error = thrown as ServiceError;
  }
  return { accepted: Buffer.concat(chunks), error };
}

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('CheckedFile', () => {
  it('finds the first problem of any file, accepts the others completely, and measures all', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (of) => {
        const { definition, bytes, problem, fileName } = makeFile(of);
        const checks = { definition, mode: of.mode, fileName, bytesMax };
        const checked = new CheckedFile(checks);

        const { accepted, error } = await read(checked, inChunks(bytes, of.borders));

        expect(error?.message).toBe(problem);
        expect(checked.problem?.message).toBe(problem);
        expect(digestOf(accepted)).toBe(digestOf(bytes.subarray(0, accepted.length)));
        if (!problem) expect(accepted).toHaveLength(bytes.length);
        expect(checked.sizeBytes).toBe(bytes.length);
        expect(checked.sha256().toString('hex')).toBe(digestOf(bytes));
      }),
      casesFor('checked files', 200),
    );
  });

  it('accepts all bytes of a file whose format is undecided, and keeps the problem', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (of) => {
        const { bytes, problem, fileName } = makeFile({ ...of, reading: 'strict' });
        const checks = { definition: 'undecided', mode: of.mode, fileName, bytesMax } as const;
        const checked = new CheckedFile(checks);

        const { accepted, error } = await read(checked, inChunks(bytes, of.borders));

        expect(error).toBeUndefined();
        expect(accepted.equals(bytes)).toBe(true);
        expect(checked.problem?.message).toBe(problem);
      }),
      casesFor('files of an undecided format', 50),
    );
  });

  it('rejects a file above the limit before any other problem', async () => {
    await fc.assert(
      fc.asyncProperty(file, fc.boolean(), async (of, isDecided) => {
        const { bytes, fileName, ...made } = makeFile(of);
        fc.pre(bytes.length > 0);
        const definition: ReadDefinition | 'undecided' = isDecided ? made.definition : 'undecided';
        const checks = { definition, mode: of.mode, fileName, bytesMax: bytes.length - 1 };

        const { error } = await read(new CheckedFile(checks), inChunks(bytes, of.borders));

        expect(error?.code).toBe('file_too_large');
      }),
      casesFor('files above the limit', 50),
    );
  });

  it('accepts nothing before the header is valid', async () => {
    const checked = new CheckedFile({
      definition: strictFormat,
      mode: 'upsert',
      fileName: 'feed.csv',
      bytesMax,
    });
    const cells = ',x'.repeat(long);

    const { accepted, error } = await read(
      checked,
      inChunks(Buffer.from(`sku${cells}\n1${cells}\n`), [4, long]),
    );

    expect(accepted).toHaveLength(0);
    expect(error?.message).toMatch(/Missing required CSV headers/);
  });

  it('counts the unpacked bytes against the limit', async () => {
    const bytes = gzipSync(`sku,product_name\n${'1,Tent\n'.repeat(long)}`);
    const checked = new CheckedFile({
      definition: standard,
      mode: 'upsert',
      fileName: 'feed.csv.gz',
      bytesMax: long,
    });

    expect(bytes.length).toBeLessThan(long);
    expect((await read(checked, inChunks(bytes, []))).error?.code).toBe('file_too_large');
  });
});
