import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { findTestFiles } from './test-files.ts'
import { CASES } from './torture-cases.ts'

const FILES = await findTestFiles(join(import.meta.dir, '../..'))
const named = Object.values(CASES).flatMap(({ files }) => files)

test('every long file, which the gate leaves out, is in a case of `bun run torture`', () => {
  const left = FILES.filter(({ isLong }) => isLong).map(({ path }) => path)
  expect(left.filter((path) => !named.some((words) => path.includes(words)))).toEqual([])
})

test.each(Object.entries(CASES))('all that the case %s names is there', (_name, { files }) => {
  expect(files.filter((words) => !FILES.some(({ path }) => path.includes(words)))).toEqual([])
})
