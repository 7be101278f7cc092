/** Build targets by the names that Bun, release files and the installer use. */
export const TARGETS = {
  'linux-x64': { bun: 'bun-linux-x64', sqlite: 'linux-x64' },
  'linux-arm64': { bun: 'bun-linux-arm64', sqlite: 'linux-arm64' },
  'linux-x64-musl': { bun: 'bun-linux-x64-musl', sqlite: 'linuxmusl-x64' },
  'linux-arm64-musl': { bun: 'bun-linux-arm64-musl', sqlite: 'linuxmusl-arm64' },
  'darwin-arm64': { bun: 'bun-darwin-arm64', sqlite: 'darwin-arm64' },
  'darwin-x64': { bun: 'bun-darwin-x64', sqlite: 'darwin-x64' },
} as const satisfies Record<string, { bun: Bun.Build.CompileTarget; sqlite: string }>

export type Target = keyof typeof TARGETS

/** Targets of a release; others are built when they are named. */
export const RELEASED: readonly Target[] = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'darwin-arm64']

/** Parses `linux-x64`, or `bun-linux-x64` as Bun names it. @throws Error for an unknown target. */
export function toTarget(name: string): Target {
  const short = name.replace(/^bun-/, '')
  const found = targetNames().find((target) => target === short)
  if (found === undefined) throw new Error(`--target ${name}: there are ${targetNames().join(', ')} and all`)
  return found
}

/** Returns the target of this machine. @throws Error when there is none. */
export function ownTarget(): Target {
  const isMusl =
    process.platform === 'linux' && !JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime')
  return toTarget(`${process.platform}-${process.arch}${isMusl ? '-musl' : ''}`)
}

function targetNames(): Target[] {
  return Object.keys(TARGETS).filter((name): name is Target => Object.hasOwn(TARGETS, name))
}
