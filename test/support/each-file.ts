import { closeAll } from './harness';
import { flushCoverage } from './coverage';

afterAll(async () => {
  try {
    await closeAll();
  } finally {
    flushCoverage();
  }
});
