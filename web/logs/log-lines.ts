import type { LogEvent } from '../../src/features/agents/logs/schemas.ts'

/** More are never on the page: the browser must stay quick whatever an agent writes. */
export const MAX_LINES = 1000

/** `isNote`: not the agent's words but what happened to it. */
export type LiveLine = { id: number; text: string; isNote: boolean }

/** One event of the stream as a line; `eventId` is the number of the stored line. */
export function toLine(eventId: string, event: Exclude<LogEvent, { type: 'connected' }>): LiveLine {
  const id = Number(eventId)
  if (event.type === 'line') return { id, text: event.text, isNote: false }
  return {
    id,
    text: event.code === null ? 'The agent ended.' : `The agent ended with code ${event.code}.`,
    isNote: true,
  }
}

/** The newest lines with what is new among `fresh`; a line that comes twice is there once. */
export function withFresh(lines: LiveLine[], fresh: LiveLine[]): LiveLine[] {
  const last = lines.at(-1)?.id ?? 0
  const added = fresh.filter(({ id }) => id > last)
  return added.length === 0 ? lines : [...lines, ...added].slice(-MAX_LINES)
}

/** The lines in which `text` stands, in any case; what happened to the agent stays in sight. */
export function filterLines(lines: LiveLine[], text: string): LiveLine[] {
  const wanted = text.trim().toLowerCase()
  return wanted === '' ? lines : lines.filter((line) => line.isNote || line.text.toLowerCase().includes(wanted))
}
