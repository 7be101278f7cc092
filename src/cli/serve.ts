import { isAbsolute, resolve } from 'node:path'
import type { Command } from 'commander'
import { type Config, listWarnings, readConfig } from '../core/config.ts'
import { errorMessage } from '../core/errors.ts'
import { createLogOutput } from '../core/log/output.ts'
import { createLog } from '../core/log.ts'
import { listShownSettings, type ShownSetting } from '../core/settings/show.ts'
import { VERSION } from '../core/version.ts'
import { createLogTail } from '../features/admin/logs/log-tail.ts'
import type { Server } from '../serve.ts'
import { addExample } from './example.ts'
import { exitWith } from './exit.ts'
import { findServices } from './given-services.ts'
import { listMisspelt } from './misspelt.ts'
import { createNotify, startWatchdog } from './service/notify.ts'
import { ignoreHangup, reloadOnHangup } from './service/reload.ts'
import { listOwnProblems } from './service/write-paths.ts'
import { addSettingFlags, readGivenSettings } from './settings/environment.ts'
import { firstSignal } from './signals.ts'

/** Adds `serve`: runs the server in the foreground until SIGTERM or SIGINT. */
export function serveCommand(program: Command): void {
  addSettingFlags(
    addExample(
      program.command('serve'),
      `stead serve
stead serve --data-dir /srv/stead --deployment-mode home --web-port 8080`,
      `Settings are flags, environment variables (WEB_PORT), or lines of <DATA_DIR>/stead.env, in this order: stead config
print shows all of them. Secrets have no flags, because everybody can read those.`,
    ),
  )
    .description('starts the service; the same as stead without a command')
    .option('--stop-agents', 'end the agents together with the service', false)
    .action((options: { stopAgents: boolean }) => runService(options))
}

async function runService({ stopAgents, ...flags }: { stopAgents: boolean }): Promise<void> {
  const { values: environment, sources } = readGivenSettings(flags)
  const config = readConfig(environment)
  const output = createLogOutput(config.logFile, config.logFormat)
  const logTail = createLogTail()
  const write = (line: string) => {
    output.write(line)
    logTail.add(line)
  }
  const log = createLog(config.logLevel, { write })
  const warnings = [
    ...listMisspelt(process.env),
    ...listWarnings(config, findServices(config).mail !== null),
    ...listOwnProblems(config, process.env.INVOCATION_ID !== undefined),
  ]
  for (const warning of warnings) log.warn(warning)
  // A signal during the start takes effect when the start is complete.
  const signalled = firstSignal()
  ignoreHangup()
  const { serve } = await import('../serve.ts')
  const { createRunStead } = await import('../server/backups/run-stead.ts')
  const shownSettings = listShownSettings(environment, sources)
  const server = await serve({
    config,
    log,
    agentCommand: toAgentCommand(config.agents.processCommand),
    path: process.env.PATH ?? '',
    lang: process.env.LANG ?? 'C.UTF-8',
    runStead: createRunStead(environment),
    shownSettings,
    logTail,
  })
  process.stdout.write(toBanner(server, config))
  const notify = createNotify(process.env.NOTIFY_SOCKET, (reason) => log.warn(reason))
  notify(`READY=1\nSTATUS=${server.urls.web}`)
  const stopWatchdog = startWatchdog(notify, process.env)
  // An unhandled rejection does not end the server; an uncaught exception is logged with its stack.
  process.off('unhandledRejection', exitWith).off('uncaughtException', exitWith)
  process.on('uncaughtException', (error) => {
    log.fatal({ error: errorMessage(error), stack: error.stack }, 'uncaught exception')
    process.exit(1)
  })
  process.on('unhandledRejection', (error) => log.error({ error: errorMessage(error) }, 'unhandled rejection'))

  const apply = (next: Config, shown: readonly ShownSetting[]) => {
    server.reload(next)
    const replace = (one: ShownSetting) => shown.find(({ name }) => name === one.name) ?? one
    shownSettings.splice(0, shownSettings.length, ...shownSettings.map(replace))
  }
  reloadOnHangup({ log, output, notify, environment, apply, read: () => readGivenSettings(flags) })

  const signal = await signalled
  log.info({ signal }, 'stopping')
  const running = stopAgents || signal !== 'SIGINT' ? 0 : server.countRunning()
  if (running > 0) process.stdout.write(describeRunning(running))
  notify('STOPPING=1')
  stopWatchdog()
  await server.stop({ stopAgents })
  process.exit(0)
}

/** Splits a command at blanks; double quotes keep a word with blanks together. */
function splitWords(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** Returns the command that starts an agent: `AGENT_PROCESS_COMMAND`, or this program. */
function toAgentCommand(command: string | undefined): [string, ...string[]] {
  if (command) {
    const [program = '', ...args] = splitWords(command)
    return [isAbsolute(program) ? program : (Bun.which(program) ?? resolve(program)), ...args]
  }
  if (Bun.isStandaloneExecutable) return [process.execPath, 'agent']
  return [process.execPath, resolve(import.meta.dir, '..', 'main.ts'), 'agent']
}

/** `2026-11-22 14:05 UTC` */
function toMinute(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Explains that agents outlive the server, and how to stop them. */
function describeRunning(count: number): string {
  const who = count === 1 ? '1 agent goes on running' : `${count} agents go on running`
  return `\n${who}. To end agents: \`stead agents stop --all\` while the server runs, or Ctrl-C of \`stead serve --stop-agents\`.\n`
}

function toBanner(server: Server, config: ReturnType<typeof readConfig>): string {
  const { urls, isFirstRun, models, setup } = server
  const lines = [
    `Stead ${VERSION}`,
    `  Dashboard   ${urls.web}`,
    `  Backend     ${urls.backend}`,
    `  Summarizer  ${urls.summarizer}`,
    `  Data        ${config.dataDir}${isFirstRun ? ' (new)' : ''}`,
    `  Mode        ${config.mode}`,
    `  Runtime     ${server.isStandby ? 'none: this is a copy, and its agents are left alone (stead adopt)' : server.runtimeName}`,
    `  AI          ${models.length > 0 ? models.join(', ') : 'no provider: set OPENROUTER_API_KEY, or AI_ECHO=true to try without'}`,
  ]
  if (setup) {
    lines.push(
      '',
      `  Set up      ${setup.url}`,
      `              Makes the first account, which owns this installation. Works once, until ${toMinute(setup.expiresAt)}.`,
    )
  }
  return `${lines.join('\n')}\n`
}
