import { AppError } from '../errors.ts'

/** Limits how many callers hold a permit; the others wait in call order. */
export type Semaphore = {
  /** @throws AppError `unavailable` when too many callers wait, or the signal's reason. */
  acquire(signal?: AbortSignal): Promise<void>
  release(): void
}

export function createSemaphore(permits: number, maxWaiting: number): Semaphore {
  const waiting = new Set<() => void>()
  let free = permits
  return {
    acquire(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (free > 0) {
        free -= 1
        return Promise.resolve()
      }
      if (waiting.size >= maxWaiting) {
        return Promise.reject(new AppError('unavailable', 'The server is busy, try again in a moment'))
      }
      return new Promise((resolve, reject) => {
        const start = () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        }
        const abort = () => {
          waiting.delete(start)
          reject(signal?.reason)
        }
        waiting.add(start)
        signal?.addEventListener('abort', abort, { once: true })
      })
    },
    release() {
      const [next] = waiting
      if (!next) {
        free += 1
        return
      }
      waiting.delete(next)
      next()
    },
  }
}
