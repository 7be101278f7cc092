import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { sha256 } from '../../core/secrets.ts'
import type { CountUse } from '../tools/day-limits.ts'
import type { KeptTurns } from '../turns/kept-turns.ts'
import type {
  ChannelConnection,
  ChatAddress,
  ConnectionState,
  KnownRecipient,
  MessengerName,
  Outbox,
  Pressed,
} from './channel.ts'
import { type BotConversation, createConversation } from './conversation.ts'
import { type Guests, type ListedPerson, openGuests } from './guests.ts'
import type { ChannelHistory } from './history.ts'
import { type MessageInbox, openInbox, toChat } from './inbox.ts'
import type { OwnerChannel, Questions } from './questions.ts'
import { splitText } from './reply.ts'
import { createSavedFiles } from './saved-files.ts'

/** Settings of a bot; `people` are the ids that the settings allow. */
type ServiceSettings = { token: string; apiUrl: string; people: readonly string[] }

/** Only configured channels are opened. */
export type ChannelSettings = {
  telegram?: ServiceSettings | undefined
  discord?: ServiceSettings | undefined
  slack?: (ServiceSettings & { appToken: string; proxyUrl?: string | undefined }) | undefined
  /** Pause before reconnecting; `editEveryMs` is the shortest time between two edits of an answer. */
  retryMs: number
  editEveryMs: number
}

type ChannelDeps = {
  /** Folder for state; `workspace` receives files. */
  folder: string
  workspace: string
  keptTurns: KeptTurns
  history: ChannelHistory
  countUse: CountUse
  clock: Clock
  fetch: typeof fetch
  log: Log
  press: Questions['press']
  /** `stopping` prevents new work; `ending` aborts running work. */
  stopping: AbortSignal
  ending: AbortSignal
}

/** A pairing code that waits for the owner's decision. Times are ISO 8601. */
type ListedPairing = { code: string; id: string; name: string; expiresAt: string }
type ListedChannel = ConnectionState & { name: MessengerName; people: ListedPerson[]; pairings: ListedPairing[] }

export type Channels = Outbox & {
  list(): ListedChannel[]
  /** Admits or refuses a person, who is notified when admitted. @throws AppError `not_found`. */
  decide(name: string, code: string, approve: boolean): Promise<{ id: string; name: string }>
  /** @throws AppError `not_found`, `conflict` for a person that the settings name. */
  remove(name: string, personId: string): Promise<void>
  /** Lists channels on which the owner can be asked for approval. */
  listOwnerChannels(): OwnerChannel[]
  /** Resolves when no channel listens and no message is being answered. */
  idle(): Promise<void>
}

type Open = {
  name: MessengerName
  connection: ChannelConnection
  /** Ids of the people that the settings name. */
  owners: readonly string[]
  guests: Guests
  inbox: MessageInbox
  conversation: BotConversation
  end: Promise<void>
}

/** Opens the configured channels; the libraries of other messengers are not loaded. */
export async function openChannels(settings: ChannelSettings | undefined, deps: ChannelDeps): Promise<Channels> {
  const opened: Open[] = []
  if (settings?.telegram) {
    const { createTelegramConnection } = await import('./telegram/telegram.ts')
    const connection = createTelegramConnection({ ...settings, ...settings.telegram }, deps)
    opened.push(await openChannel('telegram', connection, settings.telegram, deps))
  }
  if (settings?.discord) {
    const { createDiscordConnection } = await import('./discord/discord.ts')
    const folder = toFolder(deps)
    const connection = await createDiscordConnection({ ...settings, ...settings.discord }, { ...deps, folder })
    opened.push(await openChannel('discord', connection, settings.discord, deps))
  }
  if (settings?.slack) {
    const { createSlackConnection } = await import('./slack/slack.ts')
    const connection = createSlackConnection({ ...settings, ...settings.slack }, deps)
    opened.push(await openChannel('slack', connection, settings.slack, deps))
  }
  const find = (name: string) => {
    const found = opened.find((channel) => channel.name === name)
    if (!found) throw new AppError('not_found', 'Channel not found')
    return found
  }
  return {
    list: () => opened.map(toListed),
    async decide(name, code, approve) {
      const { guests, connection } = find(name)
      const { id, name: person, chatId } = await guests.decide(code, approve)
      if (approve) {
        const place = { chatId, threadId: null, isDirect: true }
        connection.service.write(place, 'You can write to me now.', null).catch((error: unknown) => {
          deps.log.warn({ channel: name, error: errorMessage(error) }, 'failed to notify a newly admitted person')
        })
      }
      return { id, name: person }
    },
    remove: (name, personId) => find(name).guests.remove(personId),
    listRecipients: () => opened.flatMap(listRecipients),
    listOwnerChannels: () => opened.map(toOwnerChannel),
    async requireRecipient(to) {
      try {
        await findPlace(opened, to)
      } catch (cause) {
        if (cause instanceof AppError) throw cause
        throw new AppError('not_found', `There is no recipient ${to}: ${errorMessage(cause)}`, {}, { cause })
      }
    },
    async send(to, text) {
      const channel = findChannel(opened, to)
      const { service } = channel.connection
      try {
        const place = await findPlace(opened, to)
        for (const part of splitText(text, service.maxChars)) await service.write(place, part, null)
        await deps.history.add({ ...toSentLine(channel, place, to), text, at: deps.clock.now().toISOString() })
      } catch (cause) {
        throw new AppError('upstream_failed', `The message was not delivered: ${errorMessage(cause)}`, {}, { cause })
      }
    },
    async idle() {
      await Promise.all(opened.flatMap(({ end, conversation }) => [end, conversation.idle()]))
    },
  }
}

/** @throws AppError `not_found` naming the agent's channels. */
function findChannel(opened: readonly Open[], to: string): Open {
  const name = to.slice(0, Math.max(to.indexOf(':'), 0))
  const found = opened.find((channel) => channel.name === name)
  if (found) return found
  const names = opened.map((channel) => channel.name).join(', ') || 'none'
  throw new AppError('not_found', `There is no channel for "${to}". Channels of this agent: ${names}`)
}

function toSentLine({ name, guests, inbox }: Open, place: ChatAddress, to: string) {
  const person = guests.listPeople().find(({ id }) => `${name}:${id}` === to)
  return {
    type: 'message' as const,
    id: newId(`${name}-sent`),
    platform: name,
    session: inbox.sessionOf(place),
    title: place.isDirect ? (person?.name ?? null) : null,
    sender: 'agent' as const,
    author: null,
    status: 'sent' as const,
  }
}

/** Returns the chat of a recipient. @throws AppError `not_found`; the service's error for a person it cannot reach. */
async function findPlace(opened: readonly Open[], to: string): Promise<ChatAddress> {
  const { name, connection, inbox } = findChannel(opened, to)
  const group = inbox.listGroups().find((place) => toChat(name, place) === to)
  return group ?? connection.service.findDirect(to.slice(name.length + 1))
}

async function openChannel(
  name: MessengerName,
  connection: ChannelConnection,
  { token, people }: { token: string; people: readonly string[] },
  deps: ChannelDeps,
): Promise<Open> {
  const folder = toFolder(deps)
  const guests = await openGuests(folder, { name, account: toAccount(name, token), configuredIds: people }, deps.clock)
  const inbox = await openInbox(folder, name)
  const { service } = connection
  const savedFiles = createSavedFiles(deps.workspace, service)
  const conversation = createConversation({ ...deps, channel: name, service, inbox, guests, savedFiles })
  await conversation.resume()
  const owners = { name, service, owners: people }
  const press = (pressed: Pressed) => deps.press(owners, pressed)
  const end = connection.run(conversation.receive, deps.stopping, press).catch((error: unknown) => {
    deps.log.error({ channel: name, error: errorMessage(error) }, 'a channel has ended')
  })
  return { name, connection, owners: people, guests, inbox, conversation, end }
}

/** The part of a token that identifies the bot and survives a token rotation. */
const BOT_OF_TOKEN = { telegram: /^\d+(?=:)/, discord: /^[^.]+(?=\.)/, slack: /^xoxb-\d+-\d+(?=-)/ } as const

/** Identifies a bot without storing its token. A token of unknown format identifies a separate bot. */
function toAccount(name: MessengerName, token: string): string {
  return sha256(BOT_OF_TOKEN[name].exec(token)?.[0] ?? token)
}

function toFolder({ folder }: ChannelDeps): string {
  return join(folder, 'channels')
}

function toOwnerChannel({ name, connection, owners }: Open): OwnerChannel {
  return { name, service: connection.service, owners }
}

function listRecipients({ name, guests, inbox }: Open): KnownRecipient[] {
  const people = guests
    .listPeople()
    .map(({ id, name: person }) => ({ to: `${name}:${id}`, name: person, isGroup: false }))
  const groups = inbox.listGroups().map((place) => ({ to: toChat(name, place), name: null, isGroup: true }))
  return [...people, ...groups]
}

function toListed({ name, connection, guests }: Open): ListedChannel {
  const pairings = guests
    .listPairings()
    .map(({ code, id, name: person, expiresAt }) => ({ code, id, name: person, expiresAt }))
  return { name, ...connection.state(), people: guests.listPeople(), pairings }
}
