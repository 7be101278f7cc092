import { AppError } from '../../core/errors.ts'

const MEGABYTE = 1024 * 1024
/** Limits on bodies that are being received: bytes in memory and time per body. */
const LIMITS = {
  timeoutMs: 30_000,
  totalBytes: 128 * MEGABYTE,
  /** All unauthenticated clients together. */
  strangersBytes: 32 * MEGABYTE,
  /** One user including their agents. */
  holderBytes: 32 * MEGABYTE,
  /** One unauthenticated address. */
  strangerBytes: 8 * MEGABYTE,
}
const STRANGERS = 'strangers'

/** The owner of a body: a user, or the address of an unauthenticated client. */
export type Holder = { key: string; isKnown: boolean }

/** Limits the memory of request bodies that are being received; one instance per process. */
export type Bodies = {
  timeoutMs: number
  /** Starts counting one body: `add` counts received bytes, `close` releases them. */
  beginBody(holder: Holder): {
    /** @throws AppError `unavailable` with `Retry-After` when a limit is exceeded. */
    add(bytes: number): void
    close(): void
  }
  /** Returns the number of counted bytes. */
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
