/** `status` is null when there was no answer; `error` is null when the receiver took the message. Neither holds an address. */
export type Sent = { status: number | null; error: string | null }

type Post = {
  headers: Record<string, string>
  body: string
  signal: AbortSignal
  /** The field of the JSON in which this service says why it takes nothing. */
  reasonIn?: string
}

const TIMEOUT_MS = 10_000
/** Of an answer that takes nothing. */
const MAX_REASON_BYTES = 4096
const MAX_REASON_CHARACTERS = 200

/**
 * Posts JSON to an address of the operator. Any 2xx means taken: the answer's body is not read, a redirect is not followed.
 * An address may hold a token, so that nothing of it, nor what the network said of it, is told; what a service says in the
 * field that is for it is.
 * @throws the signal's reason when that aborts.
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

/** What a service says in its own words, in one line; null when it says nothing there. */
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

/** The first bytes of an answer. Of a longer one it is no JSON, and nothing is told of it. */
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
