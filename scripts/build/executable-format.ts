import type { Target } from './targets.ts'

const ELF = 0x7f454c46
const ELF_MACHINES = new Map([
  [62, 'x64'],
  [183, 'arm64'],
])
/** Type of the program header that names the loader. */
const PT_INTERP = 3
const LOADERS = /\/ld-(?:linux|(musl))-[\w-]+\.so\.\d$/

const MACH_O = 0xfeedfacf
const MACH_MACHINES = new Map([
  [0x01000007, 'x64'],
  [0x0100000c, 'arm64'],
])
const LC_CODE_SIGNATURE = 0x1d

/** Returns the platform of an executable from the headers in its first bytes. */
export function readTarget(bytes: Uint8Array): Target {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const name = view.getUint32(0) === ELF ? readElf(view) : view.getUint32(0, true) === MACH_O ? readMachO(view) : null
  if (name === null) throw new Error('The file is neither of ELF nor of Mach-O')
  return name
}

function readElf(view: DataView): Target {
  const machine = ELF_MACHINES.get(view.getUint16(18, true))
  const first = Number(view.getBigUint64(32, true))
  const size = view.getUint16(54, true)
  for (let index = 0; index < view.getUint16(56, true); index++) {
    const header = first + index * size
    if (view.getUint32(header, true) !== PT_INTERP) continue
    const start = Number(view.getBigUint64(header + 8, true))
    const length = Number(view.getBigUint64(header + 32, true))
    // The name ends with a null byte.
    const loader = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + start, length - 1))
    const [isLoader, musl] = LOADERS.exec(loader) ?? []
    if (machine === undefined || isLoader === undefined) throw new Error(`The file is for another machine: ${loader}`)
    return toName(machine, musl === undefined ? 'linux' : 'musl')
  }
  throw new Error('The ELF file names no loader')
}

function readMachO(view: DataView): Target {
  const machine = MACH_MACHINES.get(view.getUint32(4, true))
  if (machine === undefined) throw new Error('The Mach-O file is for another machine')
  let command = 32
  for (let index = 0; index < view.getUint32(16, true); index++) {
    if (view.getUint32(command, true) === LC_CODE_SIGNATURE) return toName(machine, 'darwin')
    command += view.getUint32(command + 4, true)
  }
  throw new Error('The Mach-O file is not signed')
}

function toName(machine: string, system: 'linux' | 'musl' | 'darwin'): Target {
  const isX64 = machine === 'x64'
  if (system === 'darwin') return isX64 ? 'darwin-x64' : 'darwin-arm64'
  if (system === 'musl') return isX64 ? 'linux-x64-musl' : 'linux-arm64-musl'
  return isX64 ? 'linux-x64' : 'linux-arm64'
}
