import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { ConfigError } from './settings';

/** The settings of a connection whose address has no TLS parameters: the driver would ask variables, in its own way. */
export const withoutTls = { ssl: false, sslnegotiation: 'postgres' } as const;

/** The supported TLS parameters of a database URL, and the variables of libpq that have their defaults. */
const variables = {
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslnegotiation: 'PGSSLNEGOTIATION',
} as const;

type Parameter = keyof typeof variables;

const names = Object.keys(variables) as Parameter[];
const files = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** `sslrootcert=system` of libpq: the public authorities, which are those of Node.js. */
const publicAuthorities = 'system';

/** Returns whether the driver accepts a database URL, which can name a socket, apart from its TLS parameters. */
export function isPostgresUrl(url: string): boolean {
  try {
    return /^postgres(ql)?:\/\/\S+$/.test(url) && Boolean(hostOf(url));
  } catch {
    return false;
  }
}

/**
 * Returns a database URL for the driver, whose TLS parameters have the meaning of libpq: docs/how-to/connect-to-postgresql.md.
 * The driver reads the files again for each connection, so that they can be replaced.
 * @param what - begins the message of an error, for example "Wrong setting DATABASE_URL"
 * @throws ConfigError for a parameter that is unknown, wrong or without effect, and for a file that is missing or no PEM
 */
export function readDatabaseUrl(what: string, url: string, env: NodeJS.ProcessEnv): string {
  const wrong = (problem: string) => new ConfigError(`${what}: ${problem}.`);
  const [address, query] = split(url);
  const unknown = [...query.keys()].find((key) => key.startsWith('ssl') && !(key in variables));
  if (unknown) throw wrong(`${unknown} is not supported; the parameters for TLS are ${names.join(', ')}`);

  const given = readParameters(query, env);
  if (given.length === 0) return url;
  const values = Object.fromEntries(given.map(({ name, value }) => [name, value])) as Values;
  const labels = Object.fromEntries(given.map(({ name, label }) => [name, label])) as Values;
  const problem = problemOf(values, labels);
  if (problem) throw wrong(problem);
  for (const name of names) query.delete(name);
  // As in libpq, a socket has no TLS.
  if (values.sslmode !== 'disable' && !hostOf(url).startsWith('/')) {
    const fault = problemOfFiles(values, labels);
    if (fault) throw wrong(fault);
    if (values.sslrootcert === publicAuthorities) delete values.sslrootcert;
    for (const [name, value] of Object.entries(values)) query.set(name, value);
    query.set('uselibpqcompat', 'true');
  }
  return query.size > 0 ? `${address}?${query.toString()}` : address;
}

type Values = Partial<Record<Parameter, string>>;

/** Splits a URL into its address and its parameters. A socket has no host, which `URL` does not accept. */
function split(url: string): [string, URLSearchParams] {
  const [, address, query] = /^([^?#]*)\??([^#]*)/.exec(url)!;
  return [address!, new URLSearchParams(query)];
}

function hostOf(url: string): string {
  const [address, query] = split(url);
  for (const key of [...query.keys()]) if (key.startsWith('ssl')) query.delete(key);
  return new Client({ ...withoutTls, connectionString: `${address}?${query.toString()}` }).host;
}

/** Returns the TLS parameters that are set. `label`: where. */
function readParameters(query: URLSearchParams, env: NodeJS.ProcessEnv) {
  return names.flatMap((name) => {
    // Of several, the driver takes the last one.
    const own = query.getAll(name).at(-1);
    const variable = variables[name];
    const value = own || env[variable];
    return value ? [{ name, value, label: own ? name : variable }] : [];
  });
}

/** Returns what is wrong with the parameters, apart from their files. */
function problemOf({ sslmode, ...values }: Values, labels: Values): string | undefined {
  if (sslmode === undefined) {
    return `${Object.values(labels)[0]} has no effect without sslmode, for example sslmode=verify-full`;
  }
  if (!['disable', 'require', 'verify-ca', 'verify-full'].includes(sslmode)) {
    return (
      `${labels.sslmode} must be disable, require (encrypts, and checks no certificate), verify-ca or verify-full, and is ` +
      `'${sslmode}'; prefer and allow, which may connect without TLS, are not supported`
    );
  }
  if (values.sslnegotiation !== undefined && !['postgres', 'direct'].includes(values.sslnegotiation)) {
    return `${labels.sslnegotiation} must be postgres or direct, and is '${values.sslnegotiation}'`;
  }
  if (sslmode === 'disable') return undefined;
  if (sslmode === 'verify-ca' && !values.sslrootcert) {
    return 'sslmode=verify-ca needs sslrootcert, the file with the certificate authority';
  }
  if (values.sslrootcert === publicAuthorities && sslmode !== 'verify-full') {
    return `${labels.sslrootcert}=system needs sslmode=verify-full: anyone can get a certificate of a public authority`;
  }
  if (!values.sslcert !== !values.sslkey) return 'sslcert and sslkey must be set together';
  return undefined;
}

/** Returns what is wrong with the files of certificates and of the key. */
function problemOfFiles(values: Values, labels: Values): string | undefined {
  const certificates = new Map<Parameter, X509Certificate>();
  for (const name of files) {
    const file = values[name];
    if (!file || (name === 'sslrootcert' && file === publicAuthorities)) continue;
    const named = `${labels[name]} names the file ${file}, which`;
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch (error) {
      return `${named} cannot be read (${(error as Error).message})`;
    }
    try {
      if (name === 'sslkey') {
        if (!certificates.get('sslcert')!.checkPrivateKey(createPrivateKey(text))) {
          return `${named} is not the key of the certificate in ${values.sslcert}`;
        }
      } else {
        certificates.set(name, firstCertificate(text));
      }
    } catch {
      const content = name === 'sslkey' ? 'a private key without a passphrase' : 'a valid certificate';
      return `${named} does not contain ${content} in PEM`;
    }
  }
  return undefined;
}

/** Reads all certificates of a file in PEM: TLS would ignore those that it cannot read. @throws Error */
function firstCertificate(text: string): X509Certificate {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const [first] = found.map((pem) => new X509Certificate(pem));
  if (!first) throw new Error('no certificate');
  return first;
}
