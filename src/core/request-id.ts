import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'

/** The header that carries the request id from the client to the agent and back. */
export const REQUEST_ID_HEADER = 'x-request-id'
const HARMLESS = /^[\w.-]{8,64}$/

const current = new AsyncLocalStorage<string | undefined>()

/** Keeps a well-formed id of the caller, or creates one. */
export function toRequestId(given: string | null | undefined): string {
  return given && HARMLESS.test(given) ? given : randomUUID()
}

/** Runs `work` and everything it starts with the request id `id`; undefined for background work. */
export function inRequest<T>(id: string | undefined, work: () => T): T {
  return current.run(id, work)
}

/** Returns the id of the current request, for log lines and outgoing calls. */
export function currentRequestId(): string | undefined {
  return current.getStore()
}

/** Returns the header for outgoing calls; empty for background work. */
export function requestIdHeader(): Record<string, string> {
  const id = currentRequestId()
  return id === undefined ? {} : { [REQUEST_ID_HEADER]: id }
}
