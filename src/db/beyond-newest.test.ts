import { expect, test } from 'bun:test'
import { gt } from 'drizzle-orm'
import { notes, openNotes } from '../../tests/harness/rows/notes.ts'
import { beyondNewest } from './beyond-newest.ts'
import { countRows } from './count-rows.ts'
import { write } from './write.ts'

test('beyondNewest selects all matching rows but the newest, and none when there are too few', async () => {
  const { db } = openNotes()
  await write(db, (tx) =>
    tx
      .insert(notes)
      .values([1, 2, 3, 4, 5].map((id) => ({ id, text: 'note' })))
      .run(),
  )
  const condition = gt(notes.id, 1)
  expect(beyondNewest(db, { condition, newest: notes.id, count: 4 })).toBeNull()
  const isOld = beyondNewest(db, { condition, newest: notes.id, count: 3 })
  if (!isOld) throw new Error('nothing is old')
  await write(db, (tx) => tx.delete(notes).where(isOld).run())
  expect(db.select().from(notes).all()).toMatchObject([{ id: 1 }, { id: 3 }, { id: 4 }, { id: 5 }])
  expect(countRows(db, notes, condition)).toBe(3)
})
