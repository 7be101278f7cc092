/** Bounds on what a model is sent of a session, so that a long one neither costs more nor outgrows its window. */
const MAX_HISTORY_MESSAGES = 60
const MAX_HISTORY_CHARS = 60_000
const MAX_MESSAGE_CHARS = 16_000

type Message = { role: 'user' | 'assistant'; content: string; images?: string[] | undefined }

/** Is there more here than `boundHistory` will keep? Tells a reader when to stop. */
export function isEnoughHistory(messages: readonly Message[]): boolean {
  return messages.length >= MAX_HISTORY_MESSAGES || countChars(messages) >= MAX_HISTORY_CHARS
}

/** The newest messages that fit, beginning with a user's; a very long one keeps its beginning. */
export function boundHistory(messages: readonly Message[]): Message[] {
  const kept: Message[] = []
  let chars = 0
  for (const { role, content, images } of messages.slice(-MAX_HISTORY_MESSAGES).toReversed()) {
    const message = { role, content: clip(content), images }
    chars += message.content.length
    if (chars > MAX_HISTORY_CHARS) break
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
