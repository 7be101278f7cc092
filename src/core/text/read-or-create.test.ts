import { expect, test } from 'bun:test'
import { mkdirSync, statSync } from 'node:fs'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { readOrCreate } from './read-or-create.ts'

test('readOrCreate creates the text once, and reads it afterwards', () => {
  using folder = tempFolder()
  const file = folder.file('instance.id')
  expect(readOrCreate(file, 'DATA_DIR', () => 'first\n')).toBe('first')
  expect(readOrCreate(file, 'DATA_DIR', () => 'second')).toBe('first')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('readOrCreate throws the setting of the path when the file is unreadable', () => {
  using folder = tempFolder()
  const file = folder.file('instance.id')
  mkdirSync(file)
  expect(() => readOrCreate(file, 'DATA_DIR', () => 'text')).toThrow(`DATA_DIR: ${file} cannot be used (`)
})
