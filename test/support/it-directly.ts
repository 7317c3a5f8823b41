import { shared } from './shared';

/**
 * A test that looks into the service's own pool, or for connections that must be gone: left out where a pooler stands
 * between the service and the server.
 */
export const itDirectly = shared().pooler ? it.skip : it;
