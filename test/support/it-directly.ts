import { shared } from './shared';

/**
 * A test that looks for connections that must be gone, or come anew: left out where a pooler stands between the service and
 * the server, and keeps them.
 */
export const itDirectly = shared().pooler ? it.skip : it;
