/** Runs concurrent writers that print every acknowledged write, until it is killed. */
import { write } from '../../../src/db/write.ts'
import { notes, openNotes } from '../rows/notes.ts'

const WRITERS = 64
const [file = '', firstId = '0'] = process.argv.slice(2)
const { db } = openNotes(file)
let nextId = Number(firstId)

await Promise.all(Array.from({ length: WRITERS }, keepWriting))

async function keepWriting(): Promise<void> {
  while (true) {
    const id = nextId++
    await write(db, (tx) =>
      tx
        .insert(notes)
        .values({ id, text: `note ${id}` })
        .run(),
    )
    process.stdout.write(`${id}\n`)
  }
}
