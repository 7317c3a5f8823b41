import type { OpenAPIV3 } from 'openapi-types';
import document from '../../generated/openapi.json';
import { describedCodes } from '../../scripts/reference/errors';
import { ServiceError, type ErrorCode } from '../../src/base/errors';
import { errorReply } from '../../src/http/reply/error-response';
import { documentedResponses } from '../support/contract';

const { enum: codes } = document.components.schemas.KnownErrorCode;

const items = describedCodes(document as unknown as OpenAPIV3.Document);

/** Arise before an operation is found, or in Node's HTTP server. */
const codesOutside = [
  'header_too_large',
  'incomplete_request',
  'malformed_http',
  'method_not_allowed',
  'not_acceptable',
  'route_not_found',
  'unknown_transfer_coding',
];

const statusesOf = (code: string) => [
  ...new Set(documentedResponses.filter((each) => each.codes.includes(code)).map(({ status }) => status)),
];

describe('the known error codes', () => {
  it('are the items of their description, in this order', () => {
    expect(items.map(({ name }) => name)).toEqual(codes);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('each have a text of whole sentences', () => {
    expect(items.filter(({ text }) => !/^(`|[A-Z]).{8,}\.$/.test(text))).toEqual([]);
  });

  it('each have one status, the same in their text, all operations and the service', () => {
    for (const { name: code, status } of items) {
      const declared = statusesOf(code);
      const sent = errorReply(new ServiceError(code as ErrorCode, '', { allowedMethods: [] })).status;

      expect({ code, declared: declared.length === 0 ? [sent] : declared, sent }).toEqual({
        code,
        declared: [Number(status)],
        sent: Number(status),
      });
    }
  });

  it('are declared by an operation, except those that arise outside of all operations', () => {
    expect(codes.filter((code) => statusesOf(code).length === 0).sort()).toEqual(codesOutside);
  });
});
