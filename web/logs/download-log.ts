import { useMutation } from '@tanstack/react-query'
import { filterRows, type LogFilter } from './log-filter.ts'
import type { LogRow } from './log-lines.ts'
import { readPage } from './logs-api.ts'

/** Downloads every stored line that matches `filter`, oldest first. */
export function useDownloadLog(agentId: string, name: string, filter: LogFilter) {
  return useMutation({
    mutationFn: async () => {
      const rows = filterRows(await readAll(agentId), filter)
      const text = rows.map(({ at, text }) => `${new Date(at).toISOString()} ${text}\n`).join('')
      save(new Blob([text], { type: 'text/plain' }), `${name}-${new Date().toISOString().slice(0, 10)}.log`)
      return rows.length
    },
  })
}

async function readAll(agentId: string): Promise<LogRow[]> {
  const pages: LogRow[][] = []
  for (let before: number | null = null; ; ) {
    const page = await readPage(agentId, before)
    pages.push(page.rows)
    if (page.nextBefore === null) return pages.reverse().flat()
    before = page.nextBefore
  }
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, '-')
  link.click()
  URL.revokeObjectURL(link.href)
}
