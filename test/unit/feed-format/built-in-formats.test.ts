import { builtInFormats, findBuiltInFormat } from '../../../src/feed-format/built-in-formats';
import { builtInFor } from '../../../src/feed-format/detect/known-systems';
import { definitionFaults } from '../../../src/feed-format/format-faults';
import { readFormatted } from '../../support/read-by-format';

const definitionOf = (name: string) => findBuiltInFormat(name)!.definition;

/** Reads a file by the format that its header tells; the values of each row, or its codes. */
async function rowsOf(lines: readonly string[]) {
  const { name, definition } = builtInFor(lines[0]!.split(','))!;
  const rows = await readFormatted(lines.join('\r\n'), definition);
  return { name, rows: rows.map(({ values, codes }) => values ?? codes) };
}

const availabilities = async (lines: readonly string[]) =>
  (await rowsOf(lines)).rows.map((row) => (Array.isArray(row) ? row : (row.availability ?? null)));

const skus = async (lines: readonly string[]) =>
  (await rowsOf(lines)).rows.map((row) => (Array.isArray(row) ? row.join() : row.sku));

const oldHeader =
  'Handle,Title,Body (HTML),Vendor,Type,Option1 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Image Src,Status';
const newHeader =
  'Title,URL handle,Description,Vendor,Product category,Type,Status,SKU,Option1 value,Price,Inventory tracker,Inventory quantity,Continue selling when out of stock,Product image URL';

describe('built-in formats', () => {
  it.each(builtInFormats.map(({ name }) => name))('have a definition without faults: %s', (name) => {
    expect(definitionFaults(definitionOf(name))).toEqual([]);
  });
});

describe('shopify', () => {
  const kettle = { brand: 'Acme', category: 'Kitchen', description: 'Steel', price: '30' };

  it('reads variants of the old template, with the values of their product', async () => {
    const lines = [
      oldHeader,
      'kettle,Kettle,Steel,Acme,Kitchen,1 l,K-1,shopify,3,deny,30,a.jpg,active',
      'kettle,,,,,2 l,K-2,shopify,0,deny,30,,',
      'kettle,,,,,,,,,,,b.jpg,',
    ];
    expect(await rowsOf(lines)).toEqual({
      name: 'shopify',
      rows: [
        { ...kettle, sku: 'K-1', product_name: 'Kettle - 1 l', availability: 'in_stock' },
        { ...kettle, sku: 'K-2', product_name: 'Kettle - 2 l', availability: 'out_of_stock' },
      ],
    });
  });

  it('reads variants of the new template, grouped by their URL handle', async () => {
    const lines = [
      newHeader,
      'Kettle,kettle,Steel,Acme,Home,Kitchen,Active,K-1,1 l,30,shopify,3,FALSE,a.jpg',
      ',kettle,,,,,,K-2,2 l,30,shopify,0,FALSE,',
      ',kettle,,,,,,,,,,,,b.jpg',
      'Spoon,spoon,,,,,Active,S-1,Default Title,2,shopify,1,FALSE,',
    ];
    expect(await rowsOf(lines)).toEqual({
      name: 'shopify',
      rows: [
        { ...kettle, sku: 'K-1', product_name: 'Kettle - 1 l', availability: 'in_stock' },
        { ...kettle, sku: 'K-2', product_name: 'Kettle - 2 l', availability: 'out_of_stock' },
        { sku: 'S-1', product_name: 'Spoon', price: '2', availability: 'in_stock' },
      ],
    });
  });

  it.each([
    [
      'old',
      oldHeader,
      (handle: string, title: string, sku: string, status: string) =>
        `${handle},${title},,,,,${sku},shopify,1,deny,5,,${status}`,
    ],
    [
      'new',
      newHeader,
      (handle: string, title: string, sku: string, status: string) =>
        `${title},${handle},,,,,${status},${sku},,5,shopify,1,FALSE,`,
    ],
  ])(
    'leaves out all variants of products that are not active, in the %s template',
    async (_, header, row) => {
      const lines = [
        header,
        row('a', 'A', 'A-1', 'Active'),
        row('a', '', 'A-2', ''),
        row('b', 'B', 'B-1', 'draft'),
        row('b', '', 'B-2', ''),
        row('c', 'C', 'C-1', 'Archived'),
        row('d', 'D', 'D-1', ''),
      ];
      expect(await skus(lines)).toEqual(['A-1', 'A-2', 'D-1']);
    },
  );

  it('takes the stock only where it is tracked and not sold beyond', async () => {
    const stock = [
      ['shopify', '5', 'deny', 'in_stock'],
      ['shopify', '-2', 'deny', 'out_of_stock'],
      ['shopify', '0', 'continue', null],
      ['', '0', 'deny', null],
    ] as const;
    const expected = stock.map(([, , , availability]) => availability);
    const old = stock.map(
      ([tracker, qty, policy], at) => `h${at},T,,,,,S${at},${tracker},${qty},${policy},5,,active`,
    );
    const latest = stock.map(
      ([tracker, qty, policy], at) =>
        `T,h${at},,,,,active,S${at},,5,${tracker},${qty},${String(policy === 'continue').toUpperCase()},`,
    );

    expect(await availabilities([oldHeader, ...old])).toEqual(expected);
    expect(await availabilities([newHeader, ...latest])).toEqual(expected);
  });
});

describe('woocommerce', () => {
  const languages = [
    ['SKU', 'Name', 'Published', 'In stock?', 'Regular price'],
    ['Artikelnummer', 'Name', 'Veröffentlicht', 'Vorrätig?', 'Regulärer Preis'],
    ['UGS', 'Nom', 'Publié', 'En stock\u00a0?', 'Tarif régulier'],
    ['Артикул', 'Имя', 'Опубликован', 'Наличие', 'Базовая цена'],
  ];

  it.each(languages)('leaves out drafts and private products: %s', async (...headers) => {
    const rows = [
      'A,Ale,1,1,5',
      'B,Beer,0,1,5',
      'C,Cider,-1,1,5',
      "D,Gin,'-1,1,5",
      'E,Rum,,0,6',
      'F,Tea,1,backorder,',
    ];
    const { name, rows: found } = await rowsOf([headers.join(','), ...rows]);
    expect({ name, found }).toEqual({
      name: 'woocommerce',
      found: [
        { sku: 'A', product_name: 'Ale', price: '5', availability: 'in_stock' },
        { sku: 'E', product_name: 'Rum', price: '6', availability: 'out_of_stock' },
        { sku: 'F', product_name: 'Tea', availability: 'backorder' },
      ],
    });
  });

  it('removes the apostrophe before signs of formulas', async () => {
    const { rows } = await rowsOf(['SKU,Name,Regular price', "'-A,'+1 card,5", "B,'@home,5", "C,'n Roll,5"]);
    expect(rows).toEqual([
      { sku: '-A', product_name: '+1 card', price: '5' },
      { sku: 'B', product_name: '@home', price: '5' },
      { sku: 'C', product_name: "'n Roll", price: '5' },
    ]);
  });
});

describe('magento2', () => {
  it('leaves out translations and products that are switched off', async () => {
    const { name, rows } = await rowsOf([
      'sku,store_view_code,name,price,product_online,is_in_stock',
      'A,,Bench,50,1,1',
      'A,de,Bank,,,',
      'B,,Stool,20,2,1',
      'C,,Table,90,1,0',
    ]);
    expect({ name, rows }).toEqual({
      name: 'magento2',
      rows: [
        { sku: 'A', product_name: 'Bench', price: '50', availability: 'in_stock' },
        { sku: 'C', product_name: 'Table', price: '90', availability: 'out_of_stock' },
      ],
    });
  });
});

describe('rules with several groups', () => {
  const columns = { sku: { from: ['sku'] }, product_name: { from: ['name'] } };
  const definition = {
    columns,
    fill_down: [
      { column: 'product_name' as const, by: 'g1' },
      { column: 'product_name' as const, by: 'g2' },
    ],
    only_rows_where: [
      { header: 'status', values: ['on'], by: 'g1' },
      { header: 'status', values: ['on'], by: 'g2' },
    ],
  };
  const read = async (file: string) =>
    (await readFormatted(file, definition)).map(({ values, codes }) => values?.product_name ?? codes[0]);

  it('use the first group that the file has', async () => {
    expect(await read('sku,name,status,g2\n1,N,on,x\n2,,,x\n3,M,off,y\n4,,,y\n')).toEqual(['N', 'N']);
    expect(await read('g2,sku,name,status,g1\nx,1,N,on,a\nx,2,,,b\n')).toEqual(['N']);
    expect(await read('g2,sku,name,status,g1\nx,1,N,on,a\ny,2,,,a\n')).toEqual(['N', 'N']);
  });

  it('fill nothing down without any of the groups', async () => {
    expect(await read('sku,name,status\n1,N,on\n2,M,\n3,,on\n')).toEqual(['N', 'missing_required']);
  });
});
