import { generateSecretsKey, SecretBox } from '../../../src/base/secret-box';
import { runAdmin } from '../../support/commands';
import { databaseUrl } from '../../support/databases';
import { startTestService, type TestService } from '../../support/service';
import { putSource } from '../../support/source-requests';
import { putWebhook } from '../../support/webhook-requests';

const [old, next] = [generateSecretsKey(), generateSecretsKey()];

describe('npm run admin -- secrets reencrypt', () => {
  let service: TestService;
  /** The sealed values, in the order of the list. */
  const sealed = async () => {
    const columns = ['sealed_secret', 'previous_sealed_secret'];
    const webhooks = await service.db('webhook_endpoints').select(columns).orderBy('webhook_endpoint_id');
    const sources = await service.db('sources').select('secrets').whereNotNull('secrets');
    return [...sources, ...webhooks]
      .flatMap((row) => Object.values<Buffer | null>(row))
      .filter(Boolean) as Buffer[];
  };
  const reencrypt = (keys: string, ...args: string[]) =>
    runAdmin(
      { DATABASE_URL: databaseUrl(service.address), SECRETS_KEY: keys },
      'secrets',
      'reencrypt',
      ...args,
    );

  beforeAll(async () => {
    service = await startTestService({ secretBox: new SecretBox(old) });
    const { api } = service;
    const definition = { url: 'https://feeds.acme.example/a.csv', headers: { authorization: 'Bearer t-1' } };
    const answers = [
      await putSource(api, 'Acme', 'nightly', definition),
      await putSource(api, 'Acme', 'open', { url: 'https://feeds.acme.example/b.csv' }),
      await putWebhook(api, 'Acme', 'shop', { url: 'https://hooks.acme.example/' }),
      await putWebhook(api, 'Acme', 'shop', { url: 'https://hooks.acme.example/' }, '?rotate_secret=true'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200]);
  });

  it('lists with --dry-run what an older key has encrypted, and changes nothing', async () => {
    const before = await sealed();

    expect(await reencrypt(`${next},${old}`, '--dry-run')).toEqual({
      code: 0,
      stdout:
        'to be encrypted again: source nightly of Acme\n' +
        'to be encrypted again: webhook shop of Acme\n' +
        'to be encrypted again: webhook shop of Acme, before its rotation\n',
      stderr: 'With the first key: 0. With an older one: 3. Not readable: 0.\n',
    });
    expect(await sealed()).toEqual(before);
  });

  it('fails without the key of stored secrets, and names their owners', async () => {
    const before = await sealed();

    const { code, stdout, stderr } = await reencrypt(next);

    expect(code).toBe(1);
    expect(stdout).toContain('no key decrypts the secrets of source nightly of Acme\n');
    expect(stderr).toContain('Not readable: 3.\nNo key of SECRETS_KEY decrypts some secrets: ');
    expect(await sealed()).toEqual(before);
  });

  it('encrypts all secrets with the first key, after which the older key is not needed', async () => {
    expect(await reencrypt(`${next},${old}`)).toMatchObject({
      code: 0,
      stderr: 'With the first key: 3. Encrypted again: 3. Not readable: 0.\n',
    });

    expect(await reencrypt(next)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'With the first key: 3. Encrypted again: 0. Not readable: 0.\n',
    });
    const [ofSource] = await sealed();
    expect(new SecretBox(next).open(ofSource!, 'https://feeds.acme.example')).toContain('Bearer t-1');
    expect(new SecretBox(old).open(ofSource!, 'https://feeds.acme.example')).toBeUndefined();
  });

  it('requires the setting', async () => {
    const { code, stderr } = await runAdmin(
      { DATABASE_URL: databaseUrl(service.address) },
      'secrets',
      'reencrypt',
    );

    expect(code).toBe(1);
    expect(stderr).toMatch(/^Wrong setting SECRETS_KEY: [^\n]*\n$/);
  });
});
