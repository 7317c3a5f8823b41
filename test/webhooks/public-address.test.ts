import {
  isPublicAddress,
  lookUpPublic,
  PrivateAddressError,
  requirePublicHost,
} from '../../src/webhooks/public-address';

describe('isPublicAddress', () => {
  it.each([
    '93.184.215.14',
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '2606:2800:21f:cb07:6820:80da:af6b:8b2c',
  ])('lets %s pass', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    ['this machine', '127.0.0.1'],
    ['this machine', '127.255.255.254'],
    ['this machine', '::1'],
    ['no address', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['no address', '::'],
    ['a private network', '10.0.0.1'],
    ['a private network', '172.16.0.1'],
    ['a private network', '172.31.255.255'],
    ['a private network', '192.168.1.1'],
    ['a private network', 'fc00::1'],
    ['a private network', 'fd12:3456:789a::1'],
    ['a link, with the metadata of a cloud', '169.254.169.254'],
    ['a link', 'fe80::1'],
    ['a link, with its zone', 'fe80::1%eth0'],
    ['a site', 'fec0::1'],
    ['a provider', '100.64.0.1'],
    ['a group', '224.0.0.1'],
    ['a group', 'ff02::1'],
    ['everybody', '255.255.255.255'],
    ['nobody yet', '240.0.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['documentation', '2001:db8::1'],
    ['benchmarks', '198.18.0.1'],
    ['protocols', '192.0.0.1'],
    ['this machine, written as IPv6', '::ffff:127.0.0.1'],
    ['this machine, written as IPv6', '::ffff:7f00:1'],
    ['a private network, written as IPv6', '::ffff:10.0.0.1'],
    ['this machine, within IPv6 as it once was', '::127.0.0.1'],
    ['a private network, behind NAT64', '64:ff9b::a00:1'],
    ['a private network, behind a NAT64 of its own', '64:ff9b:1::a00:1'],
    ['a private network, within 6to4', '2002:a00:1::1'],
    ['whatever is within Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['nobody yet', '4000::1'],
  ])('refuses %s: %s', (_what, address) => expect(isPublicAddress(address)).toBe(false));
});

describe('requirePublicHost', () => {
  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
  ])('refuses %s, however it is written', (url) => {
    expect(() => requirePublicHost(new URL(url))).toThrow(PrivateAddressError);
  });

  it.each([
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
    'https://localhost/',
  ])('lets %s pass: a public address, or a name that is looked up later', (url) =>
    expect(() => requirePublicHost(new URL(url))).not.toThrow(),
  );
});

describe('lookUpPublic', () => {
  const lookUp = (hostname: string, all: boolean) =>
    new Promise((resolve) =>
      lookUpPublic(hostname, { all }, (error, address, family) => resolve(error ?? [address, family])),
    );

  it.each([true, false])(
    'refuses a name that leads to this machine (all of its addresses: %s)',
    async (all) => {
      expect(await lookUp('localhost', all)).toBeInstanceOf(PrivateAddressError);
    },
  );

  it('gives what Node takes: one address, or all of them', async () => {
    expect(await lookUp('93.184.215.14', false)).toEqual(['93.184.215.14', 4]);
    expect(await lookUp('93.184.215.14', true)).toEqual([
      [{ address: '93.184.215.14', family: 4 }],
      undefined,
    ]);
  });

  it('fails for a name that is none', async () => {
    expect(await lookUp('nowhere.invalid', true)).toMatchObject({ syscall: 'getaddrinfo' });
  });
});
