import { join, resolve } from 'node:path';
import { githubReport } from '../../../../src/clients/cli/check-annotations';
import { checkFeed } from '../../../../src/feed-format/check/check-feed';

const upload = { fileName: 'a,b.csv', mode: 'upsert', format: null, maxSkippedPercent: null } as const;

const workspace = resolve('/home/runner/work/shop');

async function annotationsOf(csv: string, issuesShown = 10): Promise<string[]> {
  async function* content() {
    yield await Promise.resolve(Buffer.from(csv));
  }
  const check = await checkFeed(content(), upload);
  const path = join(workspace, 'feeds', upload.fileName);
  return githubReport({ path, ...upload, check, advice: null }, issuesShown, workspace).split('\n');
}

it('writes an annotation per issue, at its lines, and one for the result', async () => {
  const csv = 'sku,product_name,price\nA,"100 %\ncotton",0\n,Lamp,1\n';

  expect(await annotationsOf(csv)).toEqual([
    '::warning file=feeds/a%2Cb.csv,line=2,endLine=3,title=zero_price::price is 0. Leave the cell empty if there is no price. (sku A, value 0)',
    '::error file=feeds/a%2Cb.csv,line=4,endLine=4,title=missing_required::sku is required and must not be empty.',
    '::notice file=feeds/a%2Cb.csv,title=partner-feed check::a first run would load 1 of 2 rows.',
    '',
  ]);
});

it('escapes a value, so that it cannot be a command of its own', async () => {
  const [annotation, ...others] = await annotationsOf('sku,product_name,price\nA,Tent,"5%\n::error::x"\n');

  expect(annotation).toMatch(/value 5%25\\n::error::x\)$/);
  expect(others).toHaveLength(2);
});

it('shows the refusal of the upload, and no more issues than asked for', async () => {
  expect(await annotationsOf('sku,name\nA,Tent\n')).toMatchObject([
    '::error file=feeds/a%2Cb.csv,title=missing_columns::Invalid CSV file: Missing required CSV headers: product_name, sku',
    expect.stringContaining('::notice '),
    '',
  ]);
  expect(await annotationsOf('sku,product_name\n,\n,\n,\n', 2)).toHaveLength(4);
});

it('prefers errors to warnings, in the order of the file', async () => {
  const lines = (await annotationsOf('sku,product_name,price\nA,Tent,0\nB,Lamp,0\n,Pan,1\n', 2)).map((line) =>
    line.replace(/,title.*/, ''),
  );

  expect(lines).toEqual([
    '::warning file=feeds/a%2Cb.csv,line=2,endLine=2',
    '::error file=feeds/a%2Cb.csv,line=4,endLine=4',
    expect.stringContaining('::notice '),
    '',
  ]);
});
