import type { Clock } from '../../core/clock.ts'
import type { Db } from '../../db/open.ts'
import { streamText } from '../../http/stream-text.ts'
import { SECTIONS, toAccount } from './export-sections.ts'
import { getSettings } from './settings.ts'

/**
 * Everything that is kept of an account, as one JSON document that is read while it is sent: hashes, sealed tokens and
 * other people's addresses are left out. Times are ISO 8601, costs in millionths of a dollar.
 * @throws AppError `not_found` before the first byte.
 */
export function exportAccount(deps: { db: Db; clock: Clock }, userId: string): ReadableStream<Uint8Array> {
  const account = toAccount(getSettings(deps, userId))
  const head = `{"exportedAt":${JSON.stringify(deps.clock.now())},"account":${JSON.stringify(account)}`
  return streamText(writeDocument(deps.db, userId, head))
}

/** One piece a page, so that what is in memory does not grow with the account. */
function* writeDocument(db: Db, userId: string, head: string): Generator<string, void> {
  yield head
  for (const { name, read } of SECTIONS) {
    let start = `,${JSON.stringify(name)}:[`
    for (let after: number | null = 0; after !== null; start = ',') {
      const { rows, next }: ReturnType<typeof read> = read(db, userId, after)
      yield start + rows.map((row) => JSON.stringify(row)).join(',')
      after = next
    }
    yield ']'
  }
  yield '}'
}
