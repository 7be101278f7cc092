import { connect, type Socket } from 'node:net'
import type { Container } from './steps.ts'

const CONNECT_MS = 5000

/**
 * Connects to a port of a container in `network`; null when it does not run or answer. The address is never remembered:
 * after a restart it may be that of another agent.
 */
export function connectToContainer(container: Container | null, network: string, port: number): Promise<Socket | null> {
  const host = container?.State.Running ? container.NetworkSettings.Networks[network]?.IPAddress : undefined
  if (!host) return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true })
    const fail = () => {
      socket.destroy()
      resolve(null)
    }
    socket.setTimeout(CONNECT_MS, fail)
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.off('error', fail)
      resolve(socket)
    })
  })
}
