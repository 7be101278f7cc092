import { AppError } from '../../core/errors.ts'
import { createEgress, type Egress } from '../egress/egress.ts'

const TIMEOUT_MS = 60_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** A Git request to a remote and its complete response of any status. */
type GitRequest = { url: string; method: string; headers: Readonly<Record<string, string>>; body: Uint8Array }
type GitAnswer = { url: string; status: number; headers: Readonly<Record<string, string>>; body: Uint8Array }
export type SendToRemote = (request: GitRequest) => Promise<GitAnswer>

type GitCredentials = { username: string; password: string }
export type PushOptions = { allowPrivate: boolean; credentials: readonly (GitCredentials & { origin: string })[] }

/**
 * Creates a sender for pushes from a sandboxed process without network or credentials. It adds a credential only for
 * its own origin and only when the remote asks for one.
 */
export function createRemoteSender({ allowPrivate, credentials }: PushOptions): SendToRemote {
  const egress = createEgress({ allowPrivate })
  return async (request) => {
    const { origin, pathname, searchParams } = new URL(request.url)
    const isOfPush =
      pathname.endsWith('/git-receive-pack') ||
      (pathname.endsWith('/info/refs') && searchParams.get('service') === 'git-receive-pack')
    if (!isOfPush) throw new AppError('forbidden', 'Only what a push takes is asked of a remote')
    const headers = withoutAuthorization(request.headers)
    const answer = await sendToRemote(egress, { ...request, headers })
    const known = credentials.find((one) => one.origin === origin)
    if (answer.status !== 401 || !known) return answer
    const basic = Buffer.from(`${known.username}:${known.password}`).toString('base64')
    return sendToRemote(egress, { ...request, headers: { ...headers, authorization: `Basic ${basic}` } })
  }
}

function withoutAuthorization(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'))
}

/** Sends through the egress client without following redirects, which could leak credentials. */
async function sendToRemote(egress: Egress, { url, method, headers, body }: GitRequest): Promise<GitAnswer> {
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
