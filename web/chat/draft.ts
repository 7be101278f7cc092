import { useState } from 'react'
import { z } from 'zod'
import { ChatAttachment } from '../../src/features/conversations/chat/schemas.ts'

/** An older unsent message returns to the draft instead of being sent. */
const SENDING_MS = 10 * 60_000

const Sending = z.object({
  text: z.string(),
  attachments: z.array(ChatAttachment),
  replaces: z.string().optional(),
  /** Makes retries one message. */
  key: z.string(),
  until: z.number(),
})
type Sending = z.infer<typeof Sending>

const draftKey = (place: string) => `stead-draft:${place}`
const sendingKey = (place: string) => `stead-sending:${place}`

/** Keeps the draft in this browser until it is sent. */
export function useDraft(place: string) {
  const [text, setText] = useState(() => localStorage.getItem(draftKey(place)) ?? '')
  const change = (next: string) => {
    setText(next)
    keepDraft(place, next)
  }
  return {
    text,
    change,
    /** Puts an unsent text before the text that was written since. */
    putBack: (unsent: string) =>
      change([unsent, localStorage.getItem(draftKey(place)) ?? ''].filter((part) => part !== '').join('\n\n')),
  }
}

function keepDraft(place: string, text: string): void {
  if (text === '') localStorage.removeItem(draftKey(place))
  else localStorage.setItem(draftKey(place), text)
}

/** Stores a message that is being sent, so that a reload does not lose it. */
export function keepSending(place: string, message: Omit<Sending, 'until'>): void {
  localStorage.setItem(sendingKey(place), JSON.stringify({ ...message, until: Date.now() + SENDING_MS }))
}

export function forgetSending(place: string, key: string): void {
  if (readSending(place)?.key === key) localStorage.removeItem(sendingKey(place))
}

export function readSending(place: string): Sending | null {
  const text = localStorage.getItem(sendingKey(place))
  if (text === null) return null
  try {
    return Sending.parse(JSON.parse(text))
  } catch {
    localStorage.removeItem(sendingKey(place))
    return null
  }
}

/** `randomUUID` is missing on pages without TLS. */
export function newSendingKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
