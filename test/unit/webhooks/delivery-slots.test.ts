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

it('releases the slot of a delivery after a second', () => {
  take(upTo(concurrentDeliveries));
  expect(slots.free()).toMatchObject({ max: 0, slowMax: concurrentSlowDeliveries });

  passSecond();

  expect(slots.free()).toMatchObject({
    max: concurrentDeliveries,
    slowMax: concurrentSlowDeliveries - concurrentDeliveries,
  });
});

it('keeps all slots free from endpoints whose last delivery was slow', () => {
  const leave = take(upTo(concurrentSlowDeliveries));
  passSecond();
  slots.free();
  for (const end of leave) end();

  take(upTo(concurrentSlowDeliveries));

  expect(slots.free()).toMatchObject({ max: concurrentDeliveries, slowMax: 0 });
});

it('counts an endpoint as fast again after a fast delivery', () => {
  const [slow] = take([1]);
  passSecond();
  slow!();
  expect([...slots.free()!.served]).toEqual([[1, true]]);

  const [quick] = take([1]);
  quick!();

  expect([...slots.free()!.served]).toEqual([[1, false]]);
});

it('remembers endpoints in the order of their last deliveries, the oldest first', () => {
  take([1, 2, 3, 1]);

  expect([...slots.free()!.served.keys()]).toEqual([2, 3, 1]);
});

it('bounds slow deliveries by the deliveries that start in a second', () => {
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
