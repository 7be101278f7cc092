import pRetry from 'p-retry'
import type { Service } from './channel.ts'
import type { Waiting } from './inbox.ts'
import { splitText } from './split.ts'

/** The words of a message that the answer does not need any more. */
const LEFT_OVER = '…'
const RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 1000, maxTimeout: 60_000, randomize: true }

/** An answer that grows in a chat: it is written with its first words, and edited until it is whole. */
export type Reply = {
  add(text: string): void
  /** Drops the added text: the answer starts again from its beginning. */
  clear(): void
  /** Once all of it stands there. @throws what the service refuses for good, and the signal's reason. */
  finish(): Promise<void>
  /** Says something after it. @throws as `finish`. */
  tell(text: string): Promise<void>
  /** Starts no further write and resolves when the one under way has ended and its message id is on disk. */
  settle(): Promise<void>
}

type Needs = {
  service: Service
  message: Waiting
  /** Keeps which messages the answer stands in, so that whoever goes on with it edits those. */
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
    // An answer that was begun anew may be shorter than what stands in the chat.
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
    // What does not get through now is written at the end.
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
    async tell(sentence) {
      const write = async () => void (await service.write(message.place, sentence, message.messageId))
      await untilDelivered(write)
    },
    async settle() {
      clearTimeout(timer)
      await running
    },
  }
}

/** Retries `work` until it succeeds or the service refuses it for good. @throws that refusal, and the signal's reason. */
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
