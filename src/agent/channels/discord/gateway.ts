import type { REST } from '@discordjs/rest'
import { type SessionInfo, WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'
import { GatewayCloseCodes, type GatewayDispatchPayload, GatewayIntentBits } from 'discord-api-types/v10'
import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { orLate } from '../../../core/concurrency/or-late.ts'
import type { SessionFile } from './session.ts'

/**
 * Direct messages and those that mention the bot carry their text with these; what else is said on a server is none of the
 * agent's business, so the privileged intent for the text of messages is not asked for.
 */
const INTENTS = GatewayIntentBits.GuildMessages | GatewayIntentBits.DirectMessages
/** Any code but 1000 and 1001 lets the session live on, so that the next run is told what it missed. */
const CLOSE_TO_RESUME = 4200
const GOODBYE_MS = 2000

/** After these Discord answers nothing else until somebody changes something. */
const FINAL_CODES: ReadonlySet<number> = new Set([
  GatewayCloseCodes.AuthenticationFailed,
  GatewayCloseCodes.InvalidShard,
  GatewayCloseCodes.ShardingRequired,
  GatewayCloseCodes.InvalidAPIVersion,
  GatewayCloseCodes.InvalidIntents,
  GatewayCloseCodes.DisallowedIntents,
])

/** Discord has closed the gateway for good. */
export class GatewayRefusal extends Error {
  readonly code: number
  constructor(code: number) {
    super(describeClose(code))
    this.code = code
  }
}

/** Names the reason in words that say what to do. */
export function describeClose(code: number): string {
  switch (code) {
    case GatewayCloseCodes.AuthenticationFailed:
      return 'Discord refuses the token (4004 Authentication failed): set another one'
    case GatewayCloseCodes.DisallowedIntents:
      return 'Discord does not allow this bot its intents (4014 Disallowed intents): allow them in the developer portal, then start the agent anew'
    case GatewayCloseCodes.ShardingRequired:
      return 'The bot is on more servers than one connection may serve (4011 Sharding required)'
    default:
      return `Discord closed the connection (${code})`
  }
}

export type GatewayListener = {
  /** Ready or resumed. */
  connected(): void
  /** The library connects again by itself. */
  disconnected(code: number): void
  /** One after the other; what it throws ends the listening, and the event is delivered again. */
  dispatch(payload: GatewayDispatchPayload): Promise<void>
}

type Needs = { token: string; rest: REST; session: SessionFile; listener: GatewayListener; signal: AbortSignal }

/** Listens until `signal` aborts. @throws GatewayRefusal; what asking for the gateway or the listener throws. */
export async function listenToGateway({ token, rest, session, listener, signal }: Needs): Promise<void> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  let isEnded = false
  let current: SessionInfo | null = session.read()
  const manager = new WebSocketManager({
    token,
    rest,
    intents: INTENTS,
    shardCount: 1,
    retrieveSessionInfo: () => current,
    updateSessionInfo(_shardId, changed) {
      // Whoever goes away on purpose comes back to the same session.
      if (isEnded) return
      current = changed
      if (!changed) session.forget()
    },
  })
  const dispatches = new TaskQueue()
  const end = (settle: () => void) => {
    isEnded = true
    settle()
  }
  const fail = (error: unknown) => end(() => reject(error))
  manager.on(WebSocketShardEvents.Dispatch, (payload) => {
    const delivered = dispatches.run(async () => {
      if (isEnded) return
      await listener.dispatch(payload)
      if (current) session.confirm({ ...current, sequence: payload.s })
    })
    delivered.catch(fail)
  })
  manager.on(WebSocketShardEvents.Ready, () => listener.connected())
  manager.on(WebSocketShardEvents.Resumed, () => listener.connected())
  manager.on(WebSocketShardEvents.Closed, (code) => {
    if (isEnded) return
    if (FINAL_CODES.has(code)) fail(new GatewayRefusal(code))
    else listener.disconnected(code)
  })
  manager.on(WebSocketShardEvents.Error, fail)
  const stop = () => end(resolve)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  else manager.connect().catch(fail)
  try {
    await ended
  } finally {
    signal.removeEventListener('abort', stop)
    await orLate(sayGoodbye(manager), GOODBYE_MS, undefined)
    await session.settle()
  }
}

/** What goes wrong now is of no use to anybody. */
async function sayGoodbye(manager: WebSocketManager): Promise<void> {
  try {
    await manager.destroy({ code: CLOSE_TO_RESUME })
  } catch {}
}
