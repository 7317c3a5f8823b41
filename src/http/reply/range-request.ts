import parseRange from 'range-parser';
import type { ByteRange } from '../../base/storage/object-store';
import { hasCopy } from './caching';

/** The headers of a conditional or range request. */
interface RangeRequest {
  Range?: string;
  'If-Range'?: string;
  'If-None-Match'?: string;
}

const singleRange = /^bytes=(\d*)-(\d*)$/i;

/**
 * Selects the bytes of a file to send (RFC 9110, sections 13 and 14). Several ranges, other units and invalid ones are
 * ignored.
 * @param entityTag - strong, in its quotes
 * @param sizeBytes - at least 1
 */
export function selectBytes(
  request: RangeRequest,
  { entityTag, sizeBytes }: { entityTag: string; sizeBytes: number },
): 'not_modified' | 'all' | 'unsatisfiable' | ByteRange {
  if (hasCopy(request, entityTag)) return 'not_modified';
  const { Range: range = '', 'If-Range': condition = entityTag } = request;
  const [, first = '', last = ''] = singleRange.exec(range) ?? [];
  const isInvalid = first === '' ? last === '' : last !== '' && Number(last) < Number(first);
  if (isInvalid || condition !== entityTag) return 'all';
  // All bytes; the parser rejects a suffix that is longer than the file.
  if (first === '' && Number(last) >= sizeBytes) return { start: 0, end: sizeBytes - 1 };
  const parsed = parseRange(sizeBytes, range);
  return Array.isArray(parsed) ? parsed[0]! : 'unsatisfiable';
}
