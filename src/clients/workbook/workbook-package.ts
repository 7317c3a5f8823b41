import { localName, parseWholeXml, type XmlAttributes } from './parse-xml';
import { refuseOther } from './other-files';
import { damaged, ZipArchive } from './zip-archive';
import { WorkbookFault, type OtherFileKind } from './workbook-fault';

/** A worksheet by the part of the package that has it. */
export interface SheetPart {
  name: string;
  isHidden: boolean;
  part: string;
}

/** The parts of a workbook that are not cells. */
export interface WorkbookPackage {
  archive: ZipArchive;
  sheets: SheetPart[];
  /** Absent: the workbook has none. */
  sharedStringsPart?: string;
  stylesPart?: string;
  /** Whether days count from 1904-01-01. */
  is1904: boolean;
  /** Whether its writer has not calculated formulas, but stored 0. */
  isUncalculated: boolean;
  /** Whether it has formulas with values of other workbooks. */
  hasExternalLinks: boolean;
}

interface Relationship {
  /** Last part of its type: `worksheet`. */
  type: string;
  target: string;
}

/** Opens the package of a workbook (.xlsx), and lists its sheets. @throws WorkbookFault for any other file */
export function openPackage(bytes: Uint8Array): WorkbookPackage {
  refuseOther(bytes);
  const archive = new ZipArchive(bytes);
  refuseOtherPackage(archive);
  const part = workbookPart(archive);
  const relationships = relationshipsOf(archive, part);
  const { listed, is1904, isUncalculated } = readWorkbook(archive, part);
  const sheets = listed.flatMap(({ id, ...sheet }) => {
    const target = relationships.get(id);
    return target?.type === 'worksheet' && archive.has(target.target)
      ? [{ ...sheet, part: target.target }]
      : [];
  });
  if (sheets.length === 0) throw new WorkbookFault('The workbook has no sheet with cells. Use another one.');
  const partOf = (type: string) => [...relationships.values()].find((each) => each.type === type)?.target;
  return {
    archive,
    sheets,
    sharedStringsPart: partOf('sharedStrings'),
    stylesPart: partOf('styles'),
    is1904,
    isUncalculated,
    hasExternalLinks: partOf('externalLink') !== undefined,
  };
}

function refuseOtherPackage(archive: ZipArchive): void {
  const names = [...archive.names];
  const has = (pattern: RegExp) => names.some((name) => pattern.test(name));
  const refuse = (text: string, kind?: OtherFileKind) => {
    throw new WorkbookFault(text, kind);
  };
  if (has(/^xl\/(?:vbaproject\.bin$|macrosheets\/)/))
    refuse('The workbook has macros. Save it in Excel as Excel Workbook (.xlsx), which has none.');
  if (has(/^xl\/workbook\.bin$/))
    refuse(
      'This is a binary workbook (.xlsb). Save it in Excel as Excel Workbook (.xlsx).',
      'excel_97_workbook',
    );
  if (has(/^index\/.*\.iwa$|^index\.zip$/))
    refuse('This is a file of Apple Numbers. Export it as Excel (File, Export To, Excel).', 'numbers');
  if (has(/^content\.xml$/))
    refuse(
      'This is an OpenDocument file (.ods). Save it as Excel Workbook (.xlsx), or as CSV in UTF-8.',
      'opendocument_spreadsheet',
    );
  if (!has(/^xl\/|^_rels\/\.rels$/))
    refuse(
      'This file is a ZIP archive and no workbook. Unpack it, and use the workbook or CSV file in it.',
      'zip',
    );
}

function workbookPart(archive: ZipArchive): string {
  const root = [...relationshipsOf(archive, '').values()].find(({ type }) => type === 'officeDocument');
  const part = [root?.target, 'xl/workbook.xml'].find((each) => each !== undefined && archive.has(each));
  if (part === undefined) throw damaged();
  if (!part.toLowerCase().startsWith('word/') && !part.toLowerCase().startsWith('ppt/')) return part;
  throw new WorkbookFault(
    'This is a document and no workbook. Copy its table into Excel, and save that as Excel Workbook (.xlsx).',
  );
}

/** Reads the relationships of a part by their ids. @param part - empty: of the package itself */
function relationshipsOf(archive: ZipArchive, part: string): Map<string, Relationship> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const name = `${folder}_rels/${part.slice(folder.length)}.rels`;
  const relationships = new Map<string, Relationship>();
  parseWholeXml(archive.read(name), {
    open(element, { Id: id, Type: type = '', Target: target = '', TargetMode: mode }) {
      if (element !== 'Relationship' || id === undefined || mode === 'External') return;
      relationships.set(id, {
        type: type.slice(type.lastIndexOf('/') + 1),
        target: resolvePart(folder, target),
      });
    },
  });
  return relationships;
}

function resolvePart(folder: string, target: string): string {
  const path: string[] = [];
  for (const step of `${target.startsWith('/') ? '' : folder}${target}`.split('/'))
    if (step === '..') path.pop();
    else if (step !== '' && step !== '.') path.push(step);
  return path.join('/');
}

/** Sheets that a workbook may list: more are hostile. */
const sheetsMax = 1000;

function readWorkbook(archive: ZipArchive, part: string) {
  const listed: { name: string; isHidden: boolean; id: string }[] = [];
  let is1904 = false;
  let isUncalculated = false;
  parseWholeXml(archive.read(part), {
    open(name, attributes) {
      // Extensions have an element of this name too.
      if (name === 'workbookPr') is1904 ||= isTrue(attributes.date1904);
      if (name === 'calcPr') isUncalculated ||= isTrue(attributes.fullCalcOnLoad);
      if (name !== 'sheet') return;
      if (listed.length === sheetsMax)
        throw new WorkbookFault(
          `The workbook has more than ${sheetsMax} sheets. Copy the sheet into a new workbook, and use that one.`,
        );
      listed.push({
        name: attributes.name ?? '',
        isHidden: (attributes.state ?? 'visible') !== 'visible',
        id: relationshipId(attributes),
      });
    },
  });
  return { listed, is1904, isUncalculated };
}

/** The prefix of the attribute is the writer's choice. */
const relationshipId = (attributes: XmlAttributes) =>
  Object.entries(attributes).find(([name]) => name.includes(':') && localName(name) === 'id')?.[1] ?? '';

/** Tells whether an attribute is set. */
export const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true';
