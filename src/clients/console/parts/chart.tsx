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
  /** First and last second of the time axis, if it is longer than the times. */
  range?: readonly [number, number];
  /** Formats a value of the vertical axis. */
  format?: (value: number) => string;
  /** Whether the vertical axis shows the values only, without zero: for small changes. */
  isClose?: boolean;
}

const height = 220;

const hour = 3_600;
const day = 24 * hour;
/** Minimum time range of a chart: a single bar must not fill it. */
const leastSpan = { bars: 14 * day, steps: hour };

/** A chart over time. It is redrawn when the width or the color scheme changes. */
export function Chart({ label, times, series, range, format = count, isClose = false }: Options) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    let chart: uPlot | undefined;
    const draw = () => {
      chart?.destroy();
      chart = new uPlot(
        optionsOf(element, { times, series, range, format, isClose }),
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
  }, [times, series, range, format, isClose]);
  return <div ref={place} className="chart" role="img" aria-label={label} />;
}

type Drawn = Omit<Options, 'label'> & Required<Pick<Options, 'format' | 'isClose'>>;

function optionsOf(element: HTMLElement, { times, series, range, format, isClose }: Drawn): uPlot.Options {
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
      { ...axis, space: 90, size: 32, values: (_, splits) => timeLabels(splits, isBars) },
      { ...axis, size: widthOf, values: (_, splits) => splits.map((value) => format(value)) },
    ],
    scales: {
      x: { range: () => (range ? [...range] : widened(times[0]!, times.at(-1)!, least)) },
      y: {
        range: (_, lowest, highest) =>
          isClose ? around(lowest, highest) : [0, highest > 0 ? highest * 1.1 : 1],
      },
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

const characterWidth = 7.5;

/** Returns the width of the labels of the vertical axis. */
const widthOf: uPlot.Axis.Size = (_, labels) =>
  24 + characterWidth * Math.max(3, ...((labels as string[] | null) ?? []).map(({ length }) => length));

/** Returns a range around values, with a margin; values below zero do not occur. */
function around(lowest: number, highest: number): [number, number] {
  const margin = Math.max((highest - lowest) * 0.25, highest * 0.05, 0.01);
  return [Math.max(0, lowest - margin), highest + margin];
}

/** Widens a range to a least number of seconds. */
function widened(first: number, last: number, least: number): [number, number] {
  const missing = Math.max(0, least - (last - first)) / 2;
  const margin = (last - first) * 0.02;
  return [first - missing - margin, last + missing + margin];
}
