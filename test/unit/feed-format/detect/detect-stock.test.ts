import { definitionOf, fileOf } from '../../../support/detected-format';
import { readValues } from '../../../support/read-by-format';

const header = (...columns: string[]) => ['Item no.', 'Product name', 'Price EUR', ...columns].join(',');
const row = (cells: string, at: number) => `S${at},n,1.50,${cells}`;

describe('detectFormat reads the availability', () => {
  it.each([
    [
      'a quantity',
      ['Stock'],
      ['12', '0', '-1', '10+', '>5'],
      ['in_stock', 'out_of_stock', 'out_of_stock', 'in_stock', 'in_stock'],
    ],
    ['a quantity in German', ['Lagerbestand'], ['3', '0'], ['in_stock', 'out_of_stock']],
    ['words under the name of a quantity', ['Stock'], ['In stock', 'Sold out'], ['in_stock', 'out_of_stock']],
    [
      'words beside a quantity',
      ['Quantity', 'Availability'],
      ['12,in stock', '5,out of stock'],
      ['in_stock', 'out_of_stock'],
    ],
    [
      'words and quantities in one column',
      ['Inventory'],
      ['InStock', 'OutOfStock', '21', '0', 'auf Lager'],
      ['in_stock', 'out_of_stock', 'in_stock', 'out_of_stock', 'in_stock'],
    ],
    ['a quantity under our own name', ['availability'], ['12', '0'], ['in_stock', 'out_of_stock']],
  ])('of %s', async (_, columns, rows, expected) => {
    const lines = [header(...columns), ...rows.map(row)];
    const values = await readValues(fileOf(...lines), definitionOf(...lines));

    expect(values.map(({ availability }) => availability)).toEqual(expected);
  });

  it('of no column if several places have a stock', () => {
    const { columns } = definitionOf(header('Stock Berlin', 'Stock Paris'), row('1,5', 0), row('0,7', 1));

    expect(columns).not.toHaveProperty('availability');
  });

  it.each(['Out of stock', 'Sold out', 'Ausverkauft'])('of a column %j not as the contrary', (name) => {
    const { columns, availability } = definitionOf(header(name), row('no', 0), row('yes', 1));

    if (columns.availability) expect(availability).toEqual({ no: 'in_stock', yes: 'out_of_stock' });
    else expect(availability).toBeUndefined();
  });

  it.each(['Incoming stock', 'Stock ordered'])('of no column %j: it is not there yet', (name) => {
    expect(definitionOf(header(name), row('12', 0), row('0', 1)).columns).not.toHaveProperty('availability');
  });

  it('of no column that says "no" in all rows', () => {
    expect(definitionOf(header('Stock'), row('no', 0), row('no', 1)).columns).not.toHaveProperty(
      'availability',
    );
  });

  it.each(['Purchasable', 'Opening stock'])('of a stock beside a column %j', (name) => {
    const { columns } = definitionOf(header(name, 'Stock on hand'), row('1,3', 0), row('1,0', 1));

    expect(columns.availability).toEqual({ quantity: { from: ['Stock on hand'] } });
  });

  it('of no column with other words', () => {
    const { columns } = definitionOf(header('Stock'), row('shelf A', 0), row('shelf B', 1));

    expect(columns).not.toHaveProperty('availability');
  });
});
