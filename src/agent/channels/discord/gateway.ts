import { join } from 'node:path'
import type { REST } from '@discordjs/rest'
import { type SessionInfo, WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'
import { GatewayCloseCodes, type GatewayDispatchPayload, GatewayIntentBits } from 'discord-api-types/v10'
import { z } from 'zod'
import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { orLate } from '../../../core/concurrency/race.ts'
import { openStateFile } from '../../state/files.ts'

/**
 * These intents include the text of direct messages and of mentions, so the privileged message content intent is not
 * needed.
 */
const INTENTS = GatewayIntentBits.GuildMessages | GatewayIntentBits.DirectMessages
/** Any close code other than 1000 and 1001 keeps the session, so the next run receives missed events. */
const CLOSE_TO_RESUME = 4200
const GOODBYE_MS = 2000

/** Close codes that persist until the bot's settings change. */
const FINAL_CODES: ReadonlySet<number> = new Set([
  GatewayCloseCodes.AuthenticationFailed,
  GatewayCloseCodes.InvalidShard,
  GatewayCloseCodes.ShardingRequired,
  GatewayCloseCodes.InvalidAPIVersion,
  GatewayCloseCodes.InvalidIntents,
  GatewayCloseCodes.DisallowedIntents,
])

export class GatewayRefusal extends Error {
  readonly code: number
  constructor(code: number) {
    super(describeClose(code))
    this.code = code
  }
}

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

type GatewayListener = {
  /** Called when the session is ready or resumed. */
  connected(): void
  /** Called when the connection is lost; the library reconnects by itself. */
  disconnected(code: number): void
  /** Handles events in order. A rejection ends the connection, and Discord delivers the event again. */
  dispatch(payload: GatewayDispatchPayload): Promise<void>
}

type Needs = { token: string; rest: REST; session: SessionFile; listener: GatewayListener; signal: AbortSignal }

/** Listens until `signal` aborts. @throws GatewayRefusal; the errors of the gateway request and of the listener. */
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
      // An intended disconnect keeps the session for the next run.
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

/** Errors are ignored: the connection is closing anyway. */
async function sayGoodbye(manager: WebSocketManager): Promise<void> {
  try {
    await manager.destroy({ code: CLOSE_TO_RESUME })
  } catch {}
}

const Session = z.object({
  resumeURL: z.string(),
  sequence: z.number(),
  sessionId: z.string(),
  shardCount: z.number(),
  shardId: z.number(),
})
const SessionState = z.object({ session: Session.nullable() })

/** The gateway session and the last handled event, on disk: Discord delivers the events after it again. */
type SessionFile = {
  read(): SessionInfo | null
  /** Marks events up to `sequence` as handled. On a busy server only the newest of several is written. */
  confirm(session: SessionInfo): void
  forget(): void
  /** Resolves when the latest value is on disk. @throws NodeJS.ErrnoException */
  settle(): Promise<void>
}

export async function openSessionFile(folder: string): Promise<SessionFile> {
  const file = await openStateFile(join(folder, 'discord-session.json'), SessionState, { session: null })
  let newest = file.read().session
  let writing: Promise<void> | null = null
  const writeNewest = async () => {
    while (file.read().session !== newest) await file.change(() => ({ state: { session: newest }, result: undefined }))
  }
  const keep = (session: SessionInfo | null) => {
    newest = session
    writing ??= writeNewest().finally(() => {
      writing = null
    })
    // A failed write only causes repeated deliveries; storing the message itself reports a full disk.
    writing.catch(() => undefined)
  }
  return {
    read: () => newest,
    confirm: keep,
    forget: () => keep(null),
    async settle() {
      await writing
    },
  }
}
