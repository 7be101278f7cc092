import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { ApiName } from '../../http/env.ts'

/** The client and API of a request that a node forwards to the leader. */
export type ForwardedRequest = { api: ApiName; address: string | null; host: string | null }

const HEADER = 'x-stead-forwarded'
/** Nodes whose clocks differ more do not join. */
const VALID_MS = 30_000
const Forwarded = z.object({
  api: z.enum(['web', 'backend', 'summarizer']),
  address: z.string().nullable(),
  host: z.string().nullable(),
  target: z.string(),
  at: z.number(),
})

/** Signs and verifies the header by which a node of a cluster names the client of a request that it forwards. */
export function createForwardedHeader(key: Buffer) {
  const sign = (text: string) => createHmac('sha256', key).update(text).digest()
  return {
    /** Adds the header; `target` is the method and URL path that it is valid for. */
    add(headers: Headers, about: ForwardedRequest, target: string): void {
      const text = Buffer.from(JSON.stringify({ ...about, target, at: Date.now() })).toString('base64url')
      headers.set(HEADER, `${text}.${sign(text).toString('base64url')}`)
    },
    /** Removes the header. @returns its content; null when there is none or it was not written by a node of the cluster. */
    take(headers: Headers, target: string): ForwardedRequest | null {
      const given = headers.get(HEADER)
      headers.delete(HEADER)
      const [text = '', signature = ''] = given?.split('.') ?? []
      const expected = sign(text)
      const actual = Buffer.from(signature, 'base64url')
      if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return null
      const parsed = Forwarded.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      if (!parsed.success || parsed.data.target !== target) return null
      if (Math.abs(Date.now() - parsed.data.at) > VALID_MS) return null
      const { api, address, host } = parsed.data
      return { api, address, host }
    },
    isPresent: (headers: Headers) => headers.has(HEADER),
  }
}
