import type { Database } from '../../src/base/db/database';
import type { ApiClient, ApiResponse } from './api-client';

/** Allowed responses of the service during faults. */
const allowed: Record<string, number[]> = {
  upload: [201, 503],
  run: [200, 409, 503],
  order: [201, 503],
  list: [200, 503],
  health: [200],
};

const skus = Array.from({ length: 20 }, (_, at) => `S${at}`);

/** A feed of the same skus in random order, with one price in every row. */
export function pricedFeed(price: number, reversed = false): string {
  const order = reversed ? skus.toReversed() : skus;
  return ['sku,product_name,price', ...order.map((sku) => `${sku},Product ${sku},${price}`)].join('\n');
}

/** Clients that upload, run, order and list concurrently, each in a loop, until they are stopped. */
export class Load {
  /** Number of each response: `order 201`; `none` is a request whose connection broke. */
  readonly answers = new Map<string, number>();
  /** Responses that are not allowed during any fault. */
  readonly wrong: string[] = [];
  /** Acknowledged work. */
  private readonly feeds: string[] = [];
  private readonly orders: { orderId: string; total: number }[] = [];
  private readonly jobs: string[] = [];
  private stopping = false;
  private work: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly pick: () => ApiClient | undefined,
    private readonly productIds: string[],
  ) {}

  /**
   * Starts it. @param pick - selects the service of the next request; undefined: none is available
   * @param partners - their products are loaded first; two clients load for each concurrently
   */
  static async start(pick: () => ApiClient | undefined, partners = ['Alpha', 'Beta']): Promise<Load> {
    const api = pick()!;
    for (const partner of partners) await api.loadFeed(pricedFeed(1), partner);
    const { body } = await api.get('/products?limit=3');
    const load = new Load(
      pick,
      (body.items as { product_id: string }[]).map(({ product_id }) => product_id),
    );
    const clients = [
      ...partners.flatMap((partner) => [
        () => load.loadOne(partner, false),
        () => load.loadOne(partner, true),
      ]),
      () => load.order(),
      () => load.order(),
      () => load.ask('list', (to) => to.get('/products?limit=5')),
      () => load.ask('health', (to) => to.get('/health')),
    ];
    load.work = Promise.all(clients.map((client) => load.repeat(client)));
    return load;
  }

  /** Returns the number of successful responses so far. */
  get done(): number {
    return this.feeds.length + this.orders.length;
  }

  /** Lets every client finish its current request. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.work;
  }

  /** Finds acknowledged work that is missing, and responses that are not allowed. */
  async findBroken(db: Database): Promise<string[]> {
    const number = (id: string) => Number(id.slice(2));
    const rows = await db('orders')
      .whereIn(
        'order_id',
        this.orders.map(({ orderId }) => number(orderId)),
      )
      .select<{ order_id: number; total_amount: string }[]>('order_id', 'total_amount');
    const totals = new Map(rows.map(({ order_id, total_amount }) => [order_id, Number(total_amount)]));
    const feeds = new Set(await db('feeds').pluck<number[]>('feed_id'));
    return [
      ...this.wrong,
      ...this.orders
        .filter(({ orderId, total }) => totals.get(number(orderId)) !== total)
        .map(({ orderId }) => `a lost order: ${orderId}`),
      ...this.feeds.filter((feedId) => !feeds.has(number(feedId))).map((feedId) => `a lost feed: ${feedId}`),
    ];
  }

  private async repeat(client: () => Promise<unknown>): Promise<void> {
    while (!this.stopping) {
      await client();
      // A stopped service refuses at once; a starting one needs the processor, too.
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }

  private async ask(
    what: string,
    send: (api: ApiClient) => Promise<ApiResponse>,
  ): Promise<ApiResponse | undefined> {
    const api = this.pick();
    if (!api) return undefined;
    const answer = await send(api).catch(() => undefined);
    const said = `${what} ${answer?.status ?? 'none'}`;
    this.count(said);
    if (answer && !allowed[what]!.includes(answer.status))
      this.wrong.push(`${said} ${JSON.stringify(answer.body)}`);
    if (answer?.status === 503 && !answer.headers.get('retry-after'))
      this.wrong.push(`${said} without Retry-After`);
    return answer;
  }

  private count(said: string): void {
    this.answers.set(said, (this.answers.get(said) ?? 0) + 1);
  }

  /** Uploads and runs a feed, and runs an earlier one again. */
  private async loadOne(partnerName: string, reversed: boolean): Promise<void> {
    const csv = pricedFeed(1 + (this.feeds.length % 2), reversed);
    const upload = await this.ask('upload', (api) => api.upload({ csv, partnerName }));
    if (upload?.status === 201) {
      this.feeds.push(upload.body.feed_id as string);
      this.jobs.push(upload.body.validation_job_id as string);
    }
    const old = this.jobs[Math.floor(Math.random() * this.jobs.length)];
    for (const jobId of [this.jobs.at(-1), old]) {
      if (jobId === undefined) continue;
      const run = await this.ask('run', (api) => api.post(`/jobs/${jobId}/run`));
      if (run?.status !== 200 || run.body.status !== 'completed') continue;
      const { processed, inserted, skipped } = run.body.summary;
      if (processed !== skus.length || inserted !== 0 || skipped !== 0)
        this.wrong.push(`run ${jobId}: ${JSON.stringify(run.body.summary)}`);
    }
  }

  private async order(): Promise<void> {
    const items = this.productIds.map((product_id) => ({ product_id, quantity: 2 }));
    const answer = await this.ask('order', (api) => api.post('/orders', { partner_name: 'Acme', items }));
    if (answer?.status !== 201) return;
    const { order_id: orderId, total_amount: total } = answer.body;
    this.orders.push({ orderId, total });
    const prices = (answer.body.items as { unit_price: number }[]).map(({ unit_price }) => unit_price);
    const sum = prices.reduce((all, price) => all + 2 * price, 0);
    if (!prices.every((price) => price === 1 || price === 2) || sum !== total)
      this.wrong.push(`order ${orderId}: ${JSON.stringify(answer.body)}`);
  }
}
