import type { components } from '../../generated/openapi';
import { formatId } from '../shared/ids';
import { exactNumber } from '../shared/exact-json';
import type { OrderWithItems } from './orders.repository';

export function orderBody(order: OrderWithItems): components['schemas']['Order'] {
  return {
    order_id: formatId('OR', order.order_id),
    partner_name: order.partner_name,
    customer_reference: order.customer_reference,
    status: order.status,
    total_amount: exactNumber(order.total_amount),
    currency: order.currency,
    created_at: order.created_at.toISOString(),
    items: order.items.map((item) => ({
      order_item_id: formatId('OI', item.order_item_id),
      product_id: formatId('PR', item.product_id),
      sku: item.sku,
      product_name: item.product_name,
      quantity: item.quantity,
      unit_price: exactNumber(item.unit_price),
      line_total: exactNumber(item.line_total),
    })),
  };
}
