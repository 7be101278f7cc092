import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import { readConfig } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { addExample } from '../example.ts'
import { readEnvironment } from '../settings/environment.ts'

type Options = { tag?: string; shell: boolean; python: boolean; json: boolean }

/** Adds `agent-image`: builds the container image of agents from this executable. */
export function agentImageCommand(program: Command): void {
  addExample(
    program.command('agent-image'),
    'stead agent-image',
    `The image holds this executable, the libraries of this machine that it needs, and an unprivileged user. No registry is
asked. The engine is that of DOCKER_HOST; the name is AGENT_IMAGE unless --tag gives another.`,
  )
    .description('makes the image of agents in the container engine, from this executable')
    .option('--tag <name>', 'what the image is called')
    .option('--shell', "adds this machine's static busybox, for agents that may run commands", false)
    .option('--python', "adds this machine's Python (/usr/bin/python3) for the same", false)
    .option('--json', 'print the result as JSON', false)
    .action(makeImage)
}

async function makeImage({ tag, json, ...packs }: Options): Promise<void> {
  if (!Bun.isStandaloneExecutable)
    throw new AppError('invalid', 'agent-image: this is a checkout: bun run agent:image makes the image from it')
  const { agents } = readConfig(readEnvironment())
  const { createEngine } = await import('../../adapters/runtimes/engine/engine.ts')
  const { collectImageFiles, digestPacks } = await import('../../adapters/runtimes/engine/build-image.ts')
  const { makeAgentImage } = await import('../../adapters/runtimes/engine/build-image.ts')
  const image = tag ?? agents.image
  const sizeBytes = await makeAgentImage(createEngine(agents.dockerHost), image, {
    packs,
    digest: await digestOf(process.execPath, await digestPacks(packs)),
    collect: () => collectImageFiles(process.execPath, packs),
  })
  const line =
    sizeBytes === null ? `${image} is up to date.` : `${image} is made: ${(sizeBytes / 1_000_000).toFixed(1)} MB.`
  // Close explicitly: open engine connections would keep the process alive.
  process.stdout.write(`${json ? JSON.stringify({ image, sizeBytes, isNew: sizeBytes !== null }) : line}\n`, () =>
    process.exit(0),
  )
}

async function digestOf(file: string, packs: string): Promise<string> {
  const hash = createHash('sha256').update(packs)
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}
