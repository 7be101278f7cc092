import type { Clock } from '../../core/clock.ts'
import type { ConnectionState } from './channel.ts'

/** How a connection is, as its loop notes it. */
export type StateKeeper = {
  read(): ConnectionState
  /** Since now, when it was not before. */
  setConnected(account: string): void
  setFailed(message: string): void
  /** On purpose: nothing is wrong. */
  setDisconnected(): void
}

export function createStateKeeper(clock: Clock): StateKeeper {
  let state: ConnectionState = { connected: false, since: null, account: null, lastError: null }
  return {
    read: () => state,
    setConnected(account) {
      if (!state.connected) state = { ...state, connected: true, since: clock.now().toISOString(), account }
    },
    setFailed(message) {
      const lastError = { message, at: clock.now().toISOString() }
      state = { ...state, connected: false, since: null, lastError }
    },
    setDisconnected() {
      state = { ...state, connected: false, since: null }
    },
  }
}
