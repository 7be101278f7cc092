import { collectTurn } from '../../core/agents/collect-turn.ts'
import type { Clock } from '../../core/clock.ts'
import { KeyedQueue } from '../../core/concurrency/keyed-queue.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { toKnownError } from '../errors.ts'
import { type CountUse, LIMIT_REACHED } from '../tools/day-limits.ts'
import type { KeptTurn, KeptTurns } from '../turns/kept-turns.ts'
import { STOPPED } from '../turns/turn.ts'
import type { ChatAddress, Incoming, Service } from './channel.ts'
import type { Guests } from './guests.ts'
import { type AnswerEnd, type ChannelHistory, toAnswerEntry } from './history.ts'
import { type MessageInbox, toChat, type WaitingMessage } from './inbox.ts'
import { createReply, type Reply } from './reply.ts'
import type { SavedFiles } from './saved-files.ts'

const TYPING_EVERY_MS = 4500
/** Matches `/stop`, `/stop@name` in groups, and `!stop` for messengers that reserve the slash. */
const COMMAND = /^[/!](start|stop|new)(?:@\w+)?\s*$/i

type ConversationDeps = {
  channel: string
  service: Service
  inbox: MessageInbox
  guests: Guests
  keptTurns: KeptTurns
  savedFiles: SavedFiles
  history: ChannelHistory
  countUse: CountUse
  clock: Clock
  log: Log
  /** Aborts when the agent stops: no new turn begins. */
  stopping: AbortSignal
  /** Aborts when the grace period ends: the next run of the agent continues running answers. */
  ending: AbortSignal
}

/** Handles messages of one channel, from admission to the end of the answer. */
export type BotConversation = {
  /** Continues messages that an earlier run of the agent left. */
  resume(): Promise<void>
  receive(message: Incoming, isAddressed: boolean): Promise<void>
  idle(): Promise<void>
}

export function createConversation(deps: ConversationDeps): BotConversation {
  const { channel, inbox, guests, log } = deps
  const chats = new KeyedQueue()
  const answering = new Set<Promise<void>>()
  /**
   * Starts the turn of a message. The chat's next turn starts after this one ends or waits for the owner. Null when the
   * agent is stopping.
   */
  const openTurn = (message: WaitingMessage): Promise<KeptTurn | null> =>
    new Promise((resolve, reject) => {
      const task = async () => {
        if (deps.stopping.aborted || !isWaiting(inbox, message)) return resolve(null)
        const turn = await beginTurn(deps, message)
        resolve(turn)
        await turn.idle
      }
      chats.run(toChat(channel, message.place), task).catch(reject)
    })
  const begin = (message: WaitingMessage) => {
    const work = answer(deps, message, openTurn)
      .catch((error: unknown) => {
        if (deps.ending.aborted) return
        log.error({ channel, error: errorMessage(error) }, 'failed to answer a message of a channel')
      })
      .finally(() => answering.delete(work))
    answering.add(work)
  }
  const say = (place: ChatAddress, text: string, answerTo: string | null) => {
    deps.service.write(place, text, answerTo).catch((error: unknown) => {
      log.warn({ channel, error: errorMessage(error) }, 'failed to send a notice to a channel')
    })
  }

  return {
    async resume() {
      for (const message of inbox.list()) {
        // The agent may have ended between storing the message and recording it in the history.
        await noteQuestion(deps, message)
        begin(message)
      }
    },
    async receive(message, isAddressed) {
      const { place, person, messageId } = message
      if (!guests.isAllowed(person.id)) {
        // Pairing codes go only to direct chats: every member of a group could read one.
        const code = place.isDirect ? await guests.askFor(person, place.chatId) : null
        if (code) say(place, toPairingText(code), null)
        return
      }
      if (!place.isDirect && !isAddressed) return
      const command = COMMAND.exec(message.text)?.[1]?.toLowerCase()
      if (command) return say(place, await obey(deps, command, message), messageId)
      if (message.text.trim() === '' && message.files.length === 0) {
        return say(place, 'I can read text, pictures, files and voice notes.', messageId)
      }
      const added = await inbox.add(message, deps.clock.now().toISOString())
      if (added === 'full')
        return say(place, 'Too many messages are waiting. Please send this one again later.', messageId)
      if (added) {
        await noteQuestion(deps, added)
        begin(added)
      }
    },
    async idle() {
      await Promise.all(answering)
    },
  }
}

function toPairingText(code: string): string {
  return `I do not know you yet. My owner can let you in with this code, which is good for an hour: ${code}`
}

async function obey(deps: ConversationDeps, command: string, { place, messageId }: Incoming): Promise<string> {
  if (command === 'start') return 'You can write to me now. /new begins a new conversation, /stop ends an answer.'
  if (command === 'new') {
    await deps.inbox.beginAnew(place, messageId)
    return 'This is a new conversation.'
  }
  const chat = toChat(deps.channel, place)
  const messages = deps.inbox.list().filter((message) => toChat(deps.channel, message.place) === chat)
  if (messages.length === 0) return 'There is nothing to stop.'
  // Remove all messages first, so that none of them starts when the first turn ends.
  for (const { id } of messages) await deps.inbox.finish(id)
  for (const { id } of messages) await deps.keptTurns.stop(id)
  return 'Stopped.'
}

type OpenTurn = (message: WaitingMessage) => Promise<KeptTurn | null>

async function answer(deps: ConversationDeps, message: WaitingMessage, openTurn: OpenTurn): Promise<void> {
  const { channel, service, inbox, log, ending } = deps
  const keepSent = (ids: readonly string[]) => inbox.keepSent(message.id, ids)
  const reply = createReply({ service, message, keepSent, signal: ending })
  try {
    if (!(await deliver(deps, message, { reply, openTurn }))) return
  } catch (error) {
    if (ending.aborted || !service.isFinal(error)) throw error
    log.warn({ channel, error: errorMessage(error) }, 'an answer cannot be delivered')
  } finally {
    // Wait for the message id: the next run would send the answer a second time.
    await reply.settle()
  }
  await inbox.finish(message.id)
}

/** @returns false when the turn was not started: the next run of the agent answers the message. */
async function deliver(
  deps: ConversationDeps,
  message: WaitingMessage,
  { reply, openTurn }: { reply: Reply; openTurn: OpenTurn },
): Promise<boolean> {
  const typing = showTyping(deps, message)
  const collected = collectTurn()
  const noteEnd = (end: Omit<AnswerEnd, 'at'>) =>
    note(deps, toAnswerEntry(message.id, collected, { ...end, at: deps.clock.now().toISOString() }))
  let failure: string | null = null
  try {
    const turn = await openTurn(message)
    if (!turn) {
      if (!isWaiting(deps.inbox, message)) await noteEnd({ result: null, status: 'stopped', error: null })
      return false
    }
    const result = await turn.follow((event) => {
      collected.add(event)
      if (event.type === 'restart') reply.clear()
      if (event.type === 'text') reply.add(event.text)
    }, deps.ending)
    await noteEnd({ result, status: 'sent', error: null })
  } catch (error) {
    // The turn is on disk, and the next run of the agent continues it.
    deps.ending.throwIfAborted()
    const { kind, message: words, extra } = toKnownError(error)
    const isStopped = extra.code === STOPPED
    const end = isStopped ? 'stopped' : 'failed'
    await noteEnd({ result: null, status: end, error: isStopped ? null : { kind, message: words } })
    failure = describeFailure(error)
  } finally {
    clearInterval(typing)
  }
  await reply.finish()
  if (failure !== null) await reply.send(failure)
  return true
}

/** Starts the turn of a message, or joins the one that an earlier run started. @throws AppError TURN_STOPPED. */
async function beginTurn(deps: ConversationDeps, message: WaitingMessage): Promise<KeptTurn> {
  const { inbox, keptTurns, savedFiles } = deps
  const known = await keptTurns.find(message.id)
  if (known) return known
  await deps.countUse(['messages'], deps.ending)
  const { notes, images } = await savedFiles.save(message)
  // The person may have sent /stop while the files were fetched.
  if (!isWaiting(inbox, message)) throw new AppError('conflict', 'The turn was stopped', { code: STOPPED })
  return keptTurns.beginOrJoin(message.id, {
    sessionKey: message.sessionKey,
    messages: [{ role: 'user', content: toContent(message, notes), ...(images.length > 0 && { images }) }],
  })
}

/** Logs a failure, because a full disk must not prevent an answer. */
async function note({ history, log, channel }: ConversationDeps, entry: Parameters<ChannelHistory['add']>[0]) {
  await history.add(entry).catch((error: unknown) => {
    log.error({ channel, error: errorMessage(error) }, 'failed to store a message for the history')
  })
}

async function noteQuestion(deps: ConversationDeps, message: WaitingMessage): Promise<void> {
  const { id, sessionKey, place, person, text, files, receivedAt } = message
  await note(deps, {
    type: 'message',
    id,
    platform: deps.channel,
    session: sessionKey,
    title: place.isDirect ? person.name : null,
    sender: 'user',
    author: person.name,
    text: [text, ...files.map(({ name }) => `[${name}]`)].filter(Boolean).join('\n\n'),
    status: 'sent',
    at: receivedAt,
  })
}

function isWaiting(inbox: MessageInbox, message: WaitingMessage): boolean {
  return inbox.list().some(({ id }) => id === message.id)
}

function toContent({ place, person, text }: WaitingMessage, notes: readonly string[]): string {
  const said = place.isDirect ? text : `${person.name}: ${text}`
  return [said, ...notes].filter(Boolean).join('\n\n')
}

function showTyping({ service }: ConversationDeps, { place }: WaitingMessage) {
  // The indicator is optional, so a failure is ignored.
  const show = () => void service.showTyping(place).catch(() => undefined)
  show()
  return setInterval(show, TYPING_EVERY_MS)
}

/** Returns the sentence that reports a failure, or null for a turn that was stopped on purpose. */
function describeFailure(error: unknown): string | null {
  const known: AppError = toKnownError(error)
  const { code } = known.extra
  // A message about the stop or the limit was already sent.
  if (code === STOPPED || code === LIMIT_REACHED) return null
  if (code === 'TURN_INTERRUPTED') return `${known.message}. Write “continue”, and I go on from there.`
  if (known.kind === 'unavailable') {
    return 'I was interrupted before I had answered. Please send your message again.'
  }
  return `I could not answer: ${known.message}`
}
