const PAUSE_MS = 5
/** A guard against waiting for ever, nothing else: far longer than anything takes on the slowest machine. */
const LIMIT_MS = 120_000

/** Waits for a condition and returns what it gave. @throws Error naming `what` when it never comes true, or never answers. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = LIMIT_MS,
): Promise<NonNullable<T>> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`Waited ${timeoutMs} ms in vain: ${what}`)), timeoutMs)
  try {
    for (;;) {
      const value = await Promise.race([condition(), late])
      if (value !== undefined && value !== null && value !== false) return value
      await Bun.sleep(PAUSE_MS)
    }
  } finally {
    clearTimeout(timer)
  }
}
