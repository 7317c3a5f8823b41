/** The samples of one metric of a process, by their labels. @param operatorUrl - the address of its metrics */
export async function samples(operatorUrl: string, name: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text();
  const line = /^(\w+)(?:\{(.*)\})? (\S+)$/;
  const found = text
    .split('\n')
    .map((each) => line.exec(each))
    .filter((match) => match?.[1] === name);
  return Object.fromEntries(found.map((match) => [match![2] ?? '', Number(match![3])]));
}
