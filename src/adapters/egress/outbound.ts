/** `status` is null without a response, `error` is null on success. Neither contains the URL. */
export type Sent = { status: number | null; error: string | null }

type Post = {
  headers: Record<string, string>
  body: string
  signal: AbortSignal
  /** JSON field in which the service explains a rejection. */
  reasonIn?: string
}

const TIMEOUT_MS = 10_000
/** Limit for the body of a rejection. */
const MAX_REASON_BYTES = 4096
const MAX_REASON_CHARACTERS = 200

/**
 * Posts JSON to an operator-configured URL; any 2xx is a success, and redirects are not followed. Errors leave out the
 * URL, which may contain a token, and quote only the service's own reason.
 * @throws the signal's reason when aborted.
 */
export async function send(post: typeof fetch, url: string, { headers, body, signal, reasonIn }: Post): Promise<Sent> {
  try {
    const response = await post(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const { status, ok: isTaken } = response
    const reason = isTaken || reasonIn === undefined ? null : await readReason(response, reasonIn)
    await response.body?.cancel()
    if (isTaken) return { status, error: null }
    return { status, error: reason === null ? `answered ${status}` : `answered ${status} (${reason})` }
  } catch (error) {
    signal.throwIfAborted()
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return { status: null, error: isLate ? `did not answer within ${TIMEOUT_MS / 1000} s` : 'could not be reached' }
  }
}

/** Returns the service's reason in one line, or null. */
async function readReason(response: Response, field: string): Promise<string | null> {
  const body: unknown = parseJson(await readStart(response))
  const value = typeof body === 'object' && body !== null ? Object.getOwnPropertyDescriptor(body, field)?.value : null
  if (typeof value !== 'string') return null
  return (
    value
      .replaceAll(/[\s\p{Cc}]+/gu, ' ')
      .trim()
      .slice(0, MAX_REASON_CHARACTERS) || null
  )
}

/** Returns the start of the body; a longer body is cut and then fails to parse as JSON. */
async function readStart(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.length
    text += decoder.decode(part.value, { stream: true })
    if (bytes > MAX_REASON_BYTES) break
  }
  reader.releaseLock()
  return text
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
