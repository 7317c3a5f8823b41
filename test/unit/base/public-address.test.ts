import { lookup as systemLookUp } from 'node:dns/promises';
import { setTimeout as pause } from 'node:timers/promises';
import {
  isPublicAddress,
  lookUpPublic,
  PrivateAddressError,
  requirePublicHost,
} from '../../../src/base/public-address';
import { startNameServer } from '../../support/network';

describe('isPublicAddress', () => {
  it.each([
    '93.184.215.14',
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '168.63.129.15',
    '168.63.129.17',
    '161.25.255.255',
    '161.27.0.0',
    '166.7.255.255',
    '166.12.0.0',
    '2606:2800:21f:cb07:6820:80da:af6b:8b2c',
  ])('is true for %s', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['loopback', '::1'],
    ['unspecified', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['unspecified', '::'],
    ['a private network', '10.0.0.1'],
    ['a private network', '172.16.0.1'],
    ['a private network', '172.31.255.255'],
    ['a private network', '192.168.1.1'],
    ['a private network', 'fc00::1'],
    ['a private network', 'fd12:3456:789a::1'],
    ['link-local, cloud metadata', '169.254.169.254'],
    ['link-local', 'fe80::1'],
    ['link-local, with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['multicast', '224.0.0.1'],
    ['multicast', 'ff02::1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['documentation', '2001:db8::1'],
    ['benchmarks', '198.18.0.1'],
    ['protocols', '192.0.0.1'],
    ['loopback, IPv4-mapped', '::ffff:127.0.0.1'],
    ['loopback, IPv4-mapped', '::ffff:7f00:1'],
    ['a private network, IPv4-mapped', '::ffff:10.0.0.1'],
    ['loopback, IPv4-compatible IPv6', '::127.0.0.1'],
    ['a private network, behind NAT64', '64:ff9b::a00:1'],
    ['a private network, behind local-use NAT64', '64:ff9b:1::a00:1'],
    ['a private network, within 6to4', '2002:a00:1::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['reserved', '4000::1'],
    ['the host of a cloud (Azure)', '168.63.129.16'],
    ['the host of a cloud (Azure), IPv4-mapped', '::ffff:168.63.129.16'],
    ['the host of a cloud (Azure), IPv4-mapped', '::ffff:a83f:8110'],
    ['the host of a cloud (Azure), behind NAT64', '64:ff9b::168.63.129.16'],
    ['the host of a cloud (Azure), within 6to4', '2002:a83f:8110::1'],
    ['the host of a cloud (Azure), within Teredo', '2001:0:a83f:8110::1'],
    ['the host of a cloud (Alibaba)', '100.100.100.200'],
    ['the host of a cloud (AWS)', 'fd00:ec2::254'],
    ['the host of a cloud (Oracle)', '192.0.0.192'],
    ['a service network of a cloud (IBM)', '161.26.0.0'],
    ['a service network of a cloud (IBM)', '161.26.255.255'],
    ['a service network of a cloud (IBM)', '166.8.0.0'],
    ['a service network of a cloud (IBM)', '166.11.255.255'],
  ])('is false for %s: %s', (_what, address) => expect(isPublicAddress(address)).toBe(false));
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
  ])('rejects a private address in any notation: %s', (url) => {
    expect(() => requirePublicHost(new URL(url))).toThrow(PrivateAddressError);
  });

  it.each([
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
    'https://localhost/',
  ])('accepts a public address, and any host name: %s', (url) =>
    expect(() => requirePublicHost(new URL(url))).not.toThrow(),
  );
});

describe('lookUpPublic', () => {
  const lookUp = (hostname: string, all: boolean) =>
    new Promise((resolve) =>
      lookUpPublic(hostname, { all }, (error, address, family) => resolve(error ?? [address, family])),
    );
  const v4 = '93.184.215.14';
  const v6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c';
  beforeAll(() =>
    startNameServer({
      'both.test': [v4, v6],
      'new.test': [v6],
      'here.test': ['127.0.0.1'],
      'half.test': [v4, '::1'],
      'nothing.test': [],
    }),
  );

  it.each(['here.test', 'half.test'])('rejects a name with a loopback address: %s', async (name) => {
    expect(await lookUp(name, true)).toBeInstanceOf(PrivateAddressError);
    expect(await lookUp(name, false)).toBeInstanceOf(PrivateAddressError);
  });

  it('returns one address or all of them, as Node requests', async () => {
    const all = [
      { address: v4, family: 4 },
      { address: v6, family: 6 },
    ];
    expect(await lookUp('both.test', true)).toEqual([all, undefined]);
    expect(await lookUp('both.test', false)).toEqual([v4, 4]);
    expect(await lookUp('new.test', false)).toEqual([v6, 6]);
  });

  it.each([
    ['does not exist', 'nowhere.test', 'ENOTFOUND'],
    ['has no address', 'nothing.test', 'ENODATA'],
    ['is only in /etc/hosts', 'localhost', 'ENOTFOUND'],
  ])('fails for a name that %s', async (_what, name, code) => {
    expect(await lookUp(name, true)).toMatchObject({ code });
  });

  it('occupies no thread of the pool that resolves other names, while name servers do not respond', async () => {
    const silent = Array.from({ length: 8 }, () => lookUp('dead.test', true));

    expect(await systemLookUp('localhost')).toMatchObject({ family: expect.any(Number) });

    const isSettled = await Promise.race([...silent, pause(0, 'not yet')]);
    expect(isSettled).toBe('not yet');
  });
});
