import { readdirSync, readlinkSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { leaveRunning, whileReading } from '../../support/runs-in-flight';
import { eventually } from '../../support/harness';
import { sendRaw } from '../../support/requests';
import { startTestService, testKey, type TestService } from '../../support/service';
import { rawFilePath, replaceRawFile } from '../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const path = (jobId: string) => `/jobs/${jobId}/rejects.csv`;
const download = (jobId: string) => service.api.get(path(jobId));

async function rejectsOf(csv: string, partnerName: string): Promise<string> {
  const { jobId } = await service.api.loadFeed(csv, partnerName);
  const { status, body } = await download(jobId);
  expect(status).toBe(200);
  return body as string;
}

/** The cells of a file, the report's columns included. */
const cellsOf = (csv: string, delimiter = ','): string[][] =>
  parse(csv, { delimiter, relax_quotes: true, relax_column_count: true });

/** Text after the three generated cells of each row, which contain no line break. */
function originals(csv: string, delimiter = ','): string[] {
  const cell = String.raw`(?:"(?:[^"]|"")*"|[^"${delimiter}\n]*)`;
  const row = new RegExp(`^(?:${cell}${delimiter}){3}`, 'd');
  const texts: string[] = [];
  for (let rest = csv; rest !== '';) {
    const start = row.exec(rest)![0].length;
    const end = endOfRecord(rest, start, delimiter);
    texts.push(rest.slice(start, end));
    rest = rest.slice(end + 1);
  }
  return texts;
}

/** Finds the end of the record at `start`: a line feed outside of quotes. */
function endOfRecord(text: string, start: number, delimiter: string): number {
  let quoted = false;
  let cellStart = true;
  for (let at = start; ; at++) {
    const character = text[at];
    if (quoted) {
      if (character !== '"') continue;
      if (text[at + 1] === '"') at++;
      else quoted = false;
      cellStart = false;
    } else if (character === '"' && cellStart) quoted = true;
    else if (character === '\n') return at;
    else cellStart = character === delimiter;
  }
}

const products = (partnerName: string) =>
  service
    .db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where({ partner_name: partnerName })
    .orderBy('sku')
    .select<Record<string, string | null>[]>(
      'sku',
      'product_name',
      'description',
      'brand',
      'price',
      'currency',
      'availability',
    );

describe('GET /jobs/{job_id}/rejects.csv', () => {
  describe('200', () => {
    it('contains every rejected row once, with its line, codes and messages before its cells', async () => {
      const { jobId } = await service.api.loadFeed(
        [
          'sku,product_name,price,currency,brand',
          'A,Double,1,EUR,Acme',
          'B,Price,"1.299,00",EUR,Acme',
          'OK,Good,1,EUR,Acme',
          ',,NA,XXQ,Acme',
          'F,Fields,1,EUR,Acme,more',
          'A,Double again,0,EUR,Acme',
        ].join('\n'),
        'Every row',
      );

      const { status, headers, body } = await download(jobId);

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(headers.get('content-disposition')).toBe(`attachment; filename="${jobId}-rejects.csv"`);
      const price =
        'price has a decimal comma. Write it with a decimal point, for example 1299.00, or use a format that has a decimal comma.';
      const word =
        'price has no digits. Leave the cell empty if there is no price, or add the word to null_values of a format.';
      const currency = 'currency is not an active ISO 4217 code. Use a code such as USD.';
      expect((body as string).split('\n')).toEqual([
        '_line,_codes,_messages,sku,product_name,price,currency,brand',
        '2,duplicate_sku,A later valid row of this feed has the same sku; the last one is used. Keep one row per sku.,A,Double,1,EUR,Acme',
        `3,invalid_price,"${price}",B,Price,"1.299,00",EUR,Acme`,
        `5,missing_required invalid_currency invalid_price,"sku is required and must not be empty. product_name is required and must not be empty. ${currency} ${word}",,,NA,XXQ,Acme`,
        '6,too_many_fields,The row has more fields than the header. Put quotes around values that contain the delimiter.,F,Fields,1,EUR,Acme,more',
        '',
      ]);
    });

    /** A feed of unusual rows, all rejected for their price except one. */
    const nasty = [
      ['quotes that are not needed', '"A","Tent","NA"'],
      ['doubled quotes', 'B,"12"" ""wide""",NA'],
      ['a quote inside an unquoted cell', 'C,12" wide,NA'],
      ['line breaks inside quotes', 'D,"Tent\nfor\n\ntwo",NA'],
      ['CRLF inside quotes', 'E,"Tent\r\nfor two\r\n",NA'],
      ['spaces at edges', ' F , Tent\t,NA '],
      ['Unicode spaces at edges', '\u00a0G,\u3000Tent\u2003,NA'],
      ['a formula', '=1+1,"=HYPERLINK(""http://x"")",NA'],
      ['other beginnings of formulas', '+1,-1,@SUM(A1)'],
      ['a tab and a carriage return first', 'J,\t=1,\rNA'],
      ['Thai and emoji', 'เต็นท์,"เต็นท์ 2 คน 😀",๑๒'],
      ['NUL', 'K,Te\0nt,1'],
      ['too few cells', 'L'],
      ['an empty pair of quotes alone', '""'],
      ['delimiters alone', ',,'],
      ['too many cells', 'M,Tent,1,2,"3",'],
      ['text after a closing quote', 'N,"Tent" for two,1'],
      ['text after a closing quote, and line breaks', '"O\n"x,"Tent",1'],
      ['a delimiter between doubled quotes', 'P,"Tent"",1"" ",NA'],
    ] as const;

    it.each([
      ['LF', '\n'],
      ['CRLF', '\r\n'],
    ])('preserves the cells of all kinds of rows, with %s', async (name, end) => {
      const rows = nasty.map(([, row]) => row);
      const csv = ['sku,product_name,price', 'good,Good,1', ...rows, 'good2,Good,2'].join(end);

      const rejects = await rejectsOf(csv, `Nasty ${name}`);

      expect(originals(rejects)).toEqual(['sku,product_name,price', ...rows]);
    });

    it.each([';', '\t'])('uses the delimiter of the feed: %j', async (delimiter) => {
      const header = ['sku', '"product, name"', 'product_name', 'price'].join(delimiter);
      const rows = [
        ['A', 'x,y', `"T${delimiter}ent"`, 'NA'].join(delimiter),
        ['B', '"x\n,"', 'T,ent', '1', ',', ''].join(delimiter),
        ['', '', '"T""ent"', '"1"'].join(delimiter),
      ];

      const rejects = await rejectsOf([header, ...rows, ''].join('\n'), `Delimiter ${delimiter}`);

      expect(rejects.startsWith(`_line${delimiter}_codes${delimiter}_messages${delimiter}sku`)).toBe(true);
      expect(originals(rejects, delimiter)).toEqual([header, ...rows]);
      expect(cellsOf(rejects, delimiter).map((cells) => cells.slice(0, 2))).toEqual([
        ['_line', '_codes'],
        ['2', 'invalid_price'],
        ['3', 'too_many_fields'],
        ['5', 'missing_required'],
      ]);
    });

    it('preserves the header, without a byte order mark and preceding blank lines', async () => {
      const header = ' SKU ,"Product_Name","size\n""in"" cm",,price';

      const rejects = await rejectsOf(`\uFEFF\r\n,,\n${header}\r\nA,A,,,NA\r\n`, 'Header');

      expect(originals(rejects)).toEqual([header, 'A,A,,,NA']);
    });

    it('preserves the report columns of an uploaded report', async () => {
      const first = await rejectsOf('sku,product_name,price\nA,A,NA\n', 'Twice');
      const second = await rejectsOf(first, 'Twice');

      expect(originals(second)).toEqual(first.trimEnd().split('\n'));
    });

    it('escapes formulas in generated cells', async () => {
      const rows = nasty.map(([, row]) => row).join('\n');

      const rejects = await rejectsOf(`sku,product_name,price\n${rows}\n`, 'Safe');

      const generated = cellsOf(rejects).flatMap((cells) => cells.slice(0, 3));
      expect(generated).toHaveLength(3 * (nasty.length + 1));
      expect(generated.filter((cell) => !/^[\w ]/.test(cell))).toEqual([]);
    });

    it.each([
      ['nothing was rejected', 'sku,product_name\nA,A\n'],
      ['there are warnings alone', 'sku,product_name,price\nA,A,0\n'],
      ['there are no rows', 'sku,product_name\n'],
    ])('contains only the header if %s', async (what, csv) => {
      const [header] = csv.split('\n');

      expect(await rejectsOf(csv, what)).toBe(`_line,_codes,_messages,${header}\n`);
    });

    it('contains more rows than row_issues keeps, superseded ones too', async () => {
      const bad = Array.from({ length: 8_000 }, (_, n) => `S${n},"Product ${n}\nx",NA`);
      const doubles = Array.from({ length: 8_000 }, (_, n) => `D${n % 2_000},Product ${n},${n}`);
      // Every other row is one of the last 2,000, which win.
      const rows = bad.flatMap((row, at) => [row, doubles[at]!]);

      const rejects = await rejectsOf(`sku,product_name,price\n${rows.join('\n')}\n`, 'More than kept');

      const isLastOfItsSku = (at: number) => at % 2 === 1 && at >= 12_000;
      const expected = rows.filter((_, at) => !isLastOfItsSku(at));
      expect(expected).toHaveLength(14_000);
      expect(originals(rejects)).toEqual(['sku,product_name,price', ...expected]);
    });

    it('contains the rejects before the structural error of a failed run', async () => {
      const { jobId, job } = await service.api.loadFeed(
        'sku,product_name,price\nA,A,1\nB,B,NA\nA,A,2\n,C,\nD,"D\n,,\n',
        'Broken',
      );
      expect(job.status).toBe('failed');

      const { status, body } = await download(jobId);

      // The failed run has not searched for superseded rows.
      expect(status).toBe(200);
      expect(cellsOf(body).map((cells) => [cells[0], cells[1], ...cells.slice(3)])).toEqual([
        ['_line', '_codes', 'sku', 'product_name', 'price'],
        ['3', 'invalid_price', 'B', 'B', 'NA'],
        ['5', 'missing_required', '', 'C', ''],
      ]);
    });

    it('describes the last run', async () => {
      const feed = await service.api.loadFeed('sku,product_name\n,A\n', 'Last run');
      await replaceRawFile(service, feed.feedId, 'sku,product_name\nB,\nB,B\n');
      await service.api.post(`/jobs/${feed.jobId}/run`);

      expect(originals((await download(feed.jobId)).body)).toEqual(['sku,product_name', 'B,']);
    });

    it('changes nothing and is repeatable', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name\nA,A\nA,B\n,C\n', 'Unchanged');
      const state = async () => [
        await products('Unchanged'),
        (await service.api.get(`/jobs/${jobId}`)).body,
        (await service.api.get(`/jobs/${jobId}/issues`)).body,
      ];
      const before = await state();

      const first = await download(jobId);
      const second = await download(jobId);

      expect(second.body).toBe(first.body);
      expect(await state()).toEqual(before);
    });

    describe('corrected by a program and uploaded again', () => {
      /** Corrects each rejected row by its codes, which it keeps unless a later row superseded the row. */
      function mend(rejects: string): { csv: string; rows: number } {
        const [header, ...rows] = cellsOf(rejects);
        const at = (column: string) => header!.indexOf(column);
        const mended = rows.map((cells, row) => {
          const codes = cells[at('_codes')]!.split(' ');
          const own = codes.includes('too_many_fields') ? cells.slice(0, header!.length) : [...cells];
          while (own.length < header!.length) own.push('');
          const set = (column: string, value: string) => (own[at(column)] = value);
          if (codes.includes('missing_required')) {
            if (own[at('sku')]!.trim() === '') set('sku', `NEW-${row}`);
            if (own[at('product_name')]!.trim() === '') set('product_name', 'Unnamed');
          }
          if (codes.includes('duplicate_sku')) {
            set('sku', `${own[at('sku')]!.trim()}-${row}`);
            set('_codes', '');
          }
          if (codes.includes('invalid_price') || codes.includes('currency_conflict')) set('price', '');
          if (codes.includes('invalid_currency')) set('currency', '');
          if (codes.includes('value_too_long')) set('brand', own[at('brand')]!.trim().slice(0, 255));
          for (const [position, cell] of own.entries()) own[position] = cell.replaceAll('\0', '');
          // Rewriting fixes the quoting; removing the price fixes the positions.
          if (codes.includes('invalid_quoting') || codes.includes('too_many_fields')) {
            set('sku', `NEW-${row}`);
            set('price', '');
            set('currency', '');
          }
          return own;
        });
        return { csv: stringify([header!, ...mended]), rows: rows.length };
      }

      const columns = 'sku,product_name,description,brand,price,currency,availability';
      const line = (values: Record<string, string>) =>
        stringify([columns.split(',').map((column) => values[column] ?? '')], { eof: false });

      const feeds: [string, string[]][] = [
        [
          'a feed of conflicting rows, blank skus, Thai text, edge spaces and formulas',
          [
            ...Array.from({ length: 30 }, (_, n) =>
              line({ sku: `R${n % 7}`, product_name: `ชื่อ ${n}`, price: String(n) }),
            ),
            ...Array.from({ length: 5 }, (_, n) => line({ sku: ' '.repeat(n), product_name: `Blank ${n}` })),
            line({ sku: '  edge  ', product_name: ' name\t', brand: '\u00a0x', price: ' 4,20 ' }),
            line({ sku: '=2+2', product_name: '@x', price: '-5', description: '+1' }),
            line({ sku: '=1+1', product_name: '=cmd|x', price: '5' }),
            line({ sku: '=1+1', product_name: '-', price: '6' }),
            line({ sku: 'เต็นท์', product_name: '', description: 'a\r\nb "c"\n', price: '1,280' }),
            line({ sku: 'X', product_name: 'X', brand: 'b'.repeat(300), currency: 'baht' }),
            line({ sku: 'Y', product_name: 'Y\0', price: 'THB 5', currency: 'EUR' }),
            'Z,"Z" z,,,1,,',
            'W,Lamp, red,,,1,,,,',
          ],
        ],
        [
          'a feed such as a shop of games exports: NA, no-break spaces, CJK and quotes in names',
          Array.from({ length: 400 }, (_, n) =>
            line({
              sku: String(440 + n),
              product_name: ['Half\u00a0Life "2"', '半条命', 'ไทย', '""'][n % 4]!,
              price: n % 9 === 0 ? 'NA' : `${n}.99`,
              currency: 'USD',
            }),
          ),
        ],
        [
          'a feed such as a shop of bathtubs exports: $ and #N/A, inch marks, cells of many lines, skus that hold commas',
          Array.from({ length: 120 }, (_, n) =>
            line({
              sku: n % 10 === 0 ? '' : `K-${n},0;${n % 40}`,
              product_name: `Tub ${n} 66" x 36"`,
              description: `Line 1\nLine 2 "quoted"\r\n\nLine ${n}`,
              price: n % 6 === 0 ? '#N/A' : n % 5 === 0 ? '$8,395.00' : `$${n},000.5`,
              currency: 'USD',
            }),
          ),
        ],
      ];

      it.each(feeds)('loads every corrected row: %s', async (partner, rows) => {
        const { job, jobId } = await service.api.loadFeed(`${columns}\n${rows.join('\n')}\n`, partner);
        const before = await products(partner);
        const { csv, rows: rejected } = mend((await download(jobId)).body);

        const again = await service.api.loadFeed(csv, partner);

        expect(rejected).toBe(job.summary.skipped);
        expect(rejected).toBeGreaterThan(20);
        expect(again.job.summary).toEqual({
          processed: rejected,
          inserted: rejected,
          updated: 0,
          unchanged: 0,
          skipped: 0,
          withdrawn: 0,
          restored: 0,
        });
        // Only the earlier rows and the corrected ones.
        const after = await products(partner);
        expect(after).toEqual(expect.arrayContaining(before));
        expect(after.length).toBe(job.summary.processed);
        expect((await download(again.jobId)).body.split('\n')).toHaveLength(2);
      });
    });

    it('loads no row over a later one that superseded it, when the file is uploaded with one cell corrected', async () => {
      const feed = 'sku,product_name,price\nA,a,1\nB,b,x\nA,a,7\n';
      for (const mode of ['upsert', 'update']) {
        const partner = `Winner ${mode}`;
        const { jobId } = await service.api.loadFeed(feed, partner);
        const { body: rejects } = await download(jobId);

        const again = await service.api.uploadFeed(rejects.replace('B,b,x', 'B,b,2'), partner, { mode });
        const { body: job } = await service.api.post(`/jobs/${again.jobId}/run`);

        expect(job.summary).toMatchObject({ processed: 2, skipped: mode === 'update' ? 2 : 1 });
        const { body: issues } = await service.api.get(`/jobs/${again.jobId}/issues?code=superseded_row`);
        expect(issues.items).toMatchObject([
          { line: 2, sku: 'A', field: null, column_number: 2, severity: 'error', value: 'duplicate_sku' },
        ]);
        expect((await products(partner)).map(({ sku, price }) => [sku, price])).toEqual([
          ['A', '7.0000'],
          ...(mode === 'update' ? [] : [['B', '2.0000']]),
        ]);
        // Its own rejects contain it again, and it is skipped again.
        const third = await service.api.loadFeed((await download(again.jobId)).body, partner);
        expect(third.job.issue_counts).toContainEqual(
          expect.objectContaining({ code: 'superseded_row', count: 1 }),
        );
      }
    });

    it('loads such a row when its _codes are emptied', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name\nA,a\nA,b\n', 'Emptied');
      const { body: rejects } = await download(jobId);

      await service.api.loadFeed(rejects.replace('duplicate_sku', ''), 'Emptied');

      expect(await products('Emptied')).toMatchObject([{ sku: 'A', product_name: 'a' }]);
    });

    const openFiles = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(service.dataDir);
        } catch {
          return false;
        }
      });
    /** A feed of 2 MB, nearly all rejected; one row supersedes another. */
    const largeFeed = `sku,product_name,price\nA,A,1\nA,A,2\n${`x,${'y'.repeat(1_000)},NA\n`.repeat(2_000)}`;

    it('is not read by HEAD, which has the same headers and closes all resources', async () => {
      const { jobId } = await service.api.loadFeed(largeFeed, 'HEAD');
      const headers = { 'x-api-key': testKey, 'x-request-id': 'same' };

      const head = await sendRaw(service.url, { method: 'HEAD', path: path(jobId), headers });

      expect(head.status).toBe(200);
      expect(head.text).toBe('');
      expect(head.headers).toMatchObject({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${jobId}-rejects.csv"`,
      });
      await eventually('the raw file is closed', () => expect(openFiles()).toEqual([]));
    });

    it('can be aborted midway, which closes file and connection', async () => {
      const { jobId } = await service.api.loadFeed(largeFeed, 'Left midway');

      for (let caller = 0; caller < 3; caller++) {
        await new Promise<void>((resolve, reject) => {
          const message = request(
            service.url + path(jobId),
            { agent: false, headers: { 'x-api-key': testKey } },
            (response) => {
              response.once('data', () => {
                response.destroy();
                resolve();
              });
            },
          );
          message.on('error', reject).end();
        });
      }

      await eventually('the raw file is closed', () => expect(openFiles()).toEqual([]));
      await eventually('no transaction is open', async () => {
        const { rows } = await service.db.raw<{ rows: unknown[] }>(
          "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
        );
        expect(rows).toEqual([]);
      });
      // All connections of the pool are free.
      const all = await Promise.all(Array.from({ length: 10 }, () => service.db.transaction()));
      await Promise.all(all.map((trx) => trx.rollback()));
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await download('%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { jobId } = await service.api.loadFeed('sku,product_name\n,A\n', 'No key');

      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await service.api.withKey(key).get(path(id));

        expect(status).toBe(401);
        expect(body).toEqual({ detail: 'Invalid or missing API key' });
      }
    });
  });

  describe('404', () => {
    it.each(['JV99999', 'JS99999', 'JV1', 'jv00001', 'FD00001', 'JV00001%00', '%22%0D%0Ax'])(
      'does not find the job %s',
      async (id) => {
        await service.api.uploadFeed('sku,product_name\n');
        const jobId = decodeURIComponent(id);

        const { status, body } = await download(id);

        expect(status).toBe(404);
        expect(body).toEqual({
          error_code: 'JOB_NOT_FOUND',
          message: `Job ${jobId} not found`,
          details: { job_id: jobId },
        });
      },
    );
  });

  describe('409', () => {
    const csv = 'sku,product_name\nA,A\nA,B\n,C\n';
    const expectNoRun = async (jobId: string) => {
      const { status, headers, body } = await download(jobId);

      expect(status).toBe(409);
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('content-disposition')).toBeNull();
      expect(body).toEqual({ detail: `Job ${jobId} has no finished run.` });
    };

    it('rejects a job without a run', async () => {
      await expectNoRun((await service.api.uploadFeed(csv)).jobId);
    });

    it('rejects a submission job', async () => {
      await expectNoRun((await service.api.loadFeed(csv)).submissionJobId);
    });

    it('rejects a running job, even if it was run before', async () => {
      const feed = await service.api.loadFeed(csv, 'Running');

      await whileReading(service, feed, () => expectNoRun(feed.jobId));
      expect((await download(feed.jobId)).status).toBe(200);
    });

    it('rejects a job with an orphaned run', async () => {
      const feed = await service.api.uploadFeed(csv);
      await leaveRunning(service, feed);

      await expectNoRun(feed.jobId);
    });

    it.each([
      ['rows that replace others', csv],
      ['none of those', 'sku,product_name\n,C\n'],
      ['a run that failed', 'sku,product_name\n,C\n"'],
    ])('reports that the raw file is missing, for a feed with %s', async (what, content) => {
      const { feedId, jobId } = await service.api.loadFeed(content, what);
      const file = await rawFilePath(service, feedId);
      await rename(file, `${file}.away`);

      const { status, body } = await download(jobId);

      expect(status).toBe(409);
      expect(body).toEqual({ detail: 'The raw file is missing from object storage.' });
      await rename(`${file}.away`, file);
      expect((await download(jobId)).status).toBe(200);
    });

    it('reports that the raw file was replaced by one without header', async () => {
      const { feedId, jobId } = await service.api.loadFeed(csv, 'Another file');
      await replaceRawFile(service, feedId, 'a,b\n');

      const { status, body } = await download(jobId);

      expect(status).toBe(409);
      expect(body).toEqual({
        detail: 'Invalid CSV file: Missing required CSV headers: product_name, sku',
      });
    });
  });

  describe('503', () => {
    it('is returned with Retry-After when the object store does not respond', async () => {
      const { feedId, jobId } = await service.api.loadFeed('sku,product_name\n,A\n', 'Unreadable');
      const file = await rawFilePath(service, feedId);
      const folder = file.slice(0, file.lastIndexOf('/'));
      const content = await readFile(file);
      await rm(folder, { recursive: true });
      // A file instead of the folder: unknown whether the object exists.
      await writeFile(folder, content);

      const { status, body, headers } = await download(jobId);

      expect(status).toBe(503);
      expect(body).toEqual({ detail: 'Service temporarily unavailable' });
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
    });
  });

  it('destroys the connection instead of truncating the file when the raw file fails midway', async () => {
    const { feedId, jobId } = await service.api.loadFeed(
      `sku,product_name,price\n${`x,${'y'.repeat(1_000)},NA\n`.repeat(2_000)}`,
      'Breaks later',
    );
    const file = await rawFilePath(service, feedId);
    await replaceRawFile(service, feedId, `${(await readFile(file)).toString()}"`);

    await expect(download(jobId)).rejects.toThrow();
  });
});
