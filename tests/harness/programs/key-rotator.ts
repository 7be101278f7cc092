/** Rotates the encryption key of the installation in the environment, and kills itself after the given step. */

import { readConfig } from '../../../src/core/config.ts'
import { rotateKey } from '../../../src/server/keys/rotate-key.ts'

const [, , last, given] = process.argv
await rotateKey(readConfig(process.env), given ?? null, (step) => {
  if (step === last) process.kill(process.pid, 'SIGKILL')
})
console.log(`'${last}' was not reached`)
