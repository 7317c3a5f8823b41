/** Tells whether a file is named as a workbook is, also one of a kind that is refused with advice: `.xls`. */
export const isWorkbookName = (name: string): boolean => /\.xls[xm]?$/i.test(name);

/** Tells whether bytes begin as a ZIP archive does: all newer workbooks are one. */
export const beginsAsZip = (bytes: Uint8Array): boolean => beginsWith(bytes, [0x50, 0x4b]);

/** Tells whether bytes begin as the older files of Microsoft Office do, and its files with a password. */
export const beginsAsOle = (bytes: Uint8Array): boolean => beginsWith(bytes, [0xd0, 0xcf, 0x11, 0xe0]);

/** Tells whether bytes are those at a place in others. */
export const beginsWith = (bytes: Uint8Array, sought: readonly number[], at = 0): boolean =>
  sought.every((byte, index) => bytes[at + index] === byte);
