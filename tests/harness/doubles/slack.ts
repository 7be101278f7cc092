import { z } from 'zod'

type Answer = { status?: number; body: object; headers?: Record<string, string> }
type Socket = Bun.ServerWebSocket<{ app: ReturnType<typeof createApp> }>
type User = { id: string; name: string; real_name?: string }
/** A message of the app as users see it, with all its revisions. */
type Button = { label: string; value: string }
type Shown = { ts: string; channel: string; text: string; texts: string[]; thread: string | null; buttons: Button[] }
type Sent = { id: string; type: 'events_api' | 'interactive'; payload: object; isConfirmed: boolean }

const Text = z.object({ type: z.literal('plain_text'), text: z.string().min(1).max(3000) })
const Blocks = z.array(
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('section'), text: Text }),
    z.object({
      type: z.literal('actions'),
      elements: z.array(
        z.object({
          type: z.literal('button'),
          text: Text,
          action_id: z.string().max(255),
          value: z.string().max(2000),
        }),
      ),
    }),
  ]),
)
/** Forms carry lists as JSON. */
const InForm = z
  .string()
  .transform((text) => JSON.parse(text))
  .pipe(Blocks)
  .default([])
const Post = z.object({ channel: z.string(), text: z.string(), thread_ts: z.string().optional(), blocks: InForm })
const Update = z.object({ channel: z.string(), ts: z.string(), text: z.string(), blocks: InForm })
const Ephemeral = z.object({ channel: z.string(), user: z.string(), text: z.string().min(1) })

const MAX_UPDATE_CHARS = 4000
const OWN_ID = 'U0BOT'

/** Starts Slack's HTTP and WebSocket API on loopback for the apps that a test adds. Call `stop` at the end. */
export function startSlackDouble() {
  const apps = new Set<ReturnType<typeof createApp>>()
  const server = Bun.serve<Socket['data']>({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request, self) {
      const { pathname, searchParams } = new URL(request.url)
      const ticket = searchParams.get('ticket')
      const opened = ticket === null ? undefined : [...apps].find((app) => app.redeem(ticket))
      if (opened && self.upgrade(request, { data: { app: opened } })) return
      const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
      const app = [...apps].find(({ tokens }) => tokens.includes(token))
      if (pathname.startsWith('/files/')) return app?.download(pathname) ?? Response.redirect('/login')
      const method = pathname.replace('/api/', '')
      const fields = new URLSearchParams(await request.text())
      if (!app) return Response.json({ ok: false, error: 'invalid_auth' })
      const { status = 200, body, headers = {} } = app.answer(method, token, Object.fromEntries(fields), self.port ?? 0)
      return Response.json(body, { status, headers })
    },
    websocket: {
      open: (socket) => socket.data.app.join(socket),
      message: (socket, data) => socket.data.app.confirm(String(data)),
      close: (socket) => socket.data.app.leave(socket),
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    addApp(botToken: string, appToken: string) {
      const app = createApp(botToken, appToken, `http://127.0.0.1:${server.port}`)
      apps.add(app)
      return app
    },
    stop: () => server.stop(true),
  }
}

function createApp(botToken: string, appToken: string, url: string) {
  const shown: Shown[] = []
  const calls: string[] = []
  const faults = new Map<string, Answer[]>()
  const files = new Map<string, Uint8Array>()
  const users = new Map<string, User>()
  const sockets = new Set<Socket>()
  const tickets = new Set<string>()
  const sent: Sent[] = []
  const ephemeralTexts: string[] = []
  let tokens = [botToken, appToken]
  let lastTs = 1_700_000_000
  const newTs = () => {
    lastTs += 1
    return `${lastTs}.000100`
  }
  const offer = (one: Sent, retry = 0) => {
    const [socket] = sockets
    socket?.send(
      JSON.stringify({
        type: one.type,
        envelope_id: one.id,
        payload: one.payload,
        accepts_response_payload: false,
        retry_attempt: retry,
      }),
    )
  }
  const deliver = (event: Record<string, unknown>) => deliverPayload('events_api', { type: 'event_callback', event })
  const deliverPayload = (type: Sent['type'], payload: object) => {
    const one = { id: crypto.randomUUID(), type, payload, isConfirmed: false }
    sent.push(one)
    offer(one)
  }
  const post = (input: unknown): Answer => {
    const { channel, text, thread_ts: thread = null, blocks } = Post.parse(input)
    if (text.trim() === '') return refuse('no_text')
    const ts = newTs()
    shown.push({ ts, channel, text, texts: [text], thread, buttons: toButtons(blocks) })
    return { body: { ok: true, channel, ts } }
  }
  const update = (input: unknown): Answer => {
    const { channel, ts, text, blocks } = Update.parse(input)
    const message = shown.find((one) => one.channel === channel && one.ts === ts)
    if (!message) return refuse('message_not_found')
    if (text.length > MAX_UPDATE_CHARS) return refuse('msg_too_long')
    message.text = text
    message.buttons = toButtons(blocks)
    message.texts.push(text)
    return { body: { ok: true, channel, ts, text } }
  }
  const openSocket = (token: string, port: number): Answer => {
    if (token !== appToken) return refuse('not_allowed_token_type')
    const ticket = crypto.randomUUID()
    tickets.add(ticket)
    return { body: { ok: true, url: `ws://127.0.0.1:${port}/link/?ticket=${ticket}` } }
  }

  return {
    ownId: OWN_ID,
    shown,
    calls,
    get tokens() {
      return tokens
    },
    textsIn: (channel: string) => shown.filter((one) => one.channel === channel).map(({ text }) => text),
    directChannelOf: (user: User) => `D${user.id.slice(1)}`,
    /** Unacknowledged events. */
    unconfirmed: () => sent.filter(({ isConfirmed }) => !isConfirmed).length,
    connections: () => sockets.size,
    failNext(method: string, answer: Answer) {
      faults.set(method, [...(faults.get(method) ?? []), answer])
    },
    refuseNext(method: string, error: string) {
      this.failNext(method, refuse(error))
    },
    limitNext(method: string, seconds: number) {
      this.failNext(method, { status: 429, ...refuse('ratelimited'), headers: { 'retry-after': String(seconds) } })
    },
    addFile(name: string, bytes: Uint8Array) {
      files.set(`/files/${name}`, bytes)
      return { id: `F${files.size}`, name, url_private_download: `${url}/files/${name}` }
    },
    /** Revokes both tokens and disconnects the sockets. */
    revoke() {
      tokens = []
      for (const socket of [...sockets]) socket.close(1000)
    },
    /** Sends a direct message or a mention of the app; `more` adds fields. */
    say(from: User, text: string, channel?: string, more: object = {}): string {
      users.set(from.id, from)
      const ts = newTs()
      const place = channel === undefined ? { channel: this.directChannelOf(from), channel_type: 'im' } : { channel }
      const isMention = channel !== undefined && text.includes(`<@${OWN_ID}>`)
      const event = { user: from.id, text, ts, ...place, ...more }
      // Slack sends both events to an app in the channel.
      if (channel !== undefined) deliver({ type: 'message', channel_type: 'channel', ...event })
      if (channel === undefined || isMention)
        deliver({ type: channel === undefined ? 'message' : 'app_mention', ...event })
      return ts
    },
    /** Ephemeral messages of the app. */
    ephemeralTexts,
    /** Clicks a button of a message. */
    press(from: User, { ts, channel, text, buttons }: Shown, label: string) {
      const value = buttons.find((button) => button.label === label)?.value
      deliverPayload('interactive', {
        type: 'block_actions',
        user: { id: from.id },
        channel: { id: channel },
        message: { type: 'message', ts, text },
        actions: [{ type: 'button', action_id: value, value }],
      })
    },
    /** Redelivers the last event, as Slack does without an acknowledgement. */
    redeliver() {
      const last = sent.at(-1)
      if (last) offer(last, 1)
    },
    /** Sends a `disconnect` message, as Slack does before it closes a socket. */
    askToDisconnect(reason: 'warning' | 'refresh_requested' | 'link_disabled') {
      for (const socket of sockets) socket.send(JSON.stringify({ type: 'disconnect', reason }))
    },
    breakConnections() {
      for (const socket of [...sockets]) socket.terminate()
    },
    redeem: (ticket: string) => tickets.delete(ticket),
    join(socket: Socket) {
      sockets.add(socket)
      socket.send(JSON.stringify({ type: 'hello', num_connections: sockets.size, connection_info: { app_id: 'A1' } }))
      for (const one of sent.filter(({ isConfirmed }) => !isConfirmed)) offer(one, 1)
    },
    leave: (socket: Socket) => void sockets.delete(socket),
    confirm(text: string) {
      const { envelope_id: id } = z.object({ envelope_id: z.string() }).parse(JSON.parse(text))
      for (const one of sent) if (one.id === id) one.isConfirmed = true
    },
    download(path: string): Response | null {
      const bytes = files.get(path)
      return bytes ? new Response(Buffer.from(bytes)) : null
    },
    answer(method: string, token: string, fields: unknown, port: number): Answer {
      calls.push(method)
      const fault = faults.get(method)?.shift()
      if (fault) return fault
      if (method === 'apps.connections.open') return openSocket(token, port)
      if (token !== botToken) return refuse('not_allowed_token_type')
      switch (method) {
        case 'auth.test':
          return { body: { ok: true, user_id: OWN_ID, user: 'ada_bot', team: 'Loop' } }
        case 'chat.postMessage':
          return post(fields)
        case 'chat.update':
          return update(fields)
        case 'chat.postEphemeral':
          ephemeralTexts.push(Ephemeral.parse(fields).text)
          return { body: { ok: true, message_ts: newTs() } }
        case 'users.info': {
          const user = users.get(z.object({ user: z.string() }).parse(fields).user)
          return user ? { body: { ok: true, user } } : refuse('user_not_found')
        }
        case 'conversations.open': {
          const { users: userId } = z.object({ users: z.string() }).parse(fields)
          return { body: { ok: true, channel: { id: `D${userId.slice(1)}` } } }
        }
        default:
          return refuse('unknown_method')
      }
    },
  }
}

function toButtons(blocks: z.infer<typeof Blocks>): Button[] {
  return blocks.flatMap((block) =>
    block.type === 'actions' ? block.elements.map(({ text, value }) => ({ label: text.text, value })) : [],
  )
}

function refuse(error: string) {
  return { body: { ok: false, error } }
}
