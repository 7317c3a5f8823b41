import { closeAll } from './after-file';
import { flushCoverage } from './coverage';

afterAll(async () => {
  try {
    await closeAll();
  } finally {
    flushCoverage();
  }
});
