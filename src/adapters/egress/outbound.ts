/** `status` is null when there was no answer; `error` is null when the receiver took the message. Neither holds an address. */
export type Sent = { status: number | null; error: string | null }

type Post = { headers: Record<string, string>; body: string; signal: AbortSignal }

const TIMEOUT_MS = 10_000

/**
 * Posts JSON to an address of the operator. Any 2xx means taken: the answer's body is not read, a redirect is not followed.
 * An address may hold a token, so that nothing of it, nor what the network said of it, is told.
 * @throws the signal's reason when that aborts.
 */
export async function send(post: typeof fetch, url: string, { headers, body, signal }: Post): Promise<Sent> {
  try {
    const response = await post(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    const { status } = response
    return { status, error: response.ok ? null : `answered ${status}` }
  } catch (error) {
    signal.throwIfAborted()
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return { status: null, error: isLate ? `did not answer within ${TIMEOUT_MS / 1000} s` : 'could not be reached' }
  }
}
