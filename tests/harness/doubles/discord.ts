import { GatewayCloseCodes, GatewayDispatchEvents, GatewayIntentBits, GatewayOpcodes } from 'discord-api-types/v10'
import { z } from 'zod'

type Answer = { status: number; body: object; headers?: Record<string, string> }
type Event = { op: number; s: number; t: string; d: Record<string, unknown> }
/** A session collects events while no client is connected. */
type Session = { id: string; events: Event[]; intents: number }
type Socket = Bun.ServerWebSocket<{ bot: ReturnType<typeof createBot> | null; session: Session | null }>
type User = { id: string; username: string; global_name?: string }
/** A message of the bot as users see it, with all its revisions. */
type Shown = {
  id: string
  channelId: string
  text: string
  texts: string[]
  times: number[]
  answerTo: string | null
  buttons: Button[]
}
/** `serverId` is set in a server channel; `more` are further fields of the message. */
type Said = { channelId?: string; serverId?: string; mentions?: User[]; more?: object }

const Button = z.object({ type: z.literal(2), label: z.string(), custom_id: z.string().max(100) })
type Button = z.infer<typeof Button>
const Rows = z.array(z.object({ type: z.literal(1), components: z.array(Button) }))

const Post = z.object({
  components: Rows.optional(),
  content: z.string(),
  nonce: z.string().optional(),
  enforce_nonce: z.boolean().optional(),
  message_reference: z.object({ message_id: z.string() }).optional(),
  allowed_mentions: z.object({ parse: z.array(z.string()).max(0) }),
})
const Patch = Post.pick({ content: true, allowed_mentions: true, components: true })
const Frame = z.object({ op: z.number(), d: z.unknown() })
const Identify = z.object({ token: z.string(), intents: z.number(), properties: z.object({ os: z.string() }) })
const Resume = z.object({ token: z.string(), session_id: z.string(), seq: z.number() })

const MAX_CHARS = 2000
const HEARTBEAT_MS = 41_250
const UNKNOWN_MESSAGE = 10_008
const PRIVILEGED = GatewayIntentBits.GuildMembers | GatewayIntentBits.GuildPresences | GatewayIntentBits.MessageContent

/** Starts Discord's HTTP and WebSocket API on loopback for the bots that a test adds. Call `stop` at the end. */
export function startDiscordDouble() {
  const bots = new Map<string, ReturnType<typeof createBot>>()
  const server = Bun.serve<Socket['data']>({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request, self) {
      const { pathname } = new URL(request.url)
      if (self.upgrade(request, { data: { bot: null, session: null } })) return
      if (pathname.startsWith('/files/')) return serveFile([...bots.values()], pathname)
      // An interaction is authorized by the token in its path.
      if (/^\/api\/v10\/interactions\//.test(pathname)) return new Response(null, { status: 204 })
      const token = /^Bot (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
      const path = /^\/api\/v10(\/.+)$/.exec(pathname)?.[1]
      const bot = bots.get(token)
      if (!bot) return toResponse({ status: 401, body: { message: '401: Unauthorized', code: 0 } })
      const text = await request.text()
      const body: unknown = text === '' ? {} : JSON.parse(text)
      return toResponse(bot.answer(`${request.method} ${path ?? pathname}`, body, `ws://127.0.0.1:${self.port}`))
    },
    websocket: {
      open: (socket) => void socket.send(toFrame(GatewayOpcodes.Hello, { heartbeat_interval: HEARTBEAT_MS })),
      message(socket, data) {
        const { op, d } = Frame.parse(JSON.parse(String(data)))
        if (op === GatewayOpcodes.Heartbeat) socket.send(toFrame(GatewayOpcodes.HeartbeatAck, null))
        if (op !== GatewayOpcodes.Identify && op !== GatewayOpcodes.Resume) return
        const bot = bots.get(z.object({ token: z.string() }).parse(d).token)
        if (!bot) return socket.close(GatewayCloseCodes.AuthenticationFailed, 'Authentication failed.')
        socket.data.bot = bot
        if (op === GatewayOpcodes.Identify) bot.identify(socket, Identify.parse(d), `ws://127.0.0.1:${server.port}`)
        else bot.resume(socket, Resume.parse(d))
      },
      close: (socket) => socket.data.bot?.leave(socket),
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    addBot(token: string, username = 'ada_bot') {
      const bot = createBot(username, `http://127.0.0.1:${server.port}`)
      bots.set(token, bot)
      return bot
    },
    /** Revokes the token and closes its connections. */
    revoke(token: string) {
      bots.get(token)?.closeAll(GatewayCloseCodes.AuthenticationFailed)
      bots.delete(token)
    },
    stop: () => server.stop(true),
  }
}

function createBot(username: string, url: string) {
  const me = { id: '4242424242424242424', username, discriminator: '0', bot: true, avatar: null }
  const shown: Shown[] = []
  const calls: string[] = []
  const faults = new Map<string, Answer[]>()
  const files = new Map<string, Uint8Array>()
  const nonces = new Map<string, string>()
  const sessions = new Map<string, Session>()
  const sockets = new Set<Socket>()
  const said = new Map<string, Record<string, unknown>>()
  let areIntentsAllowed = true
  let lastId = 1_000_000_000_000_000_000n
  const newId = () => {
    lastId += 1n
    return String(lastId)
  }

  const dispatch = (session: Session, t: string, d: Record<string, unknown>) => {
    const event = { op: GatewayOpcodes.Dispatch, s: session.events.length + 1, t, d }
    session.events.push(event)
    for (const socket of sockets) if (socket.data.session === session) socket.send(JSON.stringify(event))
  }
  const deliver = (message: Record<string, unknown>) => {
    for (const session of sessions.values()) {
      const isDirect = message.guild_id === undefined
      const wanted = isDirect ? GatewayIntentBits.DirectMessages : GatewayIntentBits.GuildMessages
      if ((session.intents & wanted) === 0) continue
      const isMentioned = (message.mentions as User[]).some(({ id }) => id === me.id)
      const isReadable = isDirect || isMentioned || (session.intents & GatewayIntentBits.MessageContent) !== 0
      dispatch(session, GatewayDispatchEvents.MessageCreate, {
        ...message,
        ...(!isReadable && { content: '', attachments: [] }),
      })
    }
  }
  const post = (channelId: string, input: unknown): Answer => {
    const body = Post.parse(input)
    const problem = checkText(body.content)
    if (problem) return problem
    const known = body.enforce_nonce && body.nonce ? nonces.get(body.nonce) : undefined
    if (known) return { status: 200, body: { id: known, channel_id: channelId } }
    const id = newId()
    if (body.nonce) nonces.set(body.nonce, id)
    const { content: text, message_reference: reference } = body
    const answerTo = reference?.message_id ?? null
    shown.push({
      id,
      channelId,
      text,
      texts: [text],
      times: [performance.now()],
      answerTo,
      buttons: toButtons(body.components),
    })
    return { status: 200, body: { id, channel_id: channelId, content: text, author: me } }
  }
  const patch = (channelId: string, id: string, input: unknown): Answer => {
    const { content, components } = Patch.parse(input)
    const problem = checkText(content)
    if (problem) return problem
    const message = shown.find((one) => one.channelId === channelId && one.id === id)
    if (!message) return { status: 404, body: { message: 'Unknown Message', code: UNKNOWN_MESSAGE } }
    message.text = content
    if (components) message.buttons = toButtons(components)
    message.texts.push(content)
    message.times.push(performance.now())
    return { status: 200, body: { id, channel_id: channelId, content, author: me } }
  }

  return {
    me,
    shown,
    /** Method and path of each request, without ids. */
    calls,
    files,
    textsIn: (channelId: string) => shown.filter((one) => one.channelId === channelId).map(({ text }) => text),
    directChannelOf: (user: User) => toDirectChannel(user.id),
    /** Number of identified sockets; their sessions can be resumed. */
    connections: () => sockets.size,
    sessions: () => sessions.size,
    /** Makes the next calls of a kind, such as `POST message`, fail. */
    failNext(kind: string, status: number, body: object, headers: Record<string, string> = {}) {
      faults.set(kind, [...(faults.get(kind) ?? []), { status, body, headers }])
    },
    /** Rejects the next call of a kind with status 429 and a retry time, as Discord does. */
    limitNext(kind: string, seconds: number) {
      this.failNext(
        kind,
        429,
        { message: 'You are being rate limited.', retry_after: seconds, global: false },
        {
          'retry-after': String(seconds),
          'x-ratelimit-scope': 'user',
        },
      )
    },
    clearFaults: () => faults.clear(),
    forbidIntents() {
      areIntentsAllowed = false
    },
    addFile(name: string, bytes: Uint8Array) {
      files.set(`/files/${name}`, bytes)
      return { id: newId(), filename: name, size: bytes.byteLength, url: `${url}/files/${name}`, proxy_url: '' }
    },
    /** Sends a user's message, a direct message unless `server` is given. @returns the message id. */
    say(from: User, content: string, { channelId, serverId, mentions = [], more }: Said = {}): string {
      const id = newId()
      const message = {
        id,
        type: 0,
        channel_id: channelId ?? toDirectChannel(from.id),
        author: { discriminator: '0', avatar: null, global_name: null, ...from },
        content,
        timestamp: new Date().toISOString(),
        mentions,
        attachments: [],
        ...(serverId && { guild_id: serverId }),
        ...more,
      }
      said.set(id, message)
      deliver(message)
      return id
    },
    /** Clicks a button below a message of the bot. */
    press(from: User, message: Shown, label: string) {
      const button = message.buttons.find((one) => one.label === label)
      if (!button) throw new Error(`There is no button ${label}`)
      const below = { id: message.id, channel_id: message.channelId, content: message.text, author: me }
      const data = { custom_id: button.custom_id, component_type: 2 }
      const place = { channel_id: message.channelId, channel: { id: message.channelId, type: 1 } }
      const press = {
        id: newId(),
        token: `interaction-${message.id}`,
        type: 3,
        user: from,
        data,
        message: below,
        ...place,
      }
      for (const session of sessions.values()) dispatch(session, GatewayDispatchEvents.InteractionCreate, press)
    },
    /** Delivers a message a second time. */
    redeliver(id: string) {
      const message = said.get(id)
      if (!message) throw new Error(`No message ${id}`)
      deliver(message)
    },
    /** Closes every connection with `code`; sessions remain. */
    closeAll(code: number) {
      for (const socket of [...sockets]) socket.close(code)
    },
    /** Terminates every connection without a close frame. */
    breakConnections() {
      for (const socket of [...sockets]) socket.terminate()
    },
    askToReconnect() {
      for (const socket of sockets) socket.send(toFrame(GatewayOpcodes.Reconnect, null))
    },
    forgetSessions: () => sessions.clear(),
    identify(socket: Socket, { intents }: z.infer<typeof Identify>, gatewayUrl: string) {
      if ((intents & PRIVILEGED) !== 0 || !areIntentsAllowed) {
        return socket.close(GatewayCloseCodes.DisallowedIntents, 'Disallowed intent(s).')
      }
      const session = { id: crypto.randomUUID(), events: [], intents }
      sessions.set(session.id, session)
      socket.data.session = session
      sockets.add(socket)
      const ready = { v: 10, user: me, guilds: [], session_id: session.id, resume_gateway_url: gatewayUrl }
      dispatch(session, GatewayDispatchEvents.Ready, { ...ready, shard: [0, 1], application: { id: me.id, flags: 0 } })
    },
    resume(socket: Socket, { session_id: id, seq }: z.infer<typeof Resume>) {
      const session = sessions.get(id)
      if (!session) return void socket.send(toFrame(GatewayOpcodes.InvalidSession, false))
      if (seq > session.events.length) return socket.close(GatewayCloseCodes.InvalidSeq, 'Invalid seq.')
      socket.data.session = session
      sockets.add(socket)
      for (const event of session.events.filter(({ s }) => s > seq)) socket.send(JSON.stringify(event))
      dispatch(session, GatewayDispatchEvents.Resumed, {})
    },
    leave: (socket: Socket) => void sockets.delete(socket),
    answer(call: string, body: unknown, gatewayUrl: string): Answer {
      const [, channelId = '', messageId = ''] = /channels\/(\d+)(?:\/messages\/(\d+))?/.exec(call) ?? []
      const kind = toKind(call)
      calls.push(kind)
      const fault = faults.get(kind)?.shift()
      if (fault) return fault
      switch (kind) {
        case 'GET me':
          return { status: 200, body: me }
        case 'GET gateway':
          return {
            status: 200,
            body: {
              url: gatewayUrl,
              shards: 1,
              session_start_limit: { total: 1000, remaining: 999, reset_after: 1000, max_concurrency: 1 },
            },
          }
        case 'POST message':
          return post(channelId, body)
        case 'PATCH message':
          return patch(channelId, messageId, body)
        case 'POST typing':
          return { status: 204, body: {} }
        case 'POST direct':
          return {
            status: 200,
            body: { id: toDirectChannel(z.object({ recipient_id: z.string() }).parse(body).recipient_id), type: 1 },
          }
        default:
          return { status: 404, body: { message: '404: Not Found', code: 0 } }
      }
    },
  }
}

const KINDS: readonly [RegExp, string][] = [
  [/^GET \/users\/@me$/, 'GET me'],
  [/^GET \/gateway\/bot$/, 'GET gateway'],
  [/^POST \/channels\/\d+\/messages$/, 'POST message'],
  [/^PATCH \/channels\/\d+\/messages\/\d+$/, 'PATCH message'],
  [/^POST \/channels\/\d+\/typing$/, 'POST typing'],
  [/^POST \/users\/@me\/channels$/, 'POST direct'],
]

function toButtons(rows: z.infer<typeof Rows> = []): Button[] {
  return rows.flatMap(({ components }) => components)
}

function toKind(call: string): string {
  return KINDS.find(([pattern]) => pattern.test(call))?.[1] ?? call
}

function toDirectChannel(userId: string): string {
  return `9${userId.slice(1)}`
}

function checkText(text: string): Answer | null {
  const refuse = (why: string): Answer => ({
    status: 400,
    body: {
      message: 'Invalid Form Body',
      code: 50_035,
      errors: { content: { _errors: [{ code: why, message: why }] } },
    },
  })
  if (text.trim() === '') return { status: 400, body: { message: 'Cannot send an empty message', code: 50_006 } }
  return text.length > MAX_CHARS ? refuse('BASE_TYPE_MAX_LENGTH') : null
}

function serveFile(bots: readonly ReturnType<typeof createBot>[], path: string): Response {
  const bytes = bots.map(({ files }) => files.get(path)).find((found) => found !== undefined)
  return bytes ? new Response(Buffer.from(bytes)) : new Response('Not found', { status: 404 })
}

function toFrame(op: number, d: unknown): string {
  return JSON.stringify({ op, d, s: null, t: null })
}

function toResponse({ status, body, headers = {} }: Answer): Response {
  return status === 204 ? new Response(null, { status }) : Response.json(body, { status, headers })
}
