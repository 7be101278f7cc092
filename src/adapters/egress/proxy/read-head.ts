import type { Socket } from 'node:net'

const MAX_HEAD_BYTES = 64 * 1024
const HEAD_MS = 10_000
const END = Buffer.from('\r\n\r\n')

/** Reads up to the empty line after the headers. @returns the head and the bytes after it; null for a slow, long or cut one. */
export function readHead(client: Socket): Promise<{ head: string; rest: Buffer } | null> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    const finish = (result: { head: string; rest: Buffer } | null) => {
      clearTimeout(timer)
      client.off('data', take).off('end', stop).off('close', stop)
      client.pause()
      resolve(result)
    }
    const take = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const end = received.indexOf(END)
      if (end >= 0) {
        finish({ head: received.subarray(0, end).toString('latin1'), rest: received.subarray(end + END.length) })
      } else if (received.length > MAX_HEAD_BYTES) finish(null)
    }
    const stop = () => finish(null)
    const timer = setTimeout(stop, HEAD_MS)
    client.on('data', take).on('end', stop).on('close', stop)
  })
}
