/** A listener with more waiting events is too slow; the oldest are dropped. */
const MAX_WAITING = 1000

/** Delivers every event to all current listeners. */
type EventBroadcast<T> = {
  publish(event: T): void
  /** Yields the events from now on, until `signal` aborts or the broadcast ends. */
  listen(signal: AbortSignal): AsyncIterable<T>
  end(): void
}

export function createBroadcast<T>(): EventBroadcast<T> {
  const listeners = new Set<{ waiting: T[]; wake: () => void }>()
  let hasEnded = false

  async function* drain(listener: { waiting: T[]; wake: () => void }, signal: AbortSignal): AsyncGenerator<T, void> {
    const wake = () => listener.wake()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted) {
        yield* listener.waiting.splice(0)
        if (hasEnded) return
        if (listener.waiting.length > 0 || signal.aborted) continue
        await new Promise<void>((resolve) => {
          listener.wake = resolve
        })
      }
    } finally {
      signal.removeEventListener('abort', wake)
      listeners.delete(listener)
    }
  }

  return {
    publish(event) {
      for (const listener of listeners) {
        listener.waiting.push(event)
        if (listener.waiting.length > MAX_WAITING) listener.waiting.shift()
        listener.wake()
      }
    },
    listen(signal) {
      const listener = { waiting: [], wake: () => {} }
      listeners.add(listener)
      return drain(listener, signal)
    },
    end() {
      hasEnded = true
      for (const listener of listeners) listener.wake()
    },
  }
}
