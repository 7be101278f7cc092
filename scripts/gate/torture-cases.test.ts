import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { LONG_FILES } from './long-files.ts'
import { findTestFiles } from './test-files.ts'
import { CASES } from './torture-cases.ts'

const FILES = await findTestFiles(join(import.meta.dir, '../..'))

test('every long file is there, and what stands nearest to it is in the gate', () => {
  const isThere = (isLong: boolean, paths: readonly string[]) =>
    paths.filter((path) => !FILES.some((file) => file.path === path && file.isLong === isLong))
  expect(isThere(true, Object.keys(LONG_FILES))).toEqual([])
  expect(isThere(false, Object.values(LONG_FILES).flat())).toEqual([])
})

test.each(Object.entries(CASES))('all that the case %s names is there', (_name, { files }) => {
  expect(files.filter((words) => !FILES.some(({ path }) => path.includes(words)))).toEqual([])
})
