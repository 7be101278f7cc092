import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'

/** The header that carries a request's id, from whoever asked first to the agent and back to the platform. */
export const REQUEST_ID_HEADER = 'x-request-id'
const HARMLESS = /^[\w.-]{8,64}$/

const current = new AsyncLocalStorage<string | undefined>()

/** A caller's own id when it is harmless, else a new one. */
export function toRequestId(given: string | null | undefined): string {
  return given && HARMLESS.test(given) ? given : randomUUID()
}

/** Runs `work`, and all that it begins, for the request `id`; undefined for work that nobody's request is the reason of. */
export function inRequest<T>(id: string | undefined, work: () => T): T {
  return current.run(id, work)
}

/** The request that the present work is done for, for lines of the log and for calls of ours that belong to it. */
export function currentRequestId(): string | undefined {
  return current.getStore()
}

/** The header for such a call; none for work of our own. */
export function requestIdHeader(): Record<string, string> {
  const id = currentRequestId()
  return id === undefined ? {} : { [REQUEST_ID_HEADER]: id }
}
