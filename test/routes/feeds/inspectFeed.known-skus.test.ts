import { fieldPart, filePart, formBody, formType } from '../../support/requests';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const rows = Array.from({ length: 100 }, (_, at) => `LAMP-${at},Lamp ${at}`);
  await service.api.loadFeed(`sku,product_name\n${rows.join('\n')}\n`, 'Large');
  await service.api.loadFeed('sku,product_name\nLAMP-1,Lamp\n', 'Small');
});

async function inspect(csv: string, partnerName: string, fields: Record<string, string> = {}) {
  const named = Object.entries(fields).map(([name, value]) => fieldPart(name, value));
  const parts = [fieldPart('partner_name', partnerName), ...named, filePart(csv)];
  const request = { headers: { 'content-type': formType }, body: formBody(parts) };
  const { status, body } = await service.api.send('POST', '/feeds/inspect', request);
  expect(status).toBe(200);
  return body;
}

/** Rows of a file with other keys than the catalog has, and with the catalog's in another column. */
const fileOf = (rows: number, other: (at: number) => string) =>
  ['SKU;Name;Marking', ...Array.from({ length: rows }, (_, at) => `X-${at};Lamp ${at};${other(at)}`)].join(
    '\n',
  );

describe('POST /feeds/inspect, with the catalog of the partner', () => {
  it('counts the skus that the partner has', async () => {
    const csv = 'SKU;Name\nLAMP-1;a\nLAMP-1;a\nNEW;b\n';

    expect((await inspect(csv, 'Large')).known_skus).toEqual({ checked: 2, known: 1 });
    expect((await inspect(csv, 'Unknown partner')).known_skus).toEqual({ checked: 2, known: 0 });
  });

  it('counts by the format of the form', async () => {
    const definition = { columns: { sku: { from: ['Own'] }, product_name: { from: ['Name'] } } };
    const fields = { format_definition: JSON.stringify(definition), format: 'own' };

    const body = await inspect('SKU,Own,Name\nLAMP-1,X-1,a\nLAMP-2,LAMP-3,b\n', 'Large', fields);

    expect(body.known_skus).toEqual({ checked: 2, known: 1 });
  });

  it('counts active products only', async () => {
    await service.api.loadFeed('sku,product_name\nGONE,Lamp\n', 'Changing');
    const { items } = (await service.api.get('/products?partner_name=Changing')).body;
    await service.api.post(`/products/${items[0].product_id}/withdraw`);

    expect((await inspect('SKU;Name\nGONE;a\n', 'Changing')).known_skus).toEqual({ checked: 1, known: 0 });
  });

  it('counts nothing in a file that cannot be read', async () => {
    expect((await inspect('no table at all', 'Large')).known_skus).toBeNull();
  });

  it('asks about skus of which a large catalog has none, and names the column that it knows first', async () => {
    const body = await inspect(
      fileOf(12, (at) => `LAMP-${at}`),
      'Large',
    );

    expect(body.known_skus).toEqual({ checked: 12, known: 0 });
    expect(body.suggested_format).toBeNull();
    expect(body.draft_format.columns.sku).toEqual({ from: ['SKU'] });
    const [doubt] = body.doubts;
    expect(doubt).toMatchObject({ about: 'sku', code: 'unknown_skus' });
    expect(doubt.choices).toMatchObject([
      { label: 'The sku is "Marking"', changes: { columns: { sku: { from: ['Marking'] } } } },
      { label: 'These are new products', changes: {}, value_pointer: null },
    ]);
  });

  it('asks about them for an update as well, which skips their rows', async () => {
    const csv = fileOf(12, () => 'x');
    const [doubt] = (await inspect(csv, 'Large', { mode: 'update' })).doubts;

    expect(doubt.message).toMatch(/^None of the 12 skus .+: an update skips their rows\.$/);
    expect(doubt.choices.at(-1)).toMatchObject({ label: 'Skip these rows', changes: {} });
  });

  it.each([
    ['fewer than ten skus', 9, 'Large'],
    ['a small catalog', 12, 'Small'],
  ])('does not ask with %s', async (_, rows, partner) => {
    const body = await inspect(
      fileOf(rows, () => ''),
      partner,
    );

    expect(body.known_skus).toEqual({ checked: rows, known: 0 });
    expect(body.doubts).not.toContainEqual(expect.objectContaining({ code: 'unknown_skus' }));
  });

  it('orders the choices of a doubt about the sku by agreement with the catalog', async () => {
    const rows = Array.from({ length: 12 }, (_, at) => `X-${at};LAMP-${at};Lamp ${at}`);
    const body = await inspect(['Item code;Article number;Name', ...rows].join('\n'), 'Large');

    const doubt = body.doubts.find(({ about }: { about: string }) => about === 'sku');
    expect(doubt).toMatchObject({ code: 'several_columns' });
    expect(doubt.choices[0].changes).toEqual({ columns: { sku: { from: ['Article number'] } } });
  });
});
