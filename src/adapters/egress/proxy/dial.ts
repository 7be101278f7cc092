import { connect, type Socket } from 'node:net'
import type { ResolvedAddress } from '../connect.ts'

const DIAL_MS = 10_000

type Route = { address: ResolvedAddress; port: number }

/** Connects to the first address that answers, without DNS. @throws the error of the last one. */
export async function dialFirst(routes: readonly Route[]): Promise<Socket> {
  let failure: unknown = new Error('There is no address')
  for (const route of routes) {
    try {
      return await dial(route)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

function dial({ address, port }: Route): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address.address, port, family: address.family, allowHalfOpen: true })
    socket.setTimeout(DIAL_MS, () => socket.destroy(new Error('No connection in time')))
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.off('error', reject)
      // A connection that is reset later ends by itself.
      socket.on('error', () => socket.destroy())
      resolve(socket)
    })
  })
}
