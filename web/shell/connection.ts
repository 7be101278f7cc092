import { useSyncExternalStore } from 'react'
import { ApiError } from '../api/request.ts'

/** Interval of reconnection checks. */
const LOOK_MS = 3_000

let isLost = false
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

/**
 * Marks the connection as lost after an unanswered request, until the server is reachable again. `reload` then loads
 * what changed meanwhile.
 */
export function noteAnswer(error: unknown, reload?: () => Promise<void>): void {
  const isUnanswered = error instanceof ApiError && error.status === 0
  setLost(isUnanswered)
  if (isUnanswered) timer ??= setInterval(() => void look(reload), LOOK_MS)
}

export function useIsLost(): boolean {
  const isUnanswered = useSyncExternalStore(listen, () => isLost)
  const isOnline = useSyncExternalStore(listenToNetwork, () => navigator.onLine)
  return isUnanswered || !isOnline
}

async function look(reload?: () => Promise<void>): Promise<void> {
  try {
    const { ok } = await fetch('/healthz', { signal: AbortSignal.timeout(LOOK_MS) })
    if (!ok) return
  } catch {
    return
  }
  setLost(false)
  await reload?.()
}

function setLost(next: boolean): void {
  if (!next) {
    clearInterval(timer)
    timer = undefined
  }
  if (next === isLost) return
  isLost = next
  for (const notify of listeners) notify()
}

function listen(onChange: () => void): () => void {
  listeners.add(onChange)
  return () => listeners.delete(onChange)
}

function listenToNetwork(onChange: () => void): () => void {
  addEventListener('online', onChange)
  addEventListener('offline', onChange)
  return () => {
    removeEventListener('online', onChange)
    removeEventListener('offline', onChange)
  }
}
