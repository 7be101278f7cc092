import type { LogRequest } from '../../adapters/tunnel/services.ts'
import { randomText } from '../../core/ids.ts'

const MAX_LINES = 5000

type MachineLogLine = { cursor: string; at: string; stream: 'stderr'; text: string }

/** The last lines of this process's log, for the platform's log page. */
export type MachineLog = {
  add(text: string): void
  /** Yields the lines after `after`, at most the last `tail`, and with `follow` new ones until `signal` aborts. */
  follow(request: LogRequest, signal: AbortSignal): AsyncGenerator<MachineLogLine, void>
}

export function createMachineLog(now: () => Date): MachineLog {
  // Distinguishes the lines of this process from those of an earlier one.
  const run = randomText(8)
  const lines: (MachineLogLine & { number: number })[] = []
  const wakers = new Set<() => void>()
  let last = 0
  const numberOf = (cursor: string | null): number => {
    const [of, number] = cursor?.split('-') ?? []
    return of === run ? Number(number) : 0
  }
  return {
    add(text) {
      last += 1
      lines.push({ cursor: `${run}-${last}`, at: now().toISOString(), stream: 'stderr', text, number: last })
      if (lines.length > MAX_LINES) lines.shift()
      for (const wake of wakers) wake()
    },
    async *follow({ after, tail, follow }, signal) {
      let sent = Math.max(numberOf(after), last - tail)
      for (;;) {
        for (const { number, ...line } of lines.filter((one) => one.number > sent)) {
          if (signal.aborted) return
          sent = number
          yield line
        }
        if (!follow || signal.aborted) return
        if (sent === last) await nextLine(wakers, signal)
      }
    },
  }
}

async function nextLine(wakers: Set<() => void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = () => resolve()
  wakers.add(wake)
  signal.addEventListener('abort', wake, { once: true })
  await promise
  wakers.delete(wake)
  signal.removeEventListener('abort', wake)
}
