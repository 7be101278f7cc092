/**
 * Polling slows down with the time waited, because many tests wait at once and polling costs the CPU time they wait
 * for.
 */
const PAUSE_MS = { shortest: 5, longest: 50, share: 1 / 20 }
/** Timeout, far longer than any step on the slowest machine. */
const LIMIT_MS = 120_000

/**
 * Polls `condition` until it returns a value other than undefined, null or false. @throws Error naming `what` after
 * `timeoutMs`.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = LIMIT_MS,
): Promise<NonNullable<T>> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const startedAt = performance.now()
  const timer = setTimeout(() => reject(new Error(`Timed out after ${timeoutMs} ms: ${what}`)), timeoutMs)
  try {
    for (;;) {
      const value = await Promise.race([condition(), late])
      if (value !== undefined && value !== null && value !== false) return value
      const pauseMs = (performance.now() - startedAt) * PAUSE_MS.share
      await Bun.sleep(Math.max(PAUSE_MS.shortest, Math.min(pauseMs, PAUSE_MS.longest)))
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the error with which `work` fails. @throws Error when it succeeds. */
export async function failureOf(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('Expected an error')
}
