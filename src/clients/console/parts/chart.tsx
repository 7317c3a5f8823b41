import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { count, timeLabels } from '../locale';

export interface Series {
  label: string;
  values: (number | null)[];
  /** A custom property of the stylesheet. */
  color: '--accent' | '--bad' | '--good';
  kind: 'bars' | 'steps';
}

interface Options {
  /** Description of the chart; its figures are in a table too. */
  label: string;
  /** Seconds since 1970, ascending. */
  times: number[];
  series: Series[];
}

const height = 220;

const hour = 3_600;
const day = 24 * hour;
/** Minimum time range of a chart: a single bar must not fill it. */
const leastSpan = { bars: 14 * day, steps: hour };

/** A chart over time. It is redrawn when the width or the color scheme changes. */
export function Chart({ label, times, series }: Options) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    let chart: uPlot | undefined;
    const draw = () => {
      chart?.destroy();
      chart = new uPlot(
        optionsOf(element, times, series),
        [times, ...series.map(({ values }) => values)],
        element,
      );
    };
    draw();
    const resized = new ResizeObserver(() => chart?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    scheme.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      chart?.destroy();
    };
  }, [times, series]);
  return <div ref={place} className="chart" role="img" aria-label={label} />;
}

function optionsOf(element: HTMLElement, times: number[], series: Series[]): uPlot.Options {
  const style = getComputedStyle(element);
  // Bars are days and months of the service, in UTC.
  const isBars = series.some(({ kind }) => kind === 'bars');
  const least = leastSpan[isBars ? 'bars' : 'steps'];
  const axis = {
    stroke: style.getPropertyValue('--muted'),
    grid: { stroke: style.getPropertyValue('--line'), width: 1 },
    ticks: { show: false },
  };
  const paths = {
    bars: uPlot.paths.bars!({ size: [0.6, 40] }),
    steps: uPlot.paths.stepped!({ align: 1 }),
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: series.length > 1, live: false },
    cursor: { show: false },
    ...(isBars && { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') }),
    axes: [
      { ...axis, space: 90, values: (_, splits) => timeLabels(splits, isBars) },
      { ...axis, size: 72, values: (_, splits) => splits.map(count) },
    ],
    scales: {
      x: { range: () => widened(times[0]!, times.at(-1)!, least) },
      y: { range: (_, __, highest) => [0, highest > 0 ? highest * 1.1 : 1] },
    },
    series: [
      {},
      ...series.map(({ label, color, kind }) => {
        const stroke = style.getPropertyValue(color);
        return {
          label,
          stroke,
          width: 2,
          paths: paths[kind],
          points: { show: kind === 'steps' },
          ...(kind === 'bars' && { fill: stroke }),
        };
      }),
    ],
  };
}

/** Widens a range to a least number of seconds. */
function widened(first: number, last: number, least: number): [number, number] {
  const missing = Math.max(0, least - (last - first)) / 2;
  const margin = (last - first) * 0.02;
  return [first - missing - margin, last + missing + margin];
}
