import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { ApiError } from '../api/request.ts'

/** Between two looks whether the server is back. */
const LOOK_MS = 3_000

let isLost = false
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

/** Notes what became of a request: one that nobody answered means that the connection is lost, until the server is seen again. */
export function noteAnswer(client: QueryClient, error: unknown): void {
  const isUnanswered = error instanceof ApiError && error.status === 0
  setLost(isUnanswered)
  if (isUnanswered) timer ??= setInterval(() => void look(client), LOOK_MS)
}

/** Is the server out of reach? */
export function useIsLost(): boolean {
  const isUnanswered = useSyncExternalStore(listen, () => isLost)
  const isOnline = useSyncExternalStore(listenToNetwork, () => navigator.onLine)
  return isUnanswered || !isOnline
}

async function look(client: QueryClient): Promise<void> {
  try {
    const { ok } = await fetch('/healthz', { signal: AbortSignal.timeout(LOOK_MS) })
    if (!ok) return
  } catch {
    return
  }
  setLost(false)
  // What was missed meanwhile is read anew.
  await client.invalidateQueries()
}

function setLost(next: boolean): void {
  if (!next) {
    clearInterval(timer)
    timer = undefined
  }
  if (next === isLost) return
  isLost = next
  for (const tell of listeners) tell()
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
