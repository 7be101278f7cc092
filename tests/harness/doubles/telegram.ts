import { z } from 'zod'

const Chat = z.object({ id: z.number(), type: z.enum(['private', 'group', 'supergroup']) })
type Chat = z.infer<typeof Chat>
type Update = { update_id: number } & ({ message: object } | { callback_query: object })
/** A message of the bot as users see it, with all its revisions. */
type Shown = {
  id: number
  chatId: number
  text: string
  texts: string[]
  times: number[]
  answerTo: number | null
  buttons: Button[]
}
type Answer = { status: number; body: object }

const Button = z.object({ text: z.string(), callback_data: z.string().min(1).max(64) })
type Button = z.infer<typeof Button>

const GetUpdates = z.object({
  offset: z.number().default(0),
  limit: z.number().default(100),
  timeout: z.number().default(0),
})
const SendMessage = z.object({
  chat_id: z.coerce.number(),
  text: z.string(),
  reply_parameters: z.object({ message_id: z.number() }).optional(),
  reply_markup: z.object({ inline_keyboard: z.array(z.array(Button)) }).optional(),
})
const EditMessageText = z.object({ chat_id: z.coerce.number(), message_id: z.number(), text: z.string() })
const GetFile = z.object({ file_id: z.string() })

const MAX_CHARS = 4096
const MAX_FILE_BYTES = 20 * 1024 * 1024
const TOKEN = /^\d+:[\w-]+$/

/** Starts the Bot API on loopback for the bots that a test adds. Call `stop` at the end. */
export function startTelegramDouble() {
  const bots = new Map<string, ReturnType<typeof createBot>>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const [, isFile, token = '', rest = ''] = /^(\/file)?\/bot([^/]+)\/(.+)$/.exec(pathname) ?? []
      if (!TOKEN.test(token)) return toResponse(refuse(404, 'Not Found'))
      const bot = bots.get(token)
      if (!bot) return toResponse(refuse(401, 'Unauthorized'))
      if (isFile) return bot.download(rest)
      const text = await request.text()
      const answer = await bot.call(rest, text === '' ? {} : JSON.parse(text), request.signal)
      await bot.delay(rest)
      return toResponse(answer)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    addBot(token: string, username = 'ada_bot') {
      const bot = createBot(Number.parseInt(token, 10), username)
      bots.set(token, bot)
      return bot
    },
    /** Revokes the token. */
    revoke: (token: string) => bots.delete(token),
    stop: () => server.stop(true),
  }
}

function createBot(id: number, username: string) {
  const updates: Update[] = []
  const said = new Map<number, object>()
  const shown: Shown[] = []
  const calls: string[] = []
  const notes: string[] = []
  const faults = new Map<string, Answer[]>()
  const delays = new Map<string, number>()
  const files = new Map<string, { bytes: Uint8Array; path: string; sizeBytes: number }>()
  let lastUpdateId = 1000
  let lastMessageId = 0
  let endPoll: ((answer: Answer) => void) | null = null
  const wakes = new Set<() => void>()

  const me = { id, is_bot: true, first_name: 'Ada', username }

  const getUpdates = async (input: unknown, signal: AbortSignal): Promise<Answer> => {
    const { offset, limit, timeout } = GetUpdates.parse(input)
    // The latest long poll gets the updates.
    endPoll?.(
      refuse(409, 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running'),
    )
    endPoll = null
    while (updates[0] && updates[0].update_id < offset) updates.shift()
    if (updates.length > 0 || timeout === 0) return accept(updates.slice(0, limit))
    const { promise, resolve } = Promise.withResolvers<Answer>()
    endPoll = resolve
    const wake = () => resolve(accept(updates.slice(0, limit)))
    wakes.add(wake)
    const timer = setTimeout(wake, timeout * 1000)
    signal.addEventListener('abort', wake)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      wakes.delete(wake)
      if (endPoll === resolve) endPoll = null
    }
  }
  const deliver = (message: object) => offerUpdate({ message })
  const offerUpdate = (update: { message: object } | { callback_query: object }) => {
    lastUpdateId += 1
    updates.push({ update_id: lastUpdateId, ...update })
    for (const wake of wakes) wake()
  }
  const sendMessage = (input: unknown): Answer => {
    const { chat_id: chatId, text, reply_parameters: reply, reply_markup: markup } = SendMessage.parse(input)
    const problem = checkText(text)
    if (problem) return problem
    lastMessageId += 1
    const answerTo = reply?.message_id ?? null
    shown.push({
      id: lastMessageId,
      chatId,
      text,
      texts: [text],
      times: [performance.now()],
      answerTo,
      buttons: markup?.inline_keyboard.flat() ?? [],
    })
    return accept({ message_id: lastMessageId, date: now(), chat: { id: chatId, type: 'private' }, text })
  }
  const editMessageText = (input: unknown): Answer => {
    const { chat_id: chatId, message_id: messageId, text } = EditMessageText.parse(input)
    const problem = checkText(text)
    if (problem) return problem
    const message = shown.find((one) => one.chatId === chatId && one.id === messageId)
    if (!message) return refuse(400, 'Bad Request: message to edit not found')
    if (message.text === text) {
      const why =
        'specified new message content and reply markup are exactly the same as a current content and reply markup of the message'
      return refuse(400, `Bad Request: message is not modified: ${why}`)
    }
    message.text = text
    message.buttons = []
    message.texts.push(text)
    message.times.push(performance.now())
    return accept({ message_id: messageId, date: now(), chat: { id: chatId, type: 'private' }, text })
  }
  const getFile = (input: unknown): Answer => {
    const { file_id: fileId } = GetFile.parse(input)
    const file = files.get(fileId)
    if (!file) return refuse(400, 'Bad Request: invalid file_id')
    if (file.sizeBytes > MAX_FILE_BYTES) return refuse(400, 'Bad Request: file is too big')
    return accept({ file_id: fileId, file_unique_id: fileId, file_size: file.sizeBytes, file_path: file.path })
  }

  return {
    username,
    /** Messages of the bot in every chat. */
    shown,
    /** Called methods, in order. */
    calls,
    textsIn: (chatId: number) => shown.filter((message) => message.chatId === chatId).map(({ text }) => text),
    /** Unconfirmed updates. */
    unconfirmed: () => updates.length,
    /** Makes the next call of a method fail. */
    failNext: (method: string, status: number, description: string, parameters?: object) => {
      const answer = refuse(status, description, parameters)
      faults.set(method, [...(faults.get(method) ?? []), answer])
    },
    clearFaults: () => faults.clear(),
    /** Delays the response to the next call of a method; its effect is immediate. */
    delayNext: (method: string, delayMs: number) => void delays.set(method, delayMs),
    addFile(fileId: string, path: string, bytes: Uint8Array, sizeBytes = bytes.byteLength) {
      files.set(fileId, { bytes, path, sizeBytes })
    },
    /** Sends a user's message; `fields` are fields of Telegram's Message. @returns the message id. */
    say(
      from: { id: number; first_name: string },
      fields: object,
      chat: Chat = { id: from.id, type: 'private' },
    ): number {
      lastMessageId += 1
      const message = { message_id: lastMessageId, date: now(), chat, from: { is_bot: false, ...from }, ...fields }
      said.set(lastMessageId, message)
      deliver(message)
      return lastMessageId
    },
    /** Answers to button presses. */
    notes,
    /** Clicks a button below a message of the bot. */
    press(from: { id: number; first_name: string }, message: Shown, label: string) {
      const button = message.buttons.find(({ text }) => text === label)
      if (!button) throw new Error(`There is no button ${label}`)
      const chat = { id: message.chatId, type: 'private' }
      const below = { message_id: message.id, date: now(), chat, text: message.text }
      offerUpdate({ callback_query: { id: '1', from, chat_instance: '1', data: button.callback_data, message: below } })
    },
    /** Delivers a message a second time. */
    redeliver(messageId: number) {
      const message = said.get(messageId)
      if (!message) throw new Error(`No message ${messageId}`)
      deliver(message)
    },
    async delay(method: string): Promise<void> {
      const delayMs = delays.get(method) ?? 0
      delays.delete(method)
      if (delayMs > 0) await Bun.sleep(delayMs)
    },
    async call(method: string, input: unknown, signal: AbortSignal): Promise<Answer> {
      calls.push(method)
      const fault = faults.get(method)?.shift()
      if (fault) return fault
      switch (method) {
        case 'getMe':
          return accept(me)
        case 'getUpdates':
          return getUpdates(input, signal)
        case 'sendMessage':
          return sendMessage(input)
        case 'editMessageText':
          return editMessageText(input)
        case 'getFile':
          return getFile(input)
        case 'getChat': {
          const { chat_id: chatId } = z.object({ chat_id: z.coerce.number() }).parse(input)
          return accept({ id: chatId, type: 'private' })
        }
        case 'answerCallbackQuery': {
          notes.push(z.object({ text: z.string() }).parse(input).text)
          return accept(true)
        }
        case 'deleteWebhook':
        case 'sendChatAction':
          return accept(true)
        default:
          return refuse(404, 'Not Found')
      }
    },
    download(path: string): Response {
      const file = [...files.values()].find((one) => one.path === path)
      return file ? new Response(Buffer.from(file.bytes)) : toResponse(refuse(404, 'Not Found'))
    },
  }
}

function checkText(text: string): Answer | null {
  if (text.trim() === '') return refuse(400, 'Bad Request: message text is empty')
  return text.length > MAX_CHARS ? refuse(400, 'Bad Request: message is too long') : null
}

function accept(result: unknown): Answer {
  return { status: 200, body: { ok: true, result } }
}

function refuse(status: number, description: string, parameters?: object): Answer {
  return { status, body: { ok: false, error_code: status, description, ...(parameters && { parameters }) } }
}

function toResponse({ status, body }: Answer): Response {
  return Response.json(body, { status })
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
