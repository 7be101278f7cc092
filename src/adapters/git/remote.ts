import type { Egress } from '../egress/egress.ts'

const TIMEOUT_MS = 60_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** What Git asks of a remote, and its answer: of any status, and as a whole. */
export type GitRequest = { url: string; method: string; headers: Readonly<Record<string, string>>; body: Uint8Array }
export type GitAnswer = { url: string; status: number; headers: Readonly<Record<string, string>>; body: Uint8Array }
export type SendToRemote = (request: GitRequest) => Promise<GitAnswer>

/** Asks a remote through the checked outbound client. A redirect is not followed: it would lead passwords away. */
export async function sendToRemote(egress: Egress, { url, method, headers, body }: GitRequest): Promise<GitAnswer> {
  const response = await egress.request(url, {
    method,
    headers,
    ...(body.length > 0 && { body }),
    timeoutMs: TIMEOUT_MS,
    maxRedirects: 0,
    maxWireBytes: MAX_ANSWER_BYTES,
    maxBytes: MAX_ANSWER_BYTES,
  })
  const { status } = response
  return { url: response.url, status, headers: Object.fromEntries(response.headers), body: await response.bytes() }
}
