import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { deleteDependents } from '../../../src/db/in-batches.ts'
import { write } from '../../../src/db/write.ts'
import { users } from '../../../src/features/accounts/users/tables.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { testPlatform } from '../../harness/platform.ts'
import { countRows } from '../../harness/rows/dump.ts'
import { addTalkTraces } from '../../harness/rows/talk-traces.ts'

test('every foreign key has an index, so that deletions do not scan tables', () => {
  const { platform } = testPlatform()
  const references = platform.db
    .select({ table: sql<string>`m.name`, column: sql<string>`f."from"` })
    .from(sql`sqlite_master AS m, pragma_foreign_key_list(m.name) AS f`)
    .where(sql`m.type = 'table'`)
    .all()
  const led = platform.db
    .select({ table: sql<string>`m.name`, column: sql<string>`c.name` })
    .from(sql`sqlite_master AS m, pragma_index_list(m.name) AS i, pragma_index_info(i.name) AS c`)
    .where(sql`m.type = 'table' AND c.seqno = 0`)
    .all()
    .map(({ table, column }) => `${table}.${column}`)
  expect(references.length).toBeGreaterThan(30)
  expect(references.map(({ table, column }) => `${table}.${column}`).filter((name) => !led.includes(name))).toEqual([])
})

test('references to a row are deleted before the row, and no others', async () => {
  const { platform, clock, signIn } = testPlatform()
  const [ada, eve] = [await signIn('ada@example.com', 'network'), await signIn('eve@example.com', 'network')]
  const add = ({ id: ownerId }: { id: string }) =>
    write(platform.db, (tx) => {
      const kind = { name: 'A', model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
      const { id } = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId })
      addTalkTraces(tx, { userId: ownerId, agentId: id, canary: ownerId, sealed: 'sealed', now: clock.now() })
      return id
    })
  const agentId = await add(ada.user)
  const before = countRows(platform.db)
  await add(eve.user)

  await deleteDependents(platform.db, agents, agentId)
  await write(platform.db, (tx) => tx.run(sql`DELETE FROM agents WHERE id = ${agentId}`))
  await deleteDependents(platform.db, users, ada.user.id)
  await write(platform.db, (tx) => tx.run(sql`DELETE FROM users WHERE id = ${ada.user.id}`))
  // Eve had as many rows as Ada in each table, and each had one session and one account.
  const after: Record<string, number> = { ...countRows(platform.db), users: 2, sessions: 2 }
  expect(after).toEqual(before)
})
