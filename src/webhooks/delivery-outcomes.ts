/** How a delivery, or an attempt of one, can end. */
export const deliveryOutcomes = ['delivered', 'failed', 'given_up', 'discarded'] as const;

/** One of these outcomes. `discarded`: its order no longer exists. */
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];
