const PAUSE_MS = 5

/** Waits for a condition and returns what it gave. @throws Error naming `what` when it does not come true in time. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = 15_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== null && value !== false) return value
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`)
    await Bun.sleep(PAUSE_MS)
  }
}
