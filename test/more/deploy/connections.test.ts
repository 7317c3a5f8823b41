import { loadConfig } from '../../../src/config';
import {
  connectionsOfApi,
  connectionsOfMigration,
  connectionsOfWorker,
} from '../../../src/operation/process/connections';
import { read, readCompose } from './files';

const database = { DATABASE_URL: 'postgresql://localhost/catalog' };

describe('the connections to PostgreSQL', () => {
  const [ofApi, ofWorker] = [
    connectionsOfApi(loadConfig(database)),
    connectionsOfWorker(loadConfig(database)),
  ];

  it('equal the table in docs/scaling.md', () => {
    const page = read('docs/scaling.md');

    expect(Number(/^\| \*\*all\*\* .*\| \*\*(\d+)\*\* +\|$/m.exec(page)![1])).toBe(ofApi);
    expect(page).toContain(`${ofApi} + ${ofApi} + ${ofWorker} = ${2 * ofApi + ofWorker}`);
  });

  it('fit into max_connections of compose.yaml, also with three workers', () => {
    const { services } = readCompose();
    const [, max] = /max_connections=(\d+)/.exec(services.postgres.command.join(' '))!;
    const { SECRETS_KEY: _secret, ...environment } = services.api.environment;
    const api = connectionsOfApi(loadConfig({ ...environment, ...database }));

    expect(api + 3 * ofWorker + connectionsOfMigration).toBeLessThan(Number(max));
  });
});
