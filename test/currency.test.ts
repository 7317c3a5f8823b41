import { isActiveCurrency } from '../src/currency';

describe('a currency is active', () => {
  it.each(['EUR', 'USD', 'JPY', 'XCG', 'SLE', 'VED', 'VES', 'ZWG', 'MRU', 'STN', 'CUP', 'XAD'])(
    'as %s is',
    (code) => {
      expect(isActiveCurrency(code)).toBe(true);
    },
  );

  it.each(['CHE', 'CLF', 'UYW', 'XAU', 'XDR'])('also as the code of a fund or a metal: %s', (code) => {
    expect(isActiveCurrency(code)).toBe(true);
  });
});

describe('a currency is not active', () => {
  it.each(['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL', 'VEF', 'BYR', 'LTL', 'MRO', 'STD', 'DEM'])(
    'once it was withdrawn: %s',
    (code) => {
      expect(isActiveCurrency(code)).toBe(false);
    },
  );

  it.each(['', 'usd', 'US', 'USDX', 'ABC', 'BTC'])('when it never was one: %j', (code) => {
    expect(isActiveCurrency(code)).toBe(false);
  });
});
