import { adminProgram } from '../../../src/admin/program';
import { UsageError } from '../../../src/shared/command-line';
import { createTestFolder } from '../../support/harness';

const url = 'https://partner.example.org/events';
type Wrong = [what: string, args: string[], problem: string, privateAddresses?: 'on' | 'off'];
type Valid = [what: string, args: string[], privateAddresses?: 'on' | 'off'];

/** Runs the command without a database: a valid one fails with that. */
function run(args: string[], privateAddresses: 'on' | 'off' = 'off'): Promise<unknown> {
  process.env.DATA_DIR = createTestFolder();
  process.env.DATABASE_URL = '';
  process.env.PRIVATE_ADDRESSES = privateAddresses;
  return adminProgram().runWith(['webhooks', ...args]);
}

describe('npm run admin -- webhooks', () => {
  it.each<Wrong>([
    ['an unknown command', ['rotate'], 'Unknown command: rotate.'],
    ['no URL', ['create'], 'Missing argument: URL.'],
    ['an invalid URL', ['create', 'partner.example.org'], 'Wrong URL: it must be one such as'],
    ['a URL that is too long', ['create', `${url}/${'a'.repeat(2000)}`], 'Wrong URL: it must be one such as'],
    [
      'no TLS',
      ['create', 'http://partner.example.org/'],
      'Wrong URL: it must begin with https, or http with',
    ],
    [
      'another protocol',
      ['create', 'ftp://partner.example.org/'],
      'Wrong URL: it must begin with https',
      'on',
    ],
    [
      'a password',
      ['create', 'https://me:secret@partner.example.org/'],
      'Wrong URL: it must have no user name',
    ],
    ['a fragment', ['create', `${url}#here`], 'Wrong URL: it must have no fragment'],
    ['a private address', ['create', 'https://127.1/'], '127.0.0.1 is not a public address; see PRIVATE_'],
    ['a private IPv6 address', ['create', 'https://[::ffff:10.0.0.1]/'], 'is not a public address'],
    ['two URLs', ['create', url, url], 'Too many arguments.'],
    [
      'an unknown event',
      ['create', url, '--events', 'order.created,order.lost'],
      'Unknown event: order.lost.',
    ],
    ['no event', ['create', url, '--events', ''], "Unknown event: ''."],
    ['a missing number', ['disable'], 'Missing argument: ID.'],
    ['an invalid number', ['remove', 'WH1'], 'Wrong ID: it must be a number of webhooks list.'],
    ['a number to list', ['list', '1'], 'Too many arguments.'],
    ['a partner to list', ['list', '--partner', 'Acme'], 'Unknown option: --partner.'],
    ['events to enable', ['enable', '1', '--events', 'order.created'], 'Unknown option: --events.'],
  ])('refuses %s', async (...[, args, problem, privateAddresses]: Wrong) => {
    const running = run(args, privateAddresses);

    await expect(running).rejects.toThrow(UsageError);
    await expect(running).rejects.toThrow(problem);
  });

  it.each<Valid>([
    ['a URL', ['create', url]],
    [
      'a URL, events and a partner',
      ['create', url, '--events', ' job.failed ,order.created', '--partner', 'Acme'],
    ],
    ['a private address where that is allowed', ['create', 'http://10.0.0.1:8080/'], 'on'],
    ['a number', ['remove', '12']],
    ['no arguments of list', ['list']],
  ])('accepts %s', async (...[, args, privateAddresses]: Valid) => {
    await expect(run(args, privateAddresses)).rejects.toThrow('there is no database');
  });
});
