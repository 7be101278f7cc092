/** Holds the instance lock of the folder in the first argument until it is killed. */
import { lockDataDir } from '../../../src/db/instance-lock.ts'

lockDataDir(process.argv[2] ?? '')
console.log('locked')
setInterval(() => undefined, 60_000)
