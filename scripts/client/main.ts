/** `bun run client [FOLDER]`: the typed client as a package, in `dist/client` unless another folder is named. */
import { join, resolve } from 'node:path'
import { writeClient } from './write-client.ts'

const [folder] = process.argv.slice(2)
await writeClient(folder ? resolve(folder) : join(import.meta.dir, '..', '..', 'dist', 'client'))
// Exit explicitly: opening the platform started timers.
process.exit(0)
