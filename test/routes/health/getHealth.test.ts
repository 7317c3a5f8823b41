import type { Socket } from 'node:net';
import { startAppAt, startTestService, type TestService } from '../../support/service';
import { closedPort } from '../../support/network';
import { eventually } from '../../support/harness';
import { itDirectly } from '../../support/expectations';
import { startFakeDatabase } from '../../support/databases';

const healthy = { status: 'ok', database: 'connected' };
const unhealthy = { status: 'error', database: 'unreachable' };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** A message of the server in PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}
const authentication = (kind: number) => message('R', Buffer.from([0, 0, 0, kind]));
const failure = (code: string) => message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0Msecret reason\0\0`));

/** In milliseconds. The promise is two seconds; a busy machine gets more here, but a missing response still fails. */
const soon = 6_000;

describe('GET /health', () => {
  describe('200', () => {
    it('is ok if the database accepts a connection; needs no key, and has exactly two fields', async () => {
      const { status, body } = await service.api.withKey(undefined).get('/health');

      expect(status).toBe(200);
      expect(body).toEqual(healthy);
    });

    it.each(['wrong-key', ''])('ignores the key %j', async (key) => {
      const { status, body } = await service.api.withKey(key).get('/health');

      expect(status).toBe(200);
      expect(body).toEqual(healthy);
    });

    itDirectly('closes its connection and leaves nothing behind', async () => {
      const own = await startTestService();
      const connections = async () => {
        const { rows } = await own.db.raw<{ rows: { application_name: string }[] }>(
          `select application_name from pg_stat_activity
           where datname = current_database() and backend_type = 'client backend'`,
        );
        return rows.map((row) => row.application_name);
      };
      const tables = ['partners', 'feeds', 'products', 'orders', 'submission_jobs', 'validation_jobs'];
      const before = await connections();

      const answers = await Promise.all(Array.from({ length: 20 }, () => own.api.get('/health')));

      expect(answers.map(({ body }) => body as unknown)).toEqual(answers.map(() => healthy));
      await eventually('they are closed', async () => expect(await connections()).toEqual(before));
      for (const table of tables) expect(await own.db(table)).toEqual([]);
    });

    it('is ok while all pooled connections are in use', async () => {
      const own = await startTestService();
      const busy = await Promise.all(Array.from({ length: 10 }, () => own.db.transaction()));
      try {
        const { status, body } = await own.api.get('/health');

        expect(status).toBe(200);
        expect(body).toEqual(healthy);
      } finally {
        await Promise.all(busy.map((transaction) => transaction.rollback()));
      }
    });

    it('is an error when nothing listens on the address of the database', async () => {
      const { api } = await startAppAt({
        host: '127.0.0.1',
        port: await closedPort(),
        user: 'nobody',
        database: 'none',
      });

      const { status, body } = await api.get('/health');

      expect(status).toBe(200);
      expect(body).toEqual(unhealthy);
    });

    it("is an error when the database's socket is gone", async () => {
      const { api } = await startAppAt({
        host: '/nonexistent',
        port: 5432,
        user: 'nobody',
        database: 'none',
      });

      const { status, body } = await api.get('/health');

      expect(status).toBe(200);
      expect(body).toEqual(unhealthy);
    });

    itDirectly('is an error when the database is not there, and ok again when it is back', async () => {
      const own = await startTestService();
      const database = own.address.database!;
      await service.db.raw(`alter database ${database} allow_connections false`);
      try {
        const { status, body } = await own.api.get('/health');

        expect(status).toBe(200);
        expect(body).toEqual(unhealthy);
      } finally {
        await service.db.raw(`alter database ${database} allow_connections true`);
      }
      expect((await own.api.get('/health')).body).toEqual(healthy);
    });

    it('is an error within two seconds, and leaves no connection open, for any server that responds instead of the database', async () => {
      const impostors: Record<string, (connection: Socket) => void> = {
        'accepts connections and never answers': () => undefined,
        'closes every connection': (connection) => connection.end(),
        'resets every connection': (connection) => connection.resetAndDestroy(),
        'lets us in and never gets ready': (connection) => connection.write(authentication(0)),
        'asks for a password': (connection) => connection.write(authentication(3)),
        'asks for a password by another method': (connection) => connection.write(authentication(5)),
        'refuses us': (connection) => connection.end(failure('28000')),
        'has no connection left': (connection) => connection.end(failure('53300')),
        'speaks HTTP': (connection) => connection.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
        'talks nonsense': (connection) => connection.write(Buffer.alloc(1024, 0xff)),
        'starts a message that has no end': (connection) => connection.write(Buffer.from('R\0\0')),
        'sends notices without end': (connection) => {
          const timer = setInterval(() => connection.write(message('N', Buffer.from('SNOTICE\0\0'))), 20);
          connection.on('close', () => clearInterval(timer));
        },
      };
      const apps = await Promise.all(
        Object.entries(impostors).map(async ([impostor, behave]) => {
          const database = await startFakeDatabase(behave);
          return { impostor, database, ...(await startAppAt(database.address)) };
        }),
      );

      // Concurrently, so that the timeouts overlap.
      const answers = await Promise.all(
        apps.map(async ({ impostor, database, api }) => {
          const start = performance.now();
          const { status, body } = await api.get('/health');
          const inTime = performance.now() - start < soon;
          return { impostor, status, body, inTime, wasAsked: database.accepted() > 0 };
        }),
      );

      expect(answers).toEqual(
        apps.map(({ impostor }) => ({
          impostor,
          status: 200,
          body: unhealthy,
          inTime: true,
          wasAsked: true,
        })),
      );
      await eventually('they are closed', () => {
        const leaked = apps.filter(({ database }) => database.open.size > 0);
        expect(leaked.map(({ impostor }) => impostor)).toEqual([]);
      });
    });

    it('responds to many callers while the database does not respond', async () => {
      const database = await startFakeDatabase(() => undefined);
      const { api } = await startAppAt(database.address);
      const start = performance.now();

      const answers = await Promise.all(Array.from({ length: 30 }, () => api.get('/health')));

      expect(performance.now() - start).toBeLessThan(soon);
      for (const { status, body } of answers)
        expect({ status, body }).toEqual({ status: 200, body: unhealthy });
      // They share one check; on a busy machine, some may start after it.
      expect(database.accepted()).toBeLessThan(5);
      await eventually('they are closed', () => expect(database.open.size).toBe(0));
    });

    it('is 200 also during shutdown', async () => {
      const { api, app } = await startAppAt(service.address);
      await app.drain();

      const { status, body } = await api.get('/health');

      expect(status).toBe(200);
      expect(body).toEqual(healthy);
    });
  });
});
