import type { Endpoint } from '../../../src/http/endpoint.ts'

/** A minimal declaration for routes that exist only in tests. */
export const TEST_ENDPOINT = {
  summary: 'Returns a test value',
  tag: 'Agents',
  responses: { 200: 'text/plain' },
} as const satisfies Endpoint
