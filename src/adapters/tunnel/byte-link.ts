import type { Duplex } from 'node:stream'
import type { FilesLink } from '../runtimes/contract/runtime.ts'
import { machineOffline } from './links.ts'

/** Wraps a stream for `openChannel`. */
export function toByteLink(stream: Duplex): FilesLink {
  return {
    input: stream,
    write(text) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      stream.write(text, (error) => (error ? reject(machineOffline(error)) : resolve()))
      return promise
    },
    async close() {
      stream.destroy()
    },
  }
}
