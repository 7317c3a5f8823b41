import type { LookupAddress } from 'node:dns';
import { resolve4, resolve6 } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

export class PrivateAddressError extends Error {
  constructor(address: string) {
    super(`${address} is not a public address`);
  }
}

/** The only block of IPv6 with public unicast addresses (IANA). */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Public addresses that a cloud uses for its own services, which its machines reach. Other clouds use private ones. */
const ofClouds = [
  // The host of a machine at Azure: its agent, DHCP and name server.
  '168.63.129.16/32',
  // Service networks of IBM Cloud.
  '161.26.0.0/16',
  '166.8.0.0/14',
].map((block) => ipaddr.IPv4.parseCIDR(block));

/** Tells whether a valid IP address is public: not loopback, private, link-local, multicast, of a cloud, or an embedded IPv4. */
export function isPublicAddress(address: string): boolean {
  // `process` turns an IPv4-mapped IPv6 address into IPv4.
  const ip = ipaddr.process(address);
  if (ip.range() !== 'unicast') return false;
  return ip.kind() === 'ipv4' ? !ofClouds.some((block) => ip.match(block)) : ip.match(globalUnicast);
}

/** Returns the host of a URL if it is an IP address, without brackets. */
export function literalAddress({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) ? host : undefined;
}

/** Checks a host that is an IP address; a name is checked by `lookUpPublic`. @throws PrivateAddressError */
export function requirePublicHost(url: URL): void {
  const address = literalAddress(url);
  if (address !== undefined && !isPublicAddress(address)) throw new PrivateAddressError(address);
}

/**
 * Resolves a host name for a connection; fails with PrivateAddressError if any of its addresses is not public. The
 * connection uses these addresses, so that DNS rebinding has no effect. Queries name servers instead of `getaddrinfo`,
 * which would read `/etc/hosts`, and would occupy a thread of libuv's pool while a server does not respond.
 */
export const lookUpPublic: LookupFunction = (hostname, options, done) => {
  resolvePublic(hostname).then(
    ([first, ...more]) =>
      options.all ? done(null, [first, ...more]) : done(null, first.address, first.family),
    (error: unknown) => done(error as Error, ''),
  );
};

/** @throws PrivateAddressError; the error of the IPv4 query when there is no address */
async function resolvePublic(hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> {
  const [v4, v6] = await Promise.allSettled([resolve4(hostname), resolve6(hostname)]);
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  const [first, ...more] = addresses;
  if (!first) throw (v4 as PromiseRejectedResult).reason;
  const privateOne = addresses.find(({ address }) => !isPublicAddress(address));
  if (privateOne) throw new PrivateAddressError(privateOne.address);
  return [first, ...more];
}

const addressesOf = (found: PromiseSettledResult<string[]>, family: number): LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : [];
