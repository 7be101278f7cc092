import type { Context } from 'hono'
import type { SocketHandler } from '../core/web-socket.ts'
import type { Tx } from '../db/open.ts'
import type { Bodies } from './bodies/unfinished.ts'

/** The three APIs, one per listener. */
export type ApiName = 'web' | 'backend' | 'summarizer'

/** The signed-in user as stored now. `plan` is `free` for no plan. */
export type SignedInUser = {
  id: string
  email: string
  name: string
  isAdmin: boolean
  plan: string
  /** Null unless the subscription is active. */
  subscriptionId: string | null
}

/** The caller of a backend route. `operator` holds the internal key and may access every row. */
export type Principal = { kind: 'operator' } | { kind: 'user'; user: SignedInUser }

/** Bindings that a listener passes to `app.fetch`. */
export type Bindings = {
  api: ApiName
  /** The client's address behind trusted proxies; null without a socket. */
  address: string | null
  /**
   * Keeps a connection open beyond the idle timeout; with `stalledSeconds` until the client reads nothing for that
   * long.
   */
  keepOpen?: (request: Request, stalledSeconds?: number) => void
  /** Makes the connection of the request a WebSocket; false for a request that is no handshake. */
  upgrade?: (handler: SocketHandler) => boolean
  /** Aborts when the server stops, to end streams. */
  stopping?: AbortSignal
}

/**
 * An idempotent request (`http/idempotency.ts`). `made` refers to what an attempt interrupted by a crash had created;
 * `note` records the reference in the transaction that creates it.
 */
export type Once = { made: string | null; note: (tx: Tx, reference: string) => void }
/** Variables set by `idempotency`. */
export type OnceEnv = { Variables: { once: Once } }

/** The account that pays for a public request; null for callers without an account. */
export type PayerEnv = { Variables: { payer: SignedInUser | null } }

/** The state of a rate limit after counting a request. */
export type RateStanding = { limit: number; remaining: number; resetMs: number }

/** Answers an error in the form of one API, such as OpenAI's. */
export type AnswerError = (error: Error, c: Context) => Response | Promise<Response>

/**
 * `shownLimit` is the rate limit in the response headers. `holder` is the id of the authenticated user. The other
 * variables belong to `http/bodies/body.ts`.
 */
type BaseVariables = {
  requestId: string
  answerError?: AnswerError | undefined
  shownLimit?: RateStanding
  holder?: string
  bodies?: Bodies
  receivedBody?: Promise<Uint8Array>
  /** The body before JSON was checked. */
  readBody?: Promise<Uint8Array>
  isBodyWhole?: boolean
  /** The text of a JSON body. */
  receivedText?: string
}
export type BaseEnv = { Bindings: Bindings; Variables: BaseVariables }
export type WebEnv = BaseEnv & { Variables: { user: SignedInUser } }
export type BackendEnv = BaseEnv & { Variables: { principal: Principal } }
