import type { components } from '../../../generated/openapi';
import { formatId } from '../../base/ids';
import type { PartnerRow } from './partners.repository';

/** Makes the resource of a response, and of an event. */
export function partnerBody(partner: PartnerRow): components['schemas']['Partner'] {
  return {
    partner_name: partner.partner_name,
    products: partner.products,
    feeds: partner.feeds,
    last_feed_id: partner.last_feed_id === null ? null : formatId('FD', partner.last_feed_id),
    last_completed_at: partner.last_completed_at?.toISOString() ?? null,
    attention: partner.attention,
  };
}
