import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { layBeside } from './executable.ts'

test('stead upgrade --from: verifies the checksum of the copied program before it runs', () => {
  using folder = tempFolder()
  const [file, target, ran] = [folder.file('other'), folder.file('stead'), folder.file('ran')]
  const program = `#!/bin/sh\ntouch ${ran}\necho '{"stead":"9.9.9"}'\n`
  writeFileSync(file, program)
  const sha256 = new Bun.CryptoHasher('sha256').update(program).digest('hex')
  expect(() => layBeside(file, target, { sha256: 'a'.repeat(64) })).toThrow(`sums up to ${sha256}, not to aaa`)
  expect([existsSync(ran), existsSync(`${target}.new`)]).toEqual([false, false])
  expect(layBeside(file, target, { sha256 })).toEqual({ path: `${target}.new`, version: '9.9.9', sum: sha256 })
  expect(readFileSync(`${target}.new`, 'utf8')).toBe(program)
  expect(() => layBeside(folder.file('nothing'), target)).toThrow('there is no')
})

test('stead upgrade --from: rejects a program when its version command does not end', () => {
  using folder = tempFolder()
  const [file, target] = [folder.file('other'), folder.file('stead')]
  writeFileSync(file, '#!/bin/sh\nexec sleep 600\n')
  expect(() => layBeside(file, target, { versionTimeoutMs: 200 })).toThrow(
    'does not run on this machine, or is no Stead',
  )
  expect(existsSync(`${target}.new`)).toBe(false)
})
