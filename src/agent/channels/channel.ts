import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Clock } from '../../core/clock.ts'

export type MessengerName = 'telegram' | 'discord' | 'slack'

/**
 * `account` is the bot's name at the service; `since` and `at` are ISO 8601. `lastError` remains after a successful
 * reconnect.
 */
export type ConnectionState = {
  connected: boolean
  since: string | null
  account: string | null
  lastError: { message: string; at: string } | null
}

/** A received file; `id` is the service's own id or URL. */
const SentFile = z.object({ id: z.string(), name: z.string() })
export type SentFile = z.infer<typeof SentFile>

/** A chat at its service. `threadId` is a topic in it; `isDirect` marks a chat with one person. */
export const ChatAddress = z.object({ chatId: z.string(), threadId: z.string().nullable(), isDirect: z.boolean() })
export type ChatAddress = z.infer<typeof ChatAddress>

/** A received message. `id` is the same for every delivery and valid as a turn id. */
export const Incoming = z.object({
  id: z.string(),
  messageId: z.string(),
  place: ChatAddress,
  person: z.object({ id: z.string(), name: z.string() }),
  text: z.string(),
  files: z.array(SentFile),
})
export type Incoming = z.infer<typeof Incoming>

/** A button; pressing it returns `value`. At most 64 characters. */
export type ButtonChoice = { label: string; value: string }

/** A pressed button, and the `text` of its message. */
export type Pressed = { personId: string; value: string; place: ChatAddress; messageId: string; text: string }
/** Handles a pressed button and returns the sentence shown to the person. */
export type Press = (pressed: Pressed) => Promise<string>

/** Messenger operations that a conversation uses. Each throws the error of the service or of the network. */
export type Service = {
  /** Longest message, in UTF-16 code units. */
  maxChars: number
  /** Shortest time between two edits in this chat. */
  editEveryMs(place: ChatAddress): number
  /** Sends a message, as a reply to `answerTo` if set. @returns its id. */
  write(place: ChatAddress, text: string, answerTo: string | null): Promise<string>
  /** Replaces the text and removes buttons. */
  edit(place: ChatAddress, messageId: string, text: string): Promise<void>
  /** Escapes the service's markup; the result is at most twice as long. */
  toLiteral(text: string): string
  /** Sends a message with buttons; undefined for services without buttons. */
  writeChoices?(place: ChatAddress, text: string, choices: readonly ButtonChoice[]): Promise<string>
  /**
   * Returns the direct chat with a person, created if necessary.
   * @throws when the person does not exist or cannot be reached.
   */
  findDirect(personId: string): Promise<ChatAddress>
  showTyping(place: ChatAddress): Promise<void>
  /** @throws AppError `too_large`, `not_found`. */
  fetchFile(file: SentFile): Promise<Uint8Array>
  /** Returns whether a retry cannot succeed, for example because the chat has blocked the bot. */
  isFinal(error: unknown): boolean
}

/** A connection to one messenger, which reconnects by itself. */
export type ChannelConnection = {
  state(): ConnectionState
  service: Service
  /** Listens until `signal` aborts. A message is acknowledged to the service after `receive` has returned. */
  run(receive: Receive, signal: AbortSignal, press: Press): Promise<void>
}

/** `isAddressed`: a group message that addresses the agent. Resolves when the message is on disk or is ignored. */
export type Receive = (message: Incoming, isAddressed: boolean) => Promise<void>

/** `to` is `<channel>:<id>`, followed by the topic or thread for a group. */
export type KnownRecipient = { to: string; name: string | null; isGroup: boolean }

/** Sends messages that the agent starts itself. */
export type Outbox = {
  /** Lists people who may write to the agent, and groups that have addressed it. */
  listRecipients(): KnownRecipient[]
  /** @throws AppError `not_found` for an unknown channel, or a recipient that the bot cannot write to. */
  requireRecipient(to: string): Promise<void>
  /** Sends to any person or group. @throws AppError `not_found`, `upstream_failed`. */
  send(to: string, text: string): Promise<void>
}

type StateKeeper = {
  read(): ConnectionState
  /** Keeps `since` if already connected. */
  setConnected(account: string): void
  setFailed(message: string): void
  setDisconnected(): void
}

export function createStateKeeper(clock: Clock): StateKeeper {
  let state: ConnectionState = { connected: false, since: null, account: null, lastError: null }
  return {
    read: () => state,
    setConnected(account) {
      if (!state.connected) state = { ...state, connected: true, since: clock.now().toISOString(), account }
    },
    setFailed(message) {
      const lastError = { message, at: clock.now().toISOString() }
      state = { ...state, connected: false, since: null, lastError }
    },
    setDisconnected() {
      state = { ...state, connected: false, since: null }
    },
  }
}

type Listening = {
  listen(): Promise<void>
  state: Pick<StateKeeper, 'setFailed' | 'setDisconnected'>
  describe(error: unknown): string
  /** Returns whether the service will refuse every attempt until the settings change. */
  isRefused(error: unknown): boolean
  toWaitMs(error: unknown): number
}

/** Calls `listen` again after each failure until `signal` aborts. @returns false when the service refused the bot. */
export async function keepListening(signal: AbortSignal, channel: Listening): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await channel.listen()
    } catch (error) {
      if (signal.aborted) break
      channel.state.setFailed(channel.describe(error))
      if (channel.isRefused(error)) return false
      await sleep(channel.toWaitMs(error), undefined, { signal }).catch(() => undefined)
    }
  }
  channel.state.setDisconnected()
  return true
}
