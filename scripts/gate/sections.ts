/** What `bun test` wrote while it was at a file; `summary` is what it wrote after the last one, null when it got to none. */
export type Section = { path: string; text: string; seconds: number }

/** Names of tests are repeated above the counts when there are many. */
const AFTER_THE_LAST = /^\d+ tests? (?:failed|skipped|todo):$|^ *\d+ pass$/
const SUMMARY = /^ *\d+ pass\n(?:.*\n){0,9}?Ran \d+ tests? across \d+ files?\./m

/**
 * Cuts the output of `bun test` into those of its files as it comes. `onEnd` hears of each file but the last as soon as
 * the next one begins; `end` tells the last.
 */
export function openSections(paths: readonly string[], onEnd: (section: Section) => void) {
  const headers = new Map(paths.map((path) => [`${path}:`, path]))
  const decoder = new TextDecoder()
  let path: string | undefined
  let lines: string[] = []
  let startedAt = performance.now()
  let unfinished = ''

  const close = (): Section => {
    const seconds = (performance.now() - startedAt) / 1000
    return { path: path ?? paths[0] ?? '', text: lines.map((line) => `${line}\n`).join(''), seconds }
  }
  const takeLine = (line: string) => {
    const next = headers.get(line)
    if (next === undefined) {
      lines.push(line)
      return
    }
    headers.delete(line)
    if (path !== undefined) {
      onEnd(close())
      startedAt = performance.now()
      lines = []
    }
    path = next
  }
  return {
    take(bytes: Uint8Array): void {
      const parts = (unfinished + decoder.decode(bytes, { stream: true })).split('\n')
      unfinished = parts.pop() ?? ''
      for (const line of parts) takeLine(line)
    },
    end(): Section & { summary: string | null } {
      if (unfinished !== '') takeLine(unfinished)
      const summary = SUMMARY.exec(`${lines.join('\n')}\n`)?.[0] ?? null
      const end = summary === null ? -1 : lines.findIndex((line) => AFTER_THE_LAST.test(line))
      if (end !== -1) lines = lines.slice(0, end)
      return { ...close(), summary }
    },
  }
}
