import { expect, test } from 'bun:test'
import { chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { giveToOwnerOf, giveTreeToOwnerOf } from './ownership.ts'

const OTHER = 65_534

test.skipIf(process.getuid?.() !== 0)(
  'giveToOwnerOf and giveTreeToOwnerOf change one path, or a tree but no target of a link, when root runs for another owner',
  () => {
    using folder = tempFolder()
    const ownerOf = (name: string) => statSync(folder.file(name)).uid
    for (const name of ['data', 'tree', 'tree/below']) mkdirSync(folder.file(name))
    for (const name of ['one', 'outside', 'tree/below/file']) writeFileSync(folder.file(name), '')
    symlinkSync(folder.file('outside'), folder.file('tree/link'))

    giveToOwnerOf(folder.file('data'), folder.file('one'))
    expect(ownerOf('one')).toBe(0)

    chownSync(folder.file('data'), OTHER, OTHER)
    giveToOwnerOf(folder.file('data'), folder.file('one'), folder.file('tree'))
    expect(['one', 'tree', 'tree/below'].map(ownerOf)).toEqual([OTHER, OTHER, 0])
    giveTreeToOwnerOf(folder.file('data'), folder.file('tree'))
    expect(['tree/below', 'tree/below/file', 'outside'].map(ownerOf)).toEqual([OTHER, OTHER, 0])
  },
)
