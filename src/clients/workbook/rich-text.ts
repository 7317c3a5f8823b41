/** Joins the texts of a string item, without the readings of its characters. */
export class RichText {
  private parts = '';
  private isText = false;
  private phonetic = 0;

  open(name: string): void {
    if (name === 'rPh') this.phonetic++;
    this.isText = name === 't' && this.phonetic === 0;
  }

  close(name: string): void {
    if (name === 'rPh') this.phonetic--;
    this.isText = false;
  }

  text(text: string): void {
    if (this.isText) this.parts += text;
  }

  /** Returns the text of the item, and begins the next one. */
  take(): string {
    const text = unescapeText(this.parts);
    this.parts = '';
    return text;
  }
}

/** Replaces the escapes of characters that XML cannot have: `_x000D_`. */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}
