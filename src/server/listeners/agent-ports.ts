import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const Port = z.number().int().min(1).max(65_535)
const Ports = z.record(z.string(), Port).catch({})

/** Reads the remembered ports by address; none when the file is missing or damaged. */
export function readPorts(file: string): Record<string, number> {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return Ports.parse(content)
  } catch {
    return {}
  }
}

/** Remembers the port of an address. */
export function writePort(file: string, host: string, port: number): void {
  writeFileSync(file, JSON.stringify({ ...readPorts(file), [host]: port }), { mode: 0o600 })
}
