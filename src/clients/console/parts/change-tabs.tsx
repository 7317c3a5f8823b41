import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../api';
import { changeActions, countChanges, type ChangeView } from '../data/changes';
import { count } from '../locale';
import { texts } from '../texts';
import { Choice } from './field';

interface Options {
  view: ChangeView;
  /** The counts of all changes; undefined: they are not known. */
  summary: Schemas['RunSummary'] | undefined;
  /** Name of the order of the service. */
  order: string;
  /** Writes into the address, whose parts are read by `changeViewOf`. */
  onChange: (changes: Record<string, string>) => void;
}

/** Chooses which changes of all are shown, and in which order. */
export function ChangeTabs({ view: { action, sort }, summary, order, onChange }: Options) {
  const counts = summary && countChanges(summary);
  const shown = changeActions.filter((each) => !counts || counts[each] > 0 || each === action);
  const tab = (name: string, text: string, number: number | undefined) => (
    <Button
      key={name}
      className="tab"
      aria-pressed={name === (action ?? '')}
      onPress={() => onChange({ action: name })}
    >
      {text} {number !== undefined && <span className="muted">{count(number)}</span>}
    </Button>
  );
  const hasEarlier = !counts || counts.update + counts.restore > 0;
  const hasOrder = hasEarlier && (action === undefined || action === 'update' || action === 'restore');
  return (
    <div className="change-tabs">
      <div className="tabs" role="group" aria-label={texts.plan.filter}>
        {tab('', texts.all, counts?.all)}
        {shown.map((each) => tab(each, texts.actions[each]!, counts?.[each]))}
      </div>
      {hasOrder && (
        <Choice
          label={texts.plan.order}
          value={sort ? '' : 'none'}
          options={[
            ['', texts.plan.byPrice],
            ['none', order],
          ]}
          onChange={(chosen) => onChange({ sort: chosen })}
        />
      )}
    </div>
  );
}
