/** A process that holds the instance lock of the folder it is given until it is killed. */
import { lockDataDir } from '../../../src/db/instance-lock.ts'

lockDataDir(process.argv[2] ?? '')
console.log('locked')
setInterval(() => undefined, 60_000)
