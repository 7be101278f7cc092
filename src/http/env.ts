import type { Tx } from '../db/open.ts'
import type { Bodies } from './bodies/unfinished.ts'

/** The three listeners; each calls the one app with its own face. */
export type ApiName = 'web' | 'backend' | 'summarizer'

/** Who is signed in, as the database knows them now. `plan` is `free` for no plan. */
export type SignedInUser = {
  id: string
  email: string
  name: string
  isAdmin: boolean
  plan: string
  /** Null unless the subscription is active. */
  subscriptionId: string | null
}

/** On whose behalf a backend route acts. `operator` holds the internal key and may see every row. */
export type Principal = { kind: 'operator' } | { kind: 'user'; user: SignedInUser }

/** What a listener hands to `app.fetch` beside the request. */
export type Bindings = {
  api: ApiName
  /** Address of the caller, proxies taken into account; null when there is no socket. */
  address: string | null
  /** Keeps a stream open past the server's idle timeout; with `stalledSeconds` until the client takes nothing for so long. */
  keepOpen?: (request: Request, stalledSeconds?: number) => void
  /** Aborts when the server stops: what would stream for ever ends then. */
  stopping?: AbortSignal
}

/**
 * A request that is made once only (`http/idempotency.ts`). `made` is what a first attempt had made when a crash cut it
 * short; `note` says what this one makes, in the closure that makes it.
 */
export type Once = { made: string | null; note: (tx: Tx, reference: string) => void }
/** What handlers behind `idempotency` find. */
export type OnceEnv = { Variables: { once: Once } }

/** Who pays for a request that anybody may make: null for somebody without an account. */
export type PayerEnv = { Variables: { payer: SignedInUser | null } }

/** How one rate limit stands after a request was counted. */
export type RateStanding = { limit: number; remaining: number; resetTime: Date | undefined }

/**
 * `rateLimit` is the count of the limiter that ran last, `shownLimit` the one that the headers tell. `holder` is the id of
 * the user whose request it is, set by the guard that identifies them. The rest belongs to `http/bodies/body.ts`.
 */
type BaseVariables = {
  requestId: string
  rateLimit?: RateStanding
  shownLimit?: RateStanding
  holder?: string
  bodies?: Bodies
  receivedBody?: Promise<Uint8Array>
  /** The same as `receivedBody`, before JSON was looked at. */
  readBody?: Promise<Uint8Array>
  isBodyWhole?: boolean
}
export type BaseEnv = { Bindings: Bindings; Variables: BaseVariables }
export type WebEnv = BaseEnv & { Variables: { user: SignedInUser } }
export type BackendEnv = BaseEnv & { Variables: { principal: Principal } }
