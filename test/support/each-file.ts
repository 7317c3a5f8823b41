import { closeAll } from './after-file';

afterAll(closeAll);
