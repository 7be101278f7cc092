/** Changes the key of the installation that the environment names, and kills itself as soon as the step that it is given is done. */

import { readConfig } from '../../../src/core/config.ts'
import { rotateKey } from '../../../src/server/keys/rotate-key.ts'

const [, , last, given] = process.argv
await rotateKey(readConfig(process.env), given ?? null, (step) => {
  if (step === last) process.kill(process.pid, 'SIGKILL')
})
console.log(`'${last}' was not reached`)
