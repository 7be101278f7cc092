import { AppError } from '../../core/errors.ts'

const MEGABYTE = 1024 * 1024
/** How many bytes of unfinished request bodies may be in memory, and how long one body may take. */
const LIMITS = {
  timeoutMs: 30_000,
  totalBytes: 128 * MEGABYTE,
  /** All callers whom no guard has identified, so that they cannot use up what the others need. */
  strangersBytes: 32 * MEGABYTE,
  /** One user, with all their agents. */
  holderBytes: 32 * MEGABYTE,
  /** One address without a name. */
  strangerBytes: 8 * MEGABYTE,
}
const STRANGERS = 'strangers'

/** Whose body it is: a user, or the address of somebody unknown. */
export type Holder = { key: string; isKnown: boolean }

/** Limits the bytes of unfinished request bodies; one for the whole program. */
export type Bodies = {
  timeoutMs: number
  /** Opens one body: `add` counts bytes as they come, `close` gives all of them back. */
  beginBody(holder: Holder): {
    /** @throws AppError `unavailable` with `Retry-After` when they would exceed a limit. */
    add(bytes: number): void
    close(): void
  }
  /** How many bytes are counted now. */
  bytesUnderWay(): number
}

export function createBodies(limits: Partial<typeof LIMITS> = {}): Bodies {
  const { timeoutMs, totalBytes, strangersBytes, holderBytes, strangerBytes } = { ...LIMITS, ...limits }
  const taken = new Map<string, number>()
  let totalTaken = 0

  const accountsOf = ({ key, isKnown }: Holder): [name: string, limit: number][] =>
    isKnown
      ? [[`user ${key}`, holderBytes]]
      : [
          [STRANGERS, strangersBytes],
          [`address ${key}`, strangerBytes],
        ]
  return {
    timeoutMs,
    beginBody(holder) {
      const accounts = accountsOf(holder)
      let own = 0
      return {
        add(bytes) {
          const isFull = accounts.some(([name, limit]) => (taken.get(name) ?? 0) + bytes > limit)
          if (isFull || totalTaken + bytes > totalBytes) {
            throw new AppError('unavailable', 'Too many request bodies are under way', { retryAfter: '1' })
          }
          for (const [name] of accounts) taken.set(name, (taken.get(name) ?? 0) + bytes)
          totalTaken += bytes
          own += bytes
        },
        close() {
          for (const [name] of accounts) {
            const left = (taken.get(name) ?? 0) - own
            if (left > 0) taken.set(name, left)
            else taken.delete(name)
          }
          totalTaken -= own
          own = 0
        },
      }
    },
    bytesUnderWay: () => totalTaken,
  }
}
