import { applyAnswers } from '../../../../src/feed-format/detect/apply-answers';

const choice = (changes: object, pointer: string | null = null) => ({
  label: '',
  changes: changes as never,
  value_pointer: pointer,
  sample: [],
});
const currency = choice({ columns: { currency: { from: null, value: '' } } }, '/columns/currency/value');
const inspection = {
  draft_format: { columns: { sku: { from: ['id'] }, currency: { from: ['currency'] } } },
  doubts: [
    { about: 'currency', code: 'no_currency', message: '', choices: [currency, choice({})] },
    {
      about: 'price',
      code: 'unsure_column',
      message: '',
      choices: [
        choice({ columns: { price: { from: ['RRP'] } } }),
        choice({ columns: { currency: { value: 'EUR', from: null } } }),
      ],
    },
  ],
};
const answered = (currencyAnswer: [number, string], ...price: number[]) =>
  applyAnswers(
    inspection,
    new Map([
      ['currency', { choice: currencyAnswer[0], value: currencyAnswer[1] }],
      ...price.map((at): [string, { choice: number; value: string }] => ['price', { choice: at, value: '' }]),
    ]),
  );

describe('applyAnswers', () => {
  it('patches the draft with the answers in the order of the doubts', () => {
    expect(answered([0, 'CHF'], 0)?.columns).toEqual({
      sku: { from: ['id'] },
      currency: { value: 'CHF' },
      price: { from: ['RRP'] },
    });
    expect(answered([0, 'CHF'], 1)?.columns).toEqual({ sku: { from: ['id'] }, currency: { value: 'EUR' } });
  });

  it.each<[string, [number, string], number[]]>([
    ['no answer', [1, ''], []],
    ['an unknown choice', [1, ''], [2]],
    ['an empty value', [0, ''], [0]],
    ['a blank value', [0, ' \t'], [0]],
  ])('returns no format for %s', (_, value, price) => {
    expect(answered(value, ...price)).toBeNull();
  });
});
