import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { errorMessage } from '../../../core/errors.ts'
import { UsageError } from '../../exit.ts'

const REFERENCE = /\$\{(env|file):([^{}]+)\}/g

/** Resolves the references in a text; `field` is for the message. @throws UsageError for a missing variable or file. */
export type LookUp = (text: string, field: string) => string

/** Paths are relative to the fleet file. */
export function createLookUp(fleetFile: string, environment: Record<string, string | undefined>): LookUp {
  const folder = fleetFile === '-' ? process.cwd() : dirname(resolve(fleetFile))
  return (text, field) =>
    text.replace(REFERENCE, (_, kind: string, name: string) => {
      const value = kind === 'env' ? environment[name] : readLine(resolve(folder, name), field)
      if (value) return value
      throw new UsageError(`${field}: ${name} is ${kind === 'env' ? 'not set' : 'empty'}`)
    })
}

export function listReferences(text: string): string[] {
  return text.match(REFERENCE) ?? []
}

export function hasReference(text: string): boolean {
  return text.search(REFERENCE) !== -1
}

function readLine(path: string, field: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`${field}: ${path} cannot be read (${errorMessage(error)})`, { cause: error })
  }
}
