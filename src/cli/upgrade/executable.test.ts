import { expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { layBeside } from './executable.ts'

test('upgrade --from: a program that never tells its version is no Stead, and holds nobody up', () => {
  using folder = tempFolder()
  const [file, target] = [folder.file('other'), folder.file('stead')]
  writeFileSync(file, '#!/bin/sh\nexec sleep 600\n')
  expect(() => layBeside(file, target, 200)).toThrow('does not run on this machine, or is no Stead')
  expect(existsSync(`${target}.new`)).toBe(false)
})
