import { errorMessage, StartupError } from './errors.ts'

/** Returns the error for a failed listen, naming the setting to change: `HOST` or the port's. */
export function toListenError(error: unknown, host: string, port: number, portSetting: string): StartupError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new StartupError(`${portSetting}: ${host}:${port} is taken by another program`, { cause: error })
  }
  if (code === 'EADDRNOTAVAIL') {
    return new StartupError(`HOST: this machine has no address ${host}`, { cause: error })
  }
  return new StartupError(`${portSetting}: cannot listen on ${host}:${port} (${errorMessage(error)})`, { cause: error })
}
