import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import { NotRunningError } from '../exit.ts'

const Refusal = z.object({ error: z.string() })
/** Deployments respond within 15 s, agent turns within minutes. */
const TIMEOUT_MS = 10 * 60_000
const LONGEST_WAIT_SECONDS = 60
const MOST_REFUSALS = 3

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Client of a server's web API, signed in. */
export type ServerClient = {
  /**
   * Sends a request and parses the JSON response.
   * @throws AppError with the server's message, NotRunningError when the server does not answer.
   */
  ask<T>(schema: z.ZodType<T>, method: Method, path: string, body?: unknown): Promise<T>
  /** Sends a request and returns the response, for streams. @throws as `ask`. */
  stream(path: string, signal: AbortSignal): Promise<Response>
}

export function createServerClient(baseUrl: string, headers: Record<string, string>): ServerClient {
  const send = async (path: string, init: () => RequestInit) => {
    const ask = () =>
      fetch(`${baseUrl}${path}`, { ...init(), redirect: 'manual' }).catch((cause) => {
        throw new NotRunningError(`no Stead answers at ${baseUrl} (${errorMessage(cause)})`, { cause })
      })
    const response = await askWithinRate(ask)
    if (response.ok) return response
    const refusal = Refusal.safeParse(await response.json().catch(() => null))
    if (refusal.success) throw new AppError('invalid', `${refusal.data.error} (${response.status})`)
    throw new AppError('invalid', `${baseUrl} answered ${response.status}: is it the address of a Stead dashboard?`)
  }
  return {
    async ask(schema, method, path, body) {
      const response = await send(path, () => ({
        method,
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }))
      const parsed = schema.safeParse(await response.json().catch(() => null))
      if (parsed.success) return parsed.data
      throw new AppError('upstream_failed', `${baseUrl}${path} answered what no Stead of this version says`)
    },
    stream: (path, signal) => send(path, () => ({ headers, signal })),
  }
}

/** Waits and retries after a rate limit, which a large fleet exceeds. */
async function askWithinRate(ask: () => Promise<Response>): Promise<Response> {
  for (let refusals = 0; ; refusals++) {
    const response = await ask()
    const waitSeconds = response.status === 429 ? Number(response.headers.get('retry-after') ?? Number.NaN) : Number.NaN
    if (!(waitSeconds <= LONGEST_WAIT_SECONDS) || refusals === MOST_REFUSALS) return response
    await response.body?.cancel()
    await pause(Math.max(1, waitSeconds) * 1000)
  }
}
