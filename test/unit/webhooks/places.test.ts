import {
  concurrentDeliveries,
  concurrentSlowDeliveries,
  DeliveryPlaces,
  slowDeliveryMilliseconds,
} from '../../../src/webhooks/places';

let now = 0;
let places: DeliveryPlaces;
beforeEach(() => {
  places = new DeliveryPlaces(() => now);
});
const take = (endpointIds: number[]) => endpointIds.map((id) => places.take(id));
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const passSecond = () => (now += slowDeliveryMilliseconds);

it('gives the place of a delivery that lasts for a second to others', () => {
  take(upTo(concurrentDeliveries));
  expect(places.free()).toMatchObject({ max: 0, slowMax: concurrentSlowDeliveries });

  passSecond();

  expect(places.free()).toMatchObject({
    max: concurrentDeliveries,
    slowMax: concurrentSlowDeliveries - concurrentDeliveries,
  });
});

it('keeps all places free of endpoints whose last delivery was slow', () => {
  const leave = take(upTo(concurrentSlowDeliveries));
  passSecond();
  places.free();
  for (const end of leave) end();

  take(upTo(concurrentSlowDeliveries));

  expect(places.free()).toMatchObject({ max: concurrentDeliveries, slowMax: 0 });
});

it('has an endpoint count as quick again after a quick delivery', () => {
  const [slow] = take([1]);
  passSecond();
  slow!();
  expect([...places.free()!.turns]).toEqual([[1, true]]);

  const [quick] = take([1]);
  quick!();

  expect([...places.free()!.turns]).toEqual([[1, false]]);
});

it('remembers endpoints in the order of their last turns, the longest ago first', () => {
  take([1, 2, 3, 1]);

  expect([...places.free()!.turns.keys()]).toEqual([2, 3, 1]);
});

it('bounds what becomes slow by what begins in a second', () => {
  let inProgress = 0;
  let id = 0;
  // The timeout of a response is 15 s.
  for (let second = 0; second < 15; second++) {
    const { max } = places.free()!;
    take(Array.from({ length: max }, () => ++id));
    inProgress += max;
    passSecond();
  }

  expect(inProgress).toBe(15 * concurrentDeliveries);
  expect(places.free()).toMatchObject({ max: concurrentDeliveries, slowMax: 0 });
});
