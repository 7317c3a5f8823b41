import { useFilters } from '../data/address';
import { addDays, periodNames, periodOf, today, type Period, type PeriodName } from '../data/period';
import { texts } from '../texts';
import { Field } from './field';
import { useDeferred } from './use-deferred';

/** Returns the period in the address of the view. @param usual - the choice without one; empty: no limit */
export function usePeriod(usual: PeriodName | ''): { name: PeriodName | ''; period: Period } {
  const [read] = useFilters();
  const name = periodNames.find((each) => each === read('period')) ?? usual;
  const own = { first: read('from'), last: read('to') };
  const period = useDeferred(JSON.stringify(periodOf(name, own, today())));
  return { name, period: JSON.parse(period) as Period };
}

/** One control for the period of a view: buttons, and two days if they are one's own. */
export function PeriodField({ usual }: { usual: PeriodName | '' }) {
  const [read, write] = useFilters();
  const { name, period } = usePeriod(usual);
  const names = usual === '' ? (['', ...periodNames] as const) : periodNames;
  const choose = (chosen: PeriodName | '') =>
    write({
      period: chosen === usual ? '' : chosen,
      from: chosen === 'own' ? (period.from ?? '') : '',
      to: chosen === 'own' && period.to ? addDays(period.to, -1) : '',
    });
  return (
    <>
      <fieldset className="segments">
        <legend className="label">{texts.period.label}</legend>
        <div>
          {names.map((each) => (
            <button key={each} type="button" aria-pressed={each === name} onClick={() => choose(each)}>
              {texts.period.names[each]}
            </button>
          ))}
        </div>
      </fieldset>
      {name === 'own' && (
        <>
          <Field
            label={texts.period.first}
            type="date"
            value={read('from')}
            onChange={(from) => write({ from })}
          />
          <Field label={texts.period.last} type="date" value={read('to')} onChange={(to) => write({ to })} />
        </>
      )}
    </>
  );
}
