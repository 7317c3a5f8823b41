/** Characters that change the display of a text in a terminal: control and format characters, separators, lone surrogates. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Escapes a text for one line of a terminal, as JavaScript does (`\n`, `\u{1b}`). */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    const short = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }[character];
    return short ?? String.raw`\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}

/** Formats a value as JSON, in which the same characters are escaped; it parses to the same value. @param indent - 0: one line */
export function printableJson(value: unknown, indent = 2): string {
  const json = JSON.stringify(value, null, indent);
  return json.replace(/\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n'
      ? character
      : character.replace(
          /[\s\S]/g,
          (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0'),
        ),
  );
}

/** Formats a text as a word of a shell, in one line of a terminal. */
export function shellWord(text: string): string {
  const word = /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return printable(word);
}

/** Formats a number of bytes: `999 B`, `1.5 MB`, in powers of 1000. */
export function byteText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let power = 0;
  let value = bytes;
  while (value >= 999.95 && power < units.length - 1) {
    value /= 1000;
    power++;
  }
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]!}`;
}

export const countText = (count: number) => count.toLocaleString('en');
