import { UsageError } from '../../src/command';
import { parseWebhookCommand } from '../../src/webhooks/manage-webhooks';

const url = 'https://partner.example.org/events';
const parse = (
  args: string[],
  { partner, events, on = false }: { partner?: string; events?: string; on?: boolean } = {},
) => parseWebhookCommand(args, { partnerName: partner ?? null, events }, { webhookPrivateAddresses: on });

describe('the arguments of webhooks', () => {
  it.each<[string, string[], Parameters<typeof parse>[1], string]>([
    ['nothing', [], {}, 'What is to be done with webhooks?'],
    ['an unknown command', ['rotate'], {}, 'Unknown command: webhooks rotate'],
    ['no URL', ['create'], {}, 'A webhook has a URL such as https://partner.example.org/events.'],
    ['what is no URL', ['create', 'partner.example.org'], {}, 'A webhook has a URL such as'],
    ['a URL that is too long', ['create', `${url}/${'a'.repeat(2000)}`], {}, 'A webhook has a URL such as'],
    ['no TLS', ['create', 'http://partner.example.org/'], {}, 'Wrong URL: it must be https, or http where'],
    [
      'another protocol',
      ['create', 'ftp://partner.example.org/'],
      { on: true },
      'Wrong URL: it must be https',
    ],
    [
      'a password',
      ['create', 'https://me:secret@partner.example.org/'],
      {},
      'Wrong URL: it must have no name',
    ],
    ['a fragment', ['create', `${url}#here`], {}, 'Wrong URL: what follows # is never sent.'],
    ['a private address', ['create', 'https://127.1/'], {}, '127.0.0.1 is no public address; see WEBHOOK_'],
    ['a private IPv6 address', ['create', 'https://[::ffff:10.0.0.1]/'], {}, 'is no public address'],
    ['two URLs', ['create', url, url], {}, `Too many arguments: ${url}`],
    [
      'an unknown event',
      ['create', url],
      { events: 'order.created,order.lost' },
      'Unknown event: order.lost',
    ],
    ['no event', ['create', url], { events: '' }, "Unknown event: ''"],
    ['no number', ['disable'], {}, 'A webhook has a number; see webhooks list.'],
    ['what is no number', ['remove', 'WH1'], {}, 'A webhook has a number; see webhooks list.'],
    ['a number to list', ['list', '1'], {}, 'Too many arguments: 1'],
    ['a partner to list', ['list'], { partner: 'Acme' }, '--partner and --events belong to create.'],
    [
      'events to enable',
      ['enable', '1'],
      { events: 'order.created' },
      '--partner and --events belong to create.',
    ],
  ])('are refused with %s', (_what, args, options, problem) => {
    expect(() => parse(args, options)).toThrow(UsageError);
    expect(() => parse(args, options)).toThrow(problem);
  });

  it.each<[string, string[], Parameters<typeof parse>[1]]>([
    ['a URL', ['create', url], {}],
    [
      'a URL, events and a partner',
      ['create', url],
      { events: ' job.failed ,order.created', partner: 'Acme' },
    ],
    ['a private address where that is allowed', ['create', 'http://10.0.0.1:8080/'], { on: true }],
    ['a number', ['remove', '12'], {}],
    ['no more', ['list'], {}],
  ])('are understood with %s', (_what, args, options) => {
    expect(parse(args, options)).toEqual(expect.any(Function));
  });
});
