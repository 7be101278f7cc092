/** Seconds that an answer may stay in the cache at most: one day. */
export const MAX_CACHE_SECONDS = 86_400

/** Answers by the hash of their request, for a limited time and in limited memory. */
export type ResponseCache<Answer> = {
  find(key: string): Answer | null
  /** Stores an answer of `sizeBytes`; one that is too large is not stored. */
  store(key: string, answer: Answer, limits: { seconds: number; sizeBytes: number }): void
}

const MEBIBYTE = 1024 * 1024
const MAX_TOTAL_BYTES = 64 * MEBIBYTE
const MAX_ANSWER_BYTES = 2 * MEBIBYTE
/** Memory of an entry besides its answer: key, times and the map's own. */
const ENTRY_BYTES = 512

type Entry<Answer> = { answer: Answer; until: number; sizeBytes: number }

/** Keeps answers in memory, and drops the least recently used ones. `nowMs` must be monotonic. */
export function createResponseCache<Answer>(deps: { nowMs: () => number }): ResponseCache<Answer> {
  const entries = new Map<string, Entry<Answer>>()
  let totalBytes = 0

  const remove = (key: string) => {
    totalBytes -= entries.get(key)?.sizeBytes ?? 0
    entries.delete(key)
  }
  return {
    find(key) {
      const entry = entries.get(key)
      if (!entry) return null
      remove(key)
      if (entry.until <= deps.nowMs()) return null
      entries.set(key, entry)
      totalBytes += entry.sizeBytes
      return entry.answer
    },
    store(key, answer, limits) {
      const sizeBytes = limits.sizeBytes + ENTRY_BYTES
      if (sizeBytes > MAX_ANSWER_BYTES) return
      remove(key)
      entries.set(key, { answer, until: deps.nowMs() + limits.seconds * 1000, sizeBytes })
      totalBytes += sizeBytes
      for (const oldest of entries.keys()) {
        if (totalBytes <= MAX_TOTAL_BYTES) break
        remove(oldest)
      }
    },
  }
}
