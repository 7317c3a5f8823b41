import fc from 'fast-check';
import {
  redoStep,
  startMending,
  stepToNothing,
  takeStep,
  undoStep,
  withCell,
  withDrop,
  type Mending,
  type MendStep,
} from '../../../../src/clients/console/data/mending';
import { casesFor } from '../../../support/fuzz';

const line = fc.constantFrom('2', '3', '4');
const action = fc.oneof(
  fc.record({ line, column: fc.integer({ min: 3, max: 5 }), value: fc.constantFrom('was', 'a', '') }),
  fc.record({ line, isDropped: fc.boolean() }),
  fc.constant('nothing' as const),
);
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

function stepOf({ edits }: Mending, done: Action): MendStep {
  if (done === 'nothing') return stepToNothing(edits);
  const before = edits[done.line];
  const after =
    'isDropped' in done ? withDrop(before, done.isDropped) : withCell(before, done.column, done.value, 'was');
  return [{ line: done.line, before, after }];
}

describe('mending', () => {
  it('is as before after all of its steps are undone, and as after them when they are done again', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 12 }), (actions) => {
        const states = [startMending({ '9': { cells: { 3: 'kept' } } })];
        for (const each of actions) states.push(takeStep(states.at(-1)!, stepOf(states.at(-1)!, each)));
        let mending = states.at(-1)!;
        const { edits } = mending;
        while (mending.done.length > 0) mending = undoStep(mending);
        expect(mending.edits).toEqual(states[0]!.edits);
        while (mending.undone.length > 0) mending = redoStep(mending);
        expect(mending.edits).toEqual(edits);
      }),
      casesFor('steps of mending', 300),
    );
  });

  it('has no change of a cell that has its first value again', () => {
    const changed = withCell(undefined, 3, 'new', 'was');
    expect(withCell(changed, 3, 'was', 'was')).toBeUndefined();
    expect(withCell(withDrop(changed, true), 3, 'was', 'was')).toEqual({ cells: {}, isDropped: true });
  });
});
