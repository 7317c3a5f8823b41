const notAnInteger = {
  type: 'int_parsing',
  msg: 'Input should be a valid integer, unable to parse string as an integer',
};
const tooSmall = {
  type: 'greater_than_equal',
  msg: 'Input should be greater than or equal to 1',
  ctx: { ge: 1 },
};
const tooLarge = {
  type: 'less_than_equal',
  msg: 'Input should be less than or equal to 100',
  ctx: { le: 100 },
};

/** Values of `limit` that are not an integer from 1 to 100, each with its entry in the 422. */
export const wrongLimits = (
  [
    ['0', tooSmall],
    ['-1', tooSmall],
    ['101', tooLarge],
    ['99999999999999999999', tooLarge],
    ['', notAnInteger],
    [' ', notAnInteger],
    ['ten', notAnInteger],
    ['1e1', notAnInteger],
    ['0x10', notAnInteger],
    [' 5 ', notAnInteger],
    ['5.0', notAnInteger],
    ['5,0', notAnInteger],
    ['5\n', notAnInteger],
    ['NaN', notAnInteger],
    ['Infinity', notAnInteger],
    ['null', notAnInteger],
  ] as const
).map(([limit, entry]) => [limit, { ...entry, loc: ['query', 'limit'], input: limit }] as const);

/** The entry of a limit that comes twice. */
export const limitTwice = { ...notAnInteger, loc: ['query', 'limit'], input: ['5', '5'] };

/** The entry of a filter that holds a NUL character. */
export const holdsNul = (filter: string, input: string) => ({
  type: 'string_pattern_mismatch',
  loc: ['query', filter],
  msg: String.raw`String should match pattern '^[^\u0000]*$'`,
  input,
  ctx: { pattern: String.raw`^[^\u0000]*$` },
});

/** The entry of a filter that comes twice. */
export const filterTwice = (filter: string) => ({
  type: 'string_type',
  loc: ['query', filter],
  msg: 'Input should be a valid string',
  input: ['a', 'b'],
});
