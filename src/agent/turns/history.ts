/** Bounds on what a model is sent of a session, so that a long one neither costs more nor outgrows its window. */
const MAX_HISTORY_MESSAGES = 60
const MAX_HISTORY_CHARS = 60_000
const MAX_MESSAGE_CHARS = 16_000
/** What stays word for word when the rest is summarised: the next summary is then some turns away. */
const KEPT = { messages: 20, chars: 20_000 }
/** A model reads no more than this to summarise it. */
const MAX_SUMMARISED_CHARS = 60_000

type Message = { role: 'user' | 'assistant'; content: string; images?: string[] | undefined }

/** Is there more here than a summary is made of? Tells a reader when to stop. */
export function isEnoughHistory(messages: readonly Message[]): boolean {
  return countChars(messages) >= MAX_HISTORY_CHARS + MAX_SUMMARISED_CHARS
}

/** Is this more than a model is sent? */
export function isTooLong(messages: readonly Message[]): boolean {
  return messages.length > MAX_HISTORY_MESSAGES || countChars(messages) > MAX_HISTORY_CHARS
}

/** The newest messages that fit, beginning with a user's; a very long one keeps its beginning. */
export function boundHistory(messages: readonly Message[]): Message[] {
  return takeNewest(messages, { messages: MAX_HISTORY_MESSAGES, chars: MAX_HISTORY_CHARS })
}

/** What stays word for word, and what is to be summarised, of which a model reads the newest that fit. */
export function splitHistory(messages: readonly Message[]): { kept: Message[]; older: Message[] } {
  const kept = takeNewest(messages, KEPT)
  const before = messages.slice(0, messages.length - kept.length)
  return { kept, older: takeNewest(before, { messages: before.length, chars: MAX_SUMMARISED_CHARS }) }
}

function takeNewest(messages: readonly Message[], bound: { messages: number; chars: number }): Message[] {
  const kept: Message[] = []
  let chars = 0
  for (const { role, content, images } of messages.slice(-bound.messages).toReversed()) {
    const message = { role, content: clip(content), images }
    chars += message.content.length
    if (chars > bound.chars) break
    kept.unshift(message)
  }
  const start = kept.findIndex((message) => message.role === 'user')
  return start === -1 ? [] : kept.slice(start)
}

function countChars(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + Math.min(message.content.length, MAX_MESSAGE_CHARS), 0)
}

function clip(text: string): string {
  return text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS)} […]`
}
