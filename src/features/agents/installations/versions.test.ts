import { expect, test } from 'bun:test'
import { findSkew } from './versions.ts'

test.each([
  ['0.3.0', '0.3.9'],
  ['0.2.7', '0.3.0'],
  ['0.4.0', '0.3.0'],
  ['1.0.0-beta.1', '1.0.0'],
])('findSkew accepts version %s when the platform has version %s', (machine, platform) => {
  expect(findSkew(machine, platform)).toBeNull()
})

test.each([
  ['0.1.9', '0.3.0', 'run stead upgrade --from FILE on the machine'],
  ['0.9.0', '1.0.0', 'run stead upgrade --from FILE on the machine'],
  ['0.5.0', '0.3.0', 'run stead upgrade --from FILE on the server'],
  ['2.0.0', '1.9.0', 'run stead upgrade --from FILE on the server'],
  ['latest', '1.0.0', 'is not understood'],
])(
  'findSkew refuses version %s when the platform has version %s, and names the command',
  (machine, platform, command) => {
    expect(findSkew(machine, platform)).toContain(command)
  },
)
