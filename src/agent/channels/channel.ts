import { z } from 'zod'

/** What the built-in agent can be spoken to by, besides its gateway. */
export type ChannelName = 'telegram' | 'discord' | 'slack'

/** `account` is the name of the agent there; `since` and `at` are ISO 8601. The error stays to be seen after it has passed. */
export type ConnectionState = {
  connected: boolean
  since: string | null
  account: string | null
  lastError: { message: string; at: string } | null
}

/** A file somebody sent: `id` is the service's own, by which it can be had. */
const SentFile = z.object({ id: z.string(), name: z.string() })
export type SentFile = z.infer<typeof SentFile>

/** A chat, as its service names it. `threadId` is a topic in it; `isDirect` is a chat with one person alone. */
export const Place = z.object({ chatId: z.string(), threadId: z.string().nullable(), isDirect: z.boolean() })
export type Place = z.infer<typeof Place>

/** A message from somebody. `id` is the same whenever the service delivers it, and good as the id of a turn. */
export const Incoming = z.object({
  id: z.string(),
  messageId: z.string(),
  place: Place,
  person: z.object({ id: z.string(), name: z.string() }),
  text: z.string(),
  files: z.array(SentFile),
})
export type Incoming = z.infer<typeof Incoming>

/** A button: `value` comes back when somebody presses it. At most 64 characters. */
export type Choice = { label: string; value: string }

/** Somebody has pressed a button below the message that says `text`. */
export type Pressed = { personId: string; value: string; place: Place; messageId: string; text: string }
/** Returns what they are told. */
export type Press = (pressed: Pressed) => Promise<string>

/** What a conversation needs of a service. Each call @throws what the service or the way to it answers. */
export type Service = {
  /** Longest text of one message, in UTF-16 units. */
  maxChars: number
  /** How far apart edits in this chat are. */
  editEveryMs(place: Place): number
  /** Writes a message, as an answer to one where there is one to answer, and returns its id. */
  write(place: Place, text: string, answerTo: string | null): Promise<string>
  /** Buttons that the message had are gone then. */
  edit(place: Place, messageId: string, text: string): Promise<void>
  /** The text as it is written, without any letter that the service takes for a mark; at most twice as long. */
  toLiteral(text: string): string
  /** Writes a message with buttons; services without buttons have none of it. */
  writeChoices?(place: Place, text: string, choices: readonly Choice[]): Promise<string>
  /** Returns the direct chat with a person, created if necessary. @throws when the person does not exist or cannot be reached. */
  findDirect(personId: string): Promise<Place>
  /** Shows for some seconds that the agent is busy. */
  showTyping(place: Place): Promise<void>
  /** @throws AppError `too_large`, `not_found`. */
  fetchFile(file: SentFile): Promise<Uint8Array>
  /** Will it fail however often it is tried, such as for a chat that has shut the agent out? */
  isFinal(error: unknown): boolean
}

/** The way to one service: it listens, keeps trying, and hands on what comes. */
export type Connection = {
  state(): ConnectionState
  service: Service
  /** Listens until `signal` aborts. A message is confirmed to the service once `receive` has returned. */
  run(receive: Receive, signal: AbortSignal, press: Press): Promise<void>
}

/** `isAddressed`: a message in a group that speaks to the agent. Returns once the message is on disk, or will not be answered. */
export type Receive = (message: Incoming, isAddressed: boolean) => Promise<void>

/** `to` is `<channel>:<id>`, by which `send` finds them; a topic or a thread follows the id of a group. */
export type Recipient = { to: string; name: string | null; isGroup: boolean }

/** How the agent writes to people by itself. */
export type Outbox = {
  /** Whom the agent knows: people who may write to it, and groups in which it was spoken to. */
  listRecipients(): Recipient[]
  /** @throws AppError `not_found` for a channel or a recipient that does not exist, or has never written to a bot. */
  requireRecipient(to: string): Promise<void>
  /** Writes to a person or a group, whoever that is. @throws AppError `not_found`, `upstream_failed`. */
  send(to: string, text: string): Promise<void>
}
