import {
  choiceOf,
  sourceOfChoice,
  withSource,
  type Definition,
} from '../../../../src/clients/console/data/mapping';

const sources: [string, NonNullable<Definition['columns']['availability']>][] = [
  ['from:Stock: all', { from: ['Stock: all'] }],
  ['position:3', { position: 3 }],
  ['value', { value: '' }],
  ['join', { join: ['Size', 'Color'], with: ' ' }],
  ['quantity', { quantity: { from: ['Stock'], unless: [{ header: 'Tracked', values: ['no'] }] } }],
];

it.each(sources)('the choice %s is the source that it stands for', (choice, source) => {
  expect(choiceOf(source)).toBe(choice);
  expect(sourceOfChoice(choice, source)).toEqual(source);
});

it('an empty choice removes the source of a column, and keeps the others', () => {
  const definition = { columns: { sku: { from: ['Nr'] }, availability: { quantity: { from: ['Stock'] } } } };

  expect(choiceOf(undefined)).toBe('');
  expect(withSource(definition, 'availability', sourceOfChoice('', undefined))).toEqual({
    columns: { sku: { from: ['Nr'] } },
  });
});
