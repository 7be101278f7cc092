import { expect, test } from 'bun:test'
import Docker from 'dockerode'
import { copySecrets } from './container.ts'

/** Simulates an engine whose container `full` has secrets of the maximum size and `few` a thousand bytes. */
function startEngine() {
  const put: number[] = []
  let sentBytes = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.method === 'PUT') {
        put.push((await request.arrayBuffer()).byteLength)
        return new Response()
      }
      if (request.url.includes('/few/')) return new Response(new Uint8Array(1000))
      return new Response(
        new ReadableStream({
          pull(controller) {
            sentBytes += 100_000
            if (sentBytes > 500_000_000) controller.close()
            else controller.enqueue(new Uint8Array(100_000))
          },
        }),
      )
    },
  })
  const docker = new Docker({ protocol: 'http', host: '127.0.0.1', port: server.port })
  const engine = { change: <T>(work: (docker: Docker, signal: AbortSignal) => Promise<T>) => work(docker, never) }
  return { engine, put, readSent: () => sentBytes, [Symbol.asyncDispose]: () => server.stop(true) }
}

const never = new AbortController().signal

test('copySecrets throws when the secrets folder of an agent is full', async () => {
  await using double = startEngine()
  await copySecrets(double.engine, 'few', 'twin')
  expect(double.put).toEqual([1000])
  await expect(copySecrets(double.engine, 'full', 'twin')).rejects.toThrow('more than 1048576 bytes')
  expect(double.put).toEqual([1000])
  expect(double.readSent()).toBeLessThan(100_000_000)
}, 600_000)
