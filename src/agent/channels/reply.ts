import pRetry from 'p-retry'
import type { Service } from './channel.ts'
import type { WaitingMessage } from './inbox.ts'

/** Text of a message that the final answer no longer needs. */
const LEFT_OVER = '…'
const RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 1000, maxTimeout: 60_000, randomize: true }

/** An answer that is sent with its first words and edited until it is complete. */
export type Reply = {
  add(text: string): void
  /** Drops the text so far: the answer starts again. */
  clear(): void
  /** Resolves when the whole answer is delivered. @throws the service's final error, and the signal's reason. */
  finish(): Promise<void>
  /** Sends a sentence after the answer. @throws as `finish`. */
  send(text: string): Promise<void>
  /** Starts no further write and resolves when the current one has ended and its message id is on disk. */
  settle(): Promise<void>
}

type Needs = {
  service: Service
  message: WaitingMessage
  /** Stores the ids of sent messages, so that a resumed answer edits them. */
  keepSent: (ids: readonly string[]) => Promise<void>
  signal: AbortSignal
}

export function createReply({ service, message, keepSent, signal }: Needs): Reply {
  const sent: { id: string; text: string | null }[] = message.sentIds.map((id) => ({ id, text: null }))
  let text = ''
  let isFinished = false
  let running: Promise<void> | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let shown = ''
  let lastAt = Number.NEGATIVE_INFINITY

  const sync = async () => {
    const parts = splitText(text, service.maxChars)
    // A restarted answer may need fewer messages than were sent.
    if (isFinished && parts.length > 0) while (parts.length < sent.length) parts.push(LEFT_OVER)
    for (const [index, part] of parts.entries()) {
      const known = sent[index]
      if (known?.text === part) continue
      signal.throwIfAborted()
      if (known) {
        await service.edit(message.place, known.id, part)
        known.text = part
      } else {
        const answerTo = index === 0 ? message.messageId : null
        sent.push({ id: await service.write(message.place, part, answerTo), text: part })
        await keepSent(sent.map(({ id }) => id))
      }
    }
  }
  const plan = () => {
    if (timer || running || text === shown || isFinished || signal.aborted) return
    timer = setTimeout(showProgress, Math.max(0, lastAt + service.editEveryMs(message.place) - performance.now()))
  }
  const showProgress = () => {
    timer = undefined
    if (signal.aborted) return
    shown = text
    // `finish` writes the text that failed here.
    running = sync()
      .catch(() => undefined)
      .finally(() => {
        running = null
        lastAt = performance.now()
        plan()
      })
  }
  const untilDelivered = (work: () => Promise<void>) => deliver(work, service, signal)

  return {
    add(more) {
      text += more
      plan()
    },
    clear() {
      text = ''
      shown = ''
    },
    async finish() {
      isFinished = true
      clearTimeout(timer)
      await running
      await untilDelivered(sync)
    },
    async send(sentence) {
      const write = async () => void (await service.write(message.place, sentence, message.messageId))
      await untilDelivered(write)
    },
    async settle() {
      clearTimeout(timer)
      await running
    },
  }
}

/**
 * Retries `work` until it succeeds or the service rejects it permanently.
 * @throws the rejection, or the signal's reason.
 */
async function deliver(work: () => Promise<void>, service: Service, signal: AbortSignal): Promise<void> {
  let isDelivered = false
  const attempt = async () => {
    await work()
    isDelivered = true
  }
  try {
    await pRetry(attempt, { ...RETRY, signal, shouldRetry: ({ error }) => !service.isFinal(error) })
  } catch (error) {
    // pRetry also rejects when the signal aborted during a successful attempt; sending again would duplicate the message.
    if (!isDelivered) throw error
  }
}

/** Smallest part that a split may leave, as a share of the limit. */
const SHORTEST_SHARE = 0.5

/** Splits a text into messages of at most `maxChars` UTF-16 units, at a line or word break if it is not too early. */
export function splitText(text: string, maxChars: number): string[] {
  const parts: string[] = []
  let rest = text.trim()
  while (rest.length > maxChars) {
    const end = findBreak(rest, maxChars)
    parts.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return rest === '' ? parts : [...parts, rest]
}

function findBreak(text: string, maxChars: number): number {
  const shortest = maxChars * SHORTEST_SHARE
  const line = text.lastIndexOf('\n', maxChars)
  if (line > shortest) return line
  const word = text.lastIndexOf(' ', maxChars)
  if (word > shortest) return word
  // Do not split a surrogate pair.
  return /[\uD800-\uDBFF]/.test(text[maxChars - 1] ?? '') ? maxChars - 1 : maxChars
}
