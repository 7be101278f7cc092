import { AppError } from '../core/errors.ts'

const MEGABYTE = 1024 * 1024
/** What of request bodies may lie in memory before they are whole, and how long one may take in all. */
const LIMITS = {
  timeoutMs: 30_000,
  totalBytes: 128 * MEGABYTE,
  /** What everybody whom no guard knows shares: they cannot take the room of those who are known. */
  strangersBytes: 32 * MEGABYTE,
  /** One user, with all their agents. */
  holderBytes: 32 * MEGABYTE,
  /** One address without a name. */
  strangerBytes: 8 * MEGABYTE,
}
const STRANGERS = 'strangers'

/** Whose body it is: a user, or the address of somebody unknown. */
export type Holder = { key: string; isKnown: boolean }

/** The room for bodies that are under way. One for the whole program. */
export type Bodies = {
  timeoutMs: number
  /** Opens one body: `add` counts bytes as they come, `close` gives all of them back. */
  open(holder: Holder): {
    /** @throws AppError `unavailable` with `Retry-After` when there is no room for them. */
    add(bytes: number): void
    close(): void
  }
  /** What is counted now. */
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
    open(holder) {
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
