import { activeCurrencies, isActiveCurrency } from '../../../src/feed-format/currency';

describe('an active currency', () => {
  it.each(['EUR', 'USD', 'JPY', 'XCG', 'SLE', 'VED', 'VES', 'ZWG', 'MRU', 'STN', 'CUP', 'XAD'])(
    'includes %s',
    (code) => {
      expect(isActiveCurrency(code)).toBe(true);
    },
  );

  it.each(['CHE', 'CLF', 'UYW'])('includes the code of the fund %s', (code) => {
    expect(isActiveCurrency(code)).toBe(true);
  });
});

describe('a code that is not an active currency', () => {
  it.each(['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL', 'VEF', 'BYR', 'LTL', 'MRO', 'STD', 'DEM'])(
    'includes the withdrawn %s',
    (code) => {
      expect(isActiveCurrency(code)).toBe(false);
    },
  );

  it.each(['XXX', 'XTS', 'XAU', 'XAG', 'XPT', 'XPD', 'XDR', 'XSU', 'XUA', 'XBA', 'XBB', 'XBC', 'XBD'])(
    'includes %s, which is not money',
    (code) => {
      expect(isActiveCurrency(code)).toBe(false);
    },
  );

  it.each(['', 'usd', 'US', 'USDX', 'ABC', 'BTC'])('includes %j, which was never an ISO code', (code) => {
    expect(isActiveCurrency(code)).toBe(false);
  });
});

it("the list differs from the platform's list by known codes only", () => {
  const platform = new Set(Intl.supportedValuesOf('currency'));
  /** Funds, and codes that a platform's list may still lack. */
  const onlyHere = [
    'BOV',
    'CHE',
    'CHW',
    'CLF',
    'COU',
    'MXV',
    'USN',
    'UYI',
    'UYW',
    'VED',
    'XAD',
    'XCG',
    'ZWG',
  ];
  /** Withdrawn codes, and codes that are not money. */
  const onlyThere = [
    ...['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL'],
    ...['XAG', 'XAU', 'XBA', 'XBB', 'XBC', 'XBD', 'XDR', 'XPD', 'XPT', 'XSU', 'XTS', 'XUA', 'XXX'],
  ];

  expect([...activeCurrencies].filter((code) => !platform.has(code) && !onlyHere.includes(code))).toEqual([]);
  expect([...platform].filter((code) => !activeCurrencies.has(code) && !onlyThere.includes(code))).toEqual(
    [],
  );
  expect(onlyHere.filter((code) => !isActiveCurrency(code))).toEqual([]);
  expect(onlyThere.filter(isActiveCurrency)).toEqual([]);
  expect(activeCurrencies.size).toBe(165);
});
