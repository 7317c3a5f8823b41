import fc from 'fast-check';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { casesFor } from '../../../support/fuzz';
import { readFormatted } from '../../../support/read-by-format';

const columns: FormatDefinition['columns'] = {
  sku: { from: ['Nr'] },
  product_name: { from: ['Name'] },
  brand: { from: ['Marke'] },
};

/** The rows of a file: the sku of each row that loads, the codes of others. */
async function rowsOf(file: string, members: Partial<FormatDefinition>) {
  const rows = await readFormatted(file, { ...members, columns });
  return rows.map(({ values, codes }) => values?.sku ?? codes.join());
}

describe('only_rows_where', () => {
  it('leaves out rows with other values, and counts only the others as rows', async () => {
    const rows = await readFormatted(
      'Nr,Name,Status\nA,a,Aktiv\nB,b,Entwurf\n,,x\nC,c, AKTIV \nD,d,\nE,e\n',
      {
        columns,
        only_rows_where: [{ header: ' status', values: ['aktiv', ''] }],
      },
    );
    expect(rows.map(({ line, row, values }) => [line, row, values?.sku])).toEqual([
      [2, 1, 'A'],
      [5, 2, 'C'],
      [6, 3, 'D'],
      [7, 4, 'E'],
    ]);
  });

  it('needs each of its conditions, and ignores those whose header the file lacks', async () => {
    const only_rows_where = [
      { header: 'Status', values: ['1'] },
      { header: 'Typ', values: ['variant', 'simple'] },
      { header: 'Nowhere', values: ['x'] },
    ];
    expect(
      await rowsOf('Nr,Name,Status,Typ\nA,a,1,simple\nB,b,0,simple\nC,c,1,parent\n', { only_rows_where }),
    ).toEqual(['A']);
  });

  it('compares cells without null words and text marks', async () => {
    const only_rows_where = [{ header: 'Status', values: ['', '-1'] }];
    const members = { only_rows_where, null_values: ['-'], text_marks: 'strip' as const };
    expect(await rowsOf(`Nr,Name,Status\nA,a,-\nB,b,'-1\nC,c,="-1"\nD,d,1\nE,e,'-\n`, members)).toEqual([
      'A',
      'B',
      'C',
      'E',
    ]);
  });

  it('leaves rows out that begin a group, which others continue', async () => {
    const members: Partial<FormatDefinition> = {
      only_rows_where: [{ header: 'Typ', values: ['variant'] }],
      fill_down: [{ column: 'product_name', by: 'Handle' }],
    };
    const rows = await readFormatted(
      'Handle,Nr,Name,Typ\nmug,M,Mug,parent\nmug,M-1,,variant\nmug,M-2,,draft\nmug,M-3,,variant\n',
      { ...members, columns },
    );
    expect(rows.map(({ values }) => values)).toEqual([
      { sku: 'M-1', product_name: 'Mug' },
      { sku: 'M-3', product_name: 'Mug' },
    ]);
  });

  it('skips rows whose value is unknown, because the beginning of their group could not be split', async () => {
    const only_rows_where = [{ header: 'Status', values: ['active'], by: 'Handle' }];
    const file =
      'Handle,Status,Nr,Name\na,active,A-1,a,surplus\na,,A-2,a\na,active,A-3,a\na,,A-4,a\nb,,B-1,b\nb,active,B-2,b\n';
    const rows = await readFormatted(file, { columns, only_rows_where });
    expect(rows.map(({ values, codes }) => values?.sku ?? codes.join())).toEqual([
      'too_many_fields',
      'incomplete_group',
      'A-3',
      'A-4',
      'B-2',
    ]);
    expect(rows[1]!.messages).toEqual([expect.stringContaining('(only_rows_where) is empty')]);
  });

  it('agrees with a second implementation for any rows', async () => {
    const cell = fc.constantFrom('', 'x', 'X ', 'y');
    const row = fc.record({ group: fc.constantFrom('', 'g', 'h'), status: cell, type: cell });
    const values = fc.uniqueArray(fc.constantFrom<string>('', 'x', 'y'), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 8 }),
        values,
        values,
        fc.boolean(),
        async (rows, statuses, types, isFilled) => {
          const by = isFilled ? { by: 'Gruppe' } : {};
          const only_rows_where = [
            { header: 'Status', values: statuses, ...by },
            { header: 'Typ', values: types },
          ];
          const lines = rows.map(({ group, status, type }, at) => `${at},n,${group},${status},${type}`);

          const expected: string[] = [];
          let above = { group: '', status: '' };
          for (const [at, { group, status, type }] of rows.entries()) {
            const text = status.trim().toLowerCase();
            const isMember = isFilled && group !== '' && group === above.group;
            const filled = text === '' && isMember ? above.status : text;
            above = { group, status: filled };
            if (statuses.includes(filled) && types.includes(type.trim().toLowerCase()))
              expected.push(String(at));
          }
          const file = `Nr,Name,Gruppe,Status,Typ\n${lines.join('\n')}\n`;
          expect(await rowsOf(file, { only_rows_where })).toEqual(expected);
        },
      ),
      casesFor('conditions of rows', 300),
    );
  });
});

describe('rows of empty cells', () => {
  const file = 'Nr,Name,Marke\nA,a,m\n,,\n"",  ,\t\n,,,,\n,,x\n';

  it('are no rows with a format, and neither begin nor end a group', async () => {
    expect(await rowsOf(file, { delimiter: ',' })).toEqual(['A', 'missing_required,missing_required']);
    expect(
      await rowsOf('Nr,Name,Marke\nA,a,-\n-,="",-\n', { null_values: ['-'], text_marks: 'strip' }),
    ).toEqual(['A']);
    expect(
      await rowsOf('Nr,Name,Gruppe\nA,a,g\n,,\nB,,g\n', {
        fill_down: [{ column: 'product_name', by: 'Gruppe' }],
      }),
    ).toEqual(['A', 'B']);
  });

  it('are rows without a format, and with the definition of standard', async () => {
    const own = { sku: { from: ['sku'] }, product_name: { from: ['product_name'] } };
    const others = Object.fromEntries(
      (['description', 'brand', 'category', 'price', 'currency', 'availability'] as const).map((name) => [
        name,
        { from: [name] },
      ]),
    );
    const text = 'sku,product_name\nA,a\n,\n';
    for (const format of [null, { columns: { ...own, ...others } }])
      expect(await readFormatted(text, format)).toHaveLength(2);
    expect(await readFormatted(text, { columns: own })).toHaveLength(1);
  });
});
