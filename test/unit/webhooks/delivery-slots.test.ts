import {
  concurrentDeliveries,
  concurrentSlowDeliveries,
  DeliverySlots,
  slowDeliveryMilliseconds,
} from '../../../src/webhooks/delivery-slots';

let now = 0;
let slots: DeliverySlots;
beforeEach(() => {
  slots = new DeliverySlots(() => now);
});
const take = (endpointIds: number[]) => endpointIds.map((id) => slots.take(id));
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const passSecond = () => (now += slowDeliveryMilliseconds);

it('gives the slot of a delivery that lasts for a second to others', () => {
  take(upTo(concurrentDeliveries));
  expect(slots.free()).toMatchObject({ max: 0, slowMax: concurrentSlowDeliveries });

  passSecond();

  expect(slots.free()).toMatchObject({
    max: concurrentDeliveries,
    slowMax: concurrentSlowDeliveries - concurrentDeliveries,
  });
});

it('keeps all slots free of endpoints whose last delivery was slow', () => {
  const leave = take(upTo(concurrentSlowDeliveries));
  passSecond();
  slots.free();
  for (const end of leave) end();

  take(upTo(concurrentSlowDeliveries));

  expect(slots.free()).toMatchObject({ max: concurrentDeliveries, slowMax: 0 });
});

it('has an endpoint count as quick again after a quick delivery', () => {
  const [slow] = take([1]);
  passSecond();
  slow!();
  expect([...slots.free()!.served]).toEqual([[1, true]]);

  const [quick] = take([1]);
  quick!();

  expect([...slots.free()!.served]).toEqual([[1, false]]);
});

it('remembers endpoints in the order of their last turns, the longest ago first', () => {
  take([1, 2, 3, 1]);

  expect([...slots.free()!.served.keys()]).toEqual([2, 3, 1]);
});

it('bounds what becomes slow by what begins in a second', () => {
  let inProgress = 0;
  let id = 0;
  // The timeout of a response is 15 s.
  for (let second = 0; second < 15; second++) {
    const { max } = slots.free()!;
    take(Array.from({ length: max }, () => ++id));
    inProgress += max;
    passSecond();
  }

  expect(inProgress).toBe(15 * concurrentDeliveries);
  expect(slots.free()).toMatchObject({ max: concurrentDeliveries, slowMax: 0 });
});
